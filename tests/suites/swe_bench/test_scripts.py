"""The scripts are what upstream's grader expects, and the repository they make shows no future."""

import subprocess

import pytest

from hfr_bench.suites.swe_bench.grade import END, START
from hfr_bench.suites.swe_bench.rows import Gold, Problem
from hfr_bench.suites.swe_bench.scripts import (
    CONDA,
    Layout,
    environment_script,
    eval_script,
    files_to_test,
    included,
    repository_script,
    requirement_lines,
)

TEST_PATCH = (
    "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n"
    "@@ -1 +1 @@\n-a\n+b\n"
    "diff --git a/tests/new.py b/tests/new.py\nnew file mode 100644\n--- /dev/null\n"
    "+++ b/tests/new.py\n@@ -0,0 +1 @@\n+b\n"
    "diff --git a/tests/data.json b/tests/data.json\n--- a/tests/data.json\n+++ b/tests/data.json\n"
    "@@ -1 +1 @@\n-a\n+b\n"
)
GOLD = Gold("", TEST_PATCH, ("a",), ())


def problem(base="b" * 40):
    return Problem("hfr__slug-1", "hfr/slug", "1.0", base, "?")


def test_the_eval_script_has_upstreams_shape():
    lines = eval_script(problem(), GOLD, install="make", test="pytest -rA").splitlines()
    assert lines[:2] == ["#!/bin/bash", "set -uxo pipefail"]
    start, end = lines.index(f": '{START}'"), lines.index(f": '{END}'")
    assert lines[start + 1 : end] == [
        "pytest -rA tests/test_a.py tests/new.py",
        "HFR_TEST_EXIT_CODE=$?",
    ]
    assert lines[end + 1] == 'echo ">>>>> Test Exit Code: $HFR_TEST_EXIT_CODE"'
    back = f"git checkout {'b' * 40} tests/test_a.py tests/data.json; rm -f tests/new.py"
    assert [n for n, line in enumerate(lines) if line == back] == [
        lines.index("make") + 1,
        len(lines) - 1,
    ]
    assert lines.count(CONDA.activate[1]) == 2


def test_django_is_given_modules():
    patch = "diff --git a/tests/a/b.py b/tests/a/b.py\ndiff --git a/tests/c.txt b/tests/c.txt\n"
    assert files_to_test("django/django", patch) == ("a.b",)
    assert files_to_test("a/b", patch) == ("tests/a/b.py",)


def test_a_gone_requirement_is_replaced():
    text = "# no\n-r base.txt\n-e .\n.[test]\na==1 # why\n\ntypes-pkg_resources==0.1.3\n"
    assert requirement_lines(text) == (("a==1", "types-setuptools"), ("base.txt",))
    assert included("requirements/dev.txt", "../tests.txt") == "tests.txt"
    assert included("dev.txt", "base.txt") == "base.txt"


def test_the_environment_script_is_valid_and_quoted(tmp_path):
    script = environment_script("/opt/my python/bin/python3", "a==1; x < '3'\n", ["b==2", "c<3"])
    assert "'/opt/my python/bin/python3' -m venv /opt/testbed" in script
    assert "python -m pip install --quiet b==2 'c<3'" in script
    path = tmp_path / "e.sh"
    path.write_text(script)
    subprocess.run(["/bin/bash", "-n", str(path)], check=True)
    assert "requirements" not in environment_script("python3", "", [])


@pytest.fixture
def mirror(slug, tmp_path, copy_of):
    """A mirror that goes on after the base commit, by branch and tag, and forgot its branch."""
    repo, run = copy_of
    base = slug[1].problem.base_commit
    for command in (
        "git tag old",
        "echo later > later.txt && git add -A && git commit -qm later && git tag new",
        "git branch other",
        f"git checkout -q --detach {base} && echo side > side && git add -A && git commit -qm side",
        "git update-ref refs/pull/1/head HEAD && git checkout -q main",
    ):
        assert run(command)[0] == 0
    return repo, run


@pytest.mark.parametrize("which", ["base", "side"])
def test_a_repository_without_a_future(mirror, slug, tmp_path, which):
    source, run = mirror
    commit = slug[1].problem.base_commit
    if which == "side":
        commit = run("git rev-parse refs/pull/1/head")[1].strip()
    where = tmp_path / "made repo"
    script = tmp_path / "r.sh"
    script.write_text(
        repository_script(
            problem(commit), source.as_uri(), "echo x >> slug.py", Layout(str(where), ())
        )
    )
    code, said = run(f"bash {script}")
    assert code == 0, said

    def told(command):
        return run(f"git -C '{where}' {command}")[1].strip()

    assert told("rev-parse HEAD~1") == commit
    assert told("tag") == "old"
    assert told("branch --format='%(refname:short)'") == "main"
    assert told("rev-list --all --count --not HEAD") == "0"
    assert told("remote") == told("status --porcelain") == ""
    assert "later" not in told("log --all --format=%s")


def test_an_unknown_commit_fails(mirror, tmp_path):
    source, run = mirror
    script = tmp_path / "r.sh"
    where = Layout(str(tmp_path / "made"), ())
    script.write_text(repository_script(problem("d" * 40), source.as_uri(), ":", where))
    assert run(f"bash {script}")[0] != 0
