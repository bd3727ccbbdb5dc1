"""What a patch touches is what git says it touches, and which patches steer the tests."""

import shutil
import subprocess

import pytest

from hfr_bench.suites.swe_bench.load import load
from hfr_bench.suites.swe_bench.patches import (
    Change,
    FileRole,
    changes,
    patch_sha256,
    role,
    suspect_spoof,
    touched,
)

ODD = ["with space.py", 'quo"te.py', "über.py", "tab\there.py", "back\\slash.py", "plain.py"]


def diff(*files):
    return "".join(
        f"diff --git a/{f} b/{f}\n--- a/{f}\n+++ b/{f}\n@@ -1 +1 @@\n-a\n+b\n" for f in files
    )


def test_a_real_diff_of_odd_names(tmp_path):
    def git(*words):
        done = subprocess.run(
            [
                shutil.which("git"),
                "-C",
                tmp_path,
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@t",
                *words,
            ],
            capture_output=True,
            check=True,
        )
        return done.stdout.decode()

    git("init", "-q")
    for name in ODD:
        (tmp_path / name).write_text("one\ntwo\n--- a/lure.py\n")
    (tmp_path / "moved.py").write_text("a\n" * 30)
    (tmp_path / "gone.py").write_text("a\n")
    git("add", "-A")
    git("commit", "-qm", "x")
    for name in ODD:
        (tmp_path / name).write_text("one\n2\n3\n")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "moved.py").rename(tmp_path / "there.py")
    (tmp_path / "new.py").write_text("x\n")
    (tmp_path / "bytes.bin").write_bytes(b"\0\1")
    git("add", "-A")
    found = {change.new or change.old: change for change in changes(git("diff", "--cached", "-M"))}
    counted = git("diff", "--cached", "-M", "--numstat", "-z").split("\0")
    assert set(found) == {*ODD, "gone.py", "there.py", "new.py", "bytes.bin"}
    for name in ODD:
        assert (found[name].added, found[name].removed) == (2, 2), name
        assert f"2\t2\t{name}" in counted
    assert found["gone.py"] == Change("gone.py", None, 0, 1)
    assert found["new.py"] == Change(None, "new.py", 1, 0)
    assert found["there.py"] == Change("moved.py", "there.py")
    assert found["bytes.bin"].binary
    assert touched(git("diff", "--cached", "-M")).count("moved.py") == 1


def test_what_a_hunk_holds_is_not_a_header():
    text = (
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n"
        "--- a/conftest.py\n-x\n+++ b/conftest.py\n+diff --git a/c b/c\n"
        "\\ No newline at end of file\n"
        "diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert touched(text) == ("a", "b")
    assert [(c.added, c.removed) for c in changes(text)] == [(2, 2), (1, 1)]


def test_a_hunk_ends_where_its_counts_say():
    text = (
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1 @@\n+n\n-x\n-y\n--- a/lure.py\n"
        "diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1,3 @@\n-n\n+x\n+y\n+++ b/lure.py\n"
    )
    assert [(c.new, c.added, c.removed) for c in changes(text)] == [("a", 1, 3), ("b", 3, 1)]


def test_a_diff_that_git_did_not_make():
    lines = (
        "```diff",
        "--- a/x.py\t2024-01-01",
        "+++ b/x.py\t2024",
        "@@ -1 +1 @@",
        "-a",
        "+b",
        "```",
    )
    text = "\n".join(("Here you are:", *lines, ""))
    assert changes(text) == (Change("x.py", "x.py", 1, 1),)
    two = "--- x.py\n+++ x.py\n@@ -1 +1 @@\n-a\n+b\n--- y.py\n+++ y.py\n@@ -1 +1 @@\n-a\n+b\n"
    assert touched(two) == ("x.py", "y.py")


def test_prose_touches_nothing():
    assert changes("") == changes("I could not do it.\n") == ()


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("conftest.py", FileRole.STEERS),
        ("a/tests/conftest.py", FileRole.STEERS),
        ("hack.pth", FileRole.STEERS),
        ("tests/runtests.py", FileRole.STEERS),
        ("setup.cfg", FileRole.CONFIGURES),
        ("docs/tox.ini", FileRole.CONFIGURES),
        ("tests/data/x.json", FileRole.TESTS),
        ("pkg/test_a.py", FileRole.TESTS),
        ("docs/a.rst", FileRole.PROSE),
        ("CHANGES.rst", FileRole.PROSE),
        ("src/_pytest/python.py", FileRole.SOURCE),
        ("pkg/latest.py", FileRole.SOURCE),
        ("setup.py", FileRole.SOURCE),
    ],
)
def test_roles(path, what):
    assert role(path) is what


@pytest.mark.parametrize(
    ("files", "reasons"),
    [
        (["pkg/a.py"], 0),
        (["pkg/a.py", "tests/test_a.py", "setup.cfg", "CHANGES.rst"], 0),
        (["README.md"], 0),
        (["conftest.py"], 2),
        (["tests/test_a.py"], 1),
        (["setup.cfg", "docs/a.rst"], 1),
        (["pkg/a.py", "tests/conftest.py"], 1),
        ([], 0),
    ],
)
def test_spoofs(files, reasons):
    assert len(suspect_spoof(diff(*files))) == reasons


def test_a_removed_or_moved_file_counts():
    moved = "diff --git a/conftest.py b/x.py\nsimilarity index 100%\nrename from conftest.py\n"
    assert suspect_spoof(moved)


def test_one_byte_more_is_another_patch():
    assert patch_sha256("a") != patch_sha256("a\n")
    assert len(patch_sha256("")) == 64


def test_no_gold_patch_is_suspected(real_rows):
    instances = load(real_rows / "lite.jsonl") + load(real_rows / "verified_50.jsonl")
    assert [i.id for i in instances if suspect_spoof(i.gold.patch)] == []
    assert all(changes(i.gold.patch) and changes(i.gold.test_patch) for i in instances)
    sources = {p for i in instances for p in touched(i.gold.test_patch) if role(p) == "source"}
    assert sources == set()
