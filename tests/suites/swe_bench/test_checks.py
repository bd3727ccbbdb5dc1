"""What a strategy may check: the patch, the files it leaves, and the tests that can be seen."""

import pytest

from hfr_bench.model.terms import CheckLevel
from hfr_bench.suites.swe_bench.checks import (
    check_applies,
    check_parses,
    check_patch,
    check_tests,
    visible_tests,
)

TREE = {
    "src/pkg/__init__.py": "",
    "src/pkg/blueprints.py": "",
    "src/pkg/_private.py": "",
    "src/pkg/sub/__init__.py": "",
    "tests/test_blueprints.py": "import pkg\n",
    "tests/test_basic.py": "from pkg.blueprints import Blueprint\n",
    "tests/test_other.py": "import os\n",
    "tests/test_says.py": "# blueprints are not imported here\n",
    "tests/test_broken.py": "import pkg.blueprints\ndef f(:\n",
    "tests/blueprints/test_more.py": "",
    "tests/helpers.py": "import pkg.blueprints\n",
    "tests/data/blueprints.json": "{}",
    "src/pkg/sub/tests/test_sub.py": "",
    "tests/test_private.py": "",
    "docs/blueprints.rst": "",
}


def chosen(*changed, **rest):
    return [found.path for found in visible_tests(changed, TREE, TREE.get, **rest)]


def test_by_name_then_by_import():
    assert chosen("src/pkg/blueprints.py") == [
        "tests/test_blueprints.py",
        "tests/blueprints/test_more.py",
        "tests/test_basic.py",
    ]
    assert visible_tests(["src/pkg/blueprints.py"], TREE, TREE.get)[2].knows == (
        "src/pkg/blueprints.py",
    )


def test_a_changed_test_comes_first():
    found = chosen("src/pkg/blueprints.py", "tests/test_other.py")
    assert found[:2] == ["tests/test_other.py", "tests/test_blueprints.py"]


def test_packages_and_private_modules():
    assert chosen("src/pkg/_private.py") == ["tests/test_private.py"]
    assert chosen("src/pkg/sub/__init__.py") == ["src/pkg/sub/tests/test_sub.py"]
    assert set(chosen("src/pkg/__init__.py")) >= {"tests/test_blueprints.py"}


def test_the_nearest_folder_comes_first():
    tree = {"a/x.py": "", "tests/test_x.py": "", "a/tests/test_x.py": "", "b/tests/test_x.py": ""}
    found = visible_tests(["a/x.py"], tree, tree.get)
    assert [f.path for f in found] == ["a/tests/test_x.py", "tests/test_x.py", "b/tests/test_x.py"]


def test_what_is_no_module_has_no_tests():
    assert chosen("docs/blueprints.rst") == chosen() == []
    assert chosen("setup.cfg") == []


def test_no_more_than_asked_for_and_always_the_same():
    assert chosen("src/pkg/blueprints.py", most=1) == ["tests/test_blueprints.py"]
    backwards = dict(reversed(TREE.items()))
    found = visible_tests(["src/pkg/blueprints.py"], backwards, backwards.get)
    assert [f.path for f in found] == chosen("src/pkg/blueprints.py")


@pytest.mark.parametrize(
    ("patch", "passed", "said"),
    [
        ("", False, "empty"),
        ("I fixed it.", False, "is it a diff"),
        ("diff --git a/conftest.py b/conftest.py\n", False, "touches only what runs the tests"),
        ("diff --git a/pkg/a.py b/pkg/a.py\n", True, ""),
    ],
)
def test_the_patch(patch, passed, said):
    found = check_patch(patch)
    assert (found.level, found.passed) == (CheckLevel.TRANSPORT, passed)
    assert said in "; ".join(found.reasons)


def test_it_applies(copy_of, slug, tmp_path):
    _, run = copy_of
    path = tmp_path / "p.diff"
    path.write_text(slug[1].gold.patch)
    assert check_applies(run, str(path)).passed
    path.write_text(slug[1].gold.patch.replace("slug(", "slag("))
    found = check_applies(run, str(path))
    assert not found.passed
    assert "does not apply" in found.reasons[0]


def test_files_parse():
    files = {"a.py": "x = 1\n", "b.py": "def f(:\n", "c.py": "\0", "d.txt": "def f(:"}
    assert check_parses(["a.py", "d.txt", "gone.py"], files.get).passed
    found = check_parses(sorted(files), files.get)
    assert (found.level, found.passed) == (CheckLevel.DETERMINISTIC, False)
    assert [reason.split(":")[0] for reason in found.reasons] == ["b.py", "c.py"]
    assert found.reasons[0].startswith("b.py:1: ")


def test_what_the_visible_tests_said():
    assert check_tests({"a": "PASSED", "b": "SKIPPED", "c": "XFAIL"}).passed
    found = check_tests({"a": "PASSED", **{f"f{n}": "FAILED" for n in range(5)}})
    assert (found.level, found.passed) == (CheckLevel.SEMANTIC, False)
    assert found.reasons == ("failed: f0, f1, f2 and 2 more",)
    assert found.quality == pytest.approx(1 / 6)
    none = check_tests({})
    assert (none.passed, none.undecided) == (True, True)
