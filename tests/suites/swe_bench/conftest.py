"""Rows of our own making, and a small repository that one of them is about."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hfr_bench.suites.swe_bench.rows import read_row
from hfr_bench.suites.swe_bench.scripts import Layout, eval_script

SLUG = """\
def slug(text):
    return text.strip().replace(' ', '-')


KEPT = "a-z"
AFTER = "what follows a change is its context"
"""
MENDED = SLUG.replace("text.strip()", "text.strip().lower()")
TESTS = "from slug import slug\n\n\ndef test_spaces():\n    assert slug(' a b ') == 'a-b'\n"
HIDDEN = TESTS + "\n\ndef test_lower():\n    assert slug('A b') == 'a-b'\n"
NEW_TESTS = "from slug import slug\n\n\ndef test_empty():\n    assert slug('') == ''\n"
WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "t"), ("EMAIL", "t@t"), ("DATE", "2024-01-01T00:00:00Z"))
}
INSTALL = ":"
ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def git(repo, *words, given=None):
    """What git says in a repository, apart from this user's own settings."""
    program = shutil.which("git")
    assert program, "git is needed"
    env = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        [program, "-C", str(repo), *words],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        env=env,
    )
    return done.stdout


def fill(repo, **files):
    for name, text in files.items():
        path = repo / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def row_of(**over):
    """A classic row; `over` replaces fields, None takes one away."""
    made = {
        "repo": "hfr/slug",
        "instance_id": "hfr__slug-1",
        "base_commit": "0" * 40,
        "patch": "diff --git a/s.py b/s.py\n--- a/s.py\n+++ b/s.py\n@@ -1 +1 @@\n-a\n+b\n",
        "test_patch": "diff --git a/tests/test_slug.py b/tests/test_slug.py\n",
        "problem_statement": "Slugs keep capital letters.",
        "hints_text": "",
        "created_at": "2024-01-01T00:00:00Z",
        "version": "1.0",
        "FAIL_TO_PASS": json.dumps(["tests/test_slug.py::test_lower"]),
        "PASS_TO_PASS": json.dumps(["tests/test_slug.py::test_spaces"]),
        "environment_setup_commit": "1" * 40,
        **over,
    }
    return {key: value for key, value in made.items() if value is not None}


@pytest.fixture
def row():
    return row_of


@pytest.fixture(scope="session")
def slug(tmp_path_factory):
    """A repository with a defect, the fix, and tests that tell: (folder, its instance)."""
    repo = tmp_path_factory.mktemp("slug")
    git(repo, "init", "-q", "-b", "main")
    fill(repo, slug_py=SLUG, tests__test_slug_py=TESTS, conftest_py="")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "base")
    base = git(repo, "rev-parse", "HEAD").strip()
    fill(repo, slug_py=MENDED)
    patch = git(repo, "diff")
    git(repo, "checkout", "-q", "--", ".")
    fill(repo, tests__test_slug_py=HIDDEN, tests__test_new_py=NEW_TESTS)
    git(repo, "add", "-AN")
    test_patch = git(repo, "diff")
    git(repo, "reset", "-q", "--hard")
    git(repo, "clean", "-fdq")
    made = row_of(
        base_commit=base,
        patch=patch,
        test_patch=test_patch,
        PASS_TO_PASS=["tests/test_slug.py::test_spaces", "tests/test_new.py::test_empty"],
    )
    return repo, read_row(made, "made.jsonl:1")


@pytest.fixture
def copy_of(tmp_path, slug):
    """A fresh copy of that repository, and what runs a command in it."""
    repo = tmp_path / "repo"
    shutil.copytree(slug[0], repo)

    def run(command):
        env = {**os.environ, **WHO, **ALONE}
        done = subprocess.run(
            ["/bin/bash", "-c", command],
            cwd=repo,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=env,
        )
        return done.returncode, done.stdout

    return repo, run


@pytest.fixture
def judged(copy_of, slug, tmp_path):
    """Runs the eval script of that repository's task in the copy; returns the log."""
    repo, run = copy_of

    def judge(test=f"{sys.executable} -m pytest -rA -p no:cacheprovider"):
        instance = slug[1]
        layout = Layout(str(repo), ())
        script = eval_script(
            instance.problem, instance.gold, install=INSTALL, test=test, layout=layout
        )
        path = tmp_path / "eval.sh"
        path.write_text(script.replace("git config --global", "git config"))
        return run(f"bash {path} 2>&1")[1]

    return judge


@pytest.fixture(scope="session")
def real_rows():
    """The folder of real rows that HFR_BENCH_DATA_SWE_BENCH names."""
    folder = os.environ.get("HFR_BENCH_DATA_SWE_BENCH")
    if not folder or not Path(folder, "lite.jsonl").is_file():
        pytest.skip("HFR_BENCH_DATA_SWE_BENCH names no folder with lite.jsonl, verified_50.jsonl")
    return Path(folder)
