"""A look at a repository: by git itself, in a small one, and read from whatever it answers."""

import shlex

import pytest

from hfr_bench.model.terms import SideEffect
from hfr_bench.shell.client import Executed
from hfr_bench.suites.swe_bench.contracts import answer
from hfr_bench.suites.swe_bench.levels import level_of
from hfr_bench.suites.swe_bench.looking import Project, look, read_look, run_tests


@pytest.fixture
def seen(copy_of, slug):
    """Looks at the copy as it is now: the command's answer, as the suite gives it."""
    repo, run = copy_of
    base = slug[1].problem.base_commit

    def answered(*start):
        code, said = run(look(Project((*start, base))))
        return answer(Executed(code, False, said, "", 0, False, 0, 0, 1, False), str(repo))

    return answered


def project(**given):
    return Project((":/^SWE-bench", "0" * 40), **given)


def test_it_only_reads():
    assert level_of(look(project())).level is SideEffect.READ
    assert level_of(look(Project(("0" * 40,)))).level is SideEffect.READ
    for test in ("pytest -rA", "PYTHONWARNINGS='ignore::Warning' bin/test -C --verbose"):
        made = run_tests(project(test=test, parser="p"), ["tests/test a.py"])
        assert level_of(made).level is SideEffect.READ
        assert shlex.split(made.splitlines()[0])[-1] == "tests/test a.py"


def test_nothing_is_changed(seen):
    sight = read_look(seen())
    assert (sight.changed, sight.refused, sight.files) == ((), "", {})
    assert sight.tree == ("conftest.py", "slug.py", "tests/test_slug.py")


def test_what_is_changed_new_and_gone(copy_of, seen):
    repo, run = copy_of
    (repo / "slug.py").write_text("def slug(text):\n    return text")  # no newline at its end
    (repo / "more.py").write_text("from slug import (\n    slug,\n)\n")
    (repo / "notes.txt").write_text("x\n")
    (repo / "conftest.py").unlink()
    before = run("git status --porcelain=v2 --branch")
    sight = read_look(seen())
    assert sight.changed == ("conftest.py", "slug.py", "more.py", "notes.txt")
    assert sight.refused == ""
    assert {name: text.strip() for name, text in sight.files.items()} == {
        "slug.py": "def slug(text):\n    return text",
        "more.py": "from slug import (\n    slug,\n)",
    }
    assert sight.mentions == {
        "more.py": "import slug",
        "tests/test_slug.py": "from slug import slug",
    }
    assert sight.read()("tests/test_slug.py") == "from slug import slug"
    assert sight.read()("gone.py") is None
    assert run("git status --porcelain=v2 --branch") == before


def test_what_was_committed_is_changed_too(copy_of, seen):
    _, run = copy_of
    run("sed -i 's/a-z/A-Z/' slug.py && git commit -qam done")
    assert read_look(seen()).changed == ("slug.py",)


def test_what_setting_up_has_changed_is_nobodys_work(copy_of, seen):
    _, run = copy_of
    run("echo >> conftest.py && git commit -qam SWE-bench && sed -i 's/a-z/A-Z/' slug.py")
    assert read_look(seen(":/^SWE-bench")).changed == ("slug.py",)
    assert read_look(seen()).changed == ("conftest.py", "slug.py")


def test_a_repository_that_is_none(copy_of, seen):
    _, run = copy_of
    run("mv .git .tig")
    assert read_look(seen()) == "git cannot tell"


def test_half_an_answer_tells_nothing(seen):
    whole = seen()
    assert read_look(whole[:-3]) == read_look("") == "the look at the repository was cut short"
    assert read_look(whole.replace("== hfr-check end", "")) == read_look("")
    cut = whole.replace("conftest.py", "[... 9 bytes left out ...]")
    assert read_look(cut) == "too much has changed to be looked at"


def test_git_s_own_words_against_a_patch():
    said = (
        "<returncode>0</returncode>\n<output>\n\n== hfr-check changed\na.py\n"
        "\n== hfr-check applies\nerror: corrupt patch at line 3\n\n== hfr-check end\n</output>"
    )
    assert read_look(said).refused == "error: corrupt patch at line 3"
    warned = said.replace("error: corrupt patch", "warning: 1 line adds whitespace errors.\nyes #")
    assert read_look(warned.replace(" # at line 3", "")).refused == ""
