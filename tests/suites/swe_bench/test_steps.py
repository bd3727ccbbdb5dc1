"""The commands of a fix: played they leave what the patch leaves; their writes can be repeated."""

import os
import subprocess
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.terms import SideEffect
from hfr_bench.suites.swe_bench.levels import level_of
from hfr_bench.suites.swe_bench.steps import commands

LINES = st.lists(
    st.sampled_from(["a", "b", "", "  c", "EOF", "- x", "+ y", "-- z", "é"]), max_size=30
)
SLUG = "def slug(text):\n    return text.strip()\n\n\nKEPT = 'a-z'\n"
MENDED = SLUG.replace("strip()", "strip().lower()")
ALONE = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def git(folder, *words):
    who = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false")
    done = subprocess.run(
        ["/usr/bin/env", "git", *who, *words],
        cwd=folder,
        capture_output=True,
        check=True,
        env=ALONE,
    )
    return done.stdout.decode()


def repository(folder, before):
    git(folder, "init", "-q", "-b", "main")
    for name, text in before.items():
        (folder / name).write_bytes(text.encode())
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "base")


def patch_of(folder, after):
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    for name, text in after.items():
        (folder / name).write_bytes(text.encode())
    git(folder, "add", "-A")
    patch = git(folder, "diff", "--cached", "--binary")
    git(folder, "reset", "-q", "--hard")
    return patch


def play(folder, steps):
    for step in steps:
        done = subprocess.run(
            ["/bin/bash", "-c", step],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env=ALONE,
        )
        assert done.returncode == 0, (step, done.stdout, done.stderr)


def files(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


@settings(max_examples=12, deadline=None)
@given(old=LINES, new=LINES, last=st.sampled_from(["", "\n"]), other=st.sampled_from(["", "o\n"]))
def test_they_leave_what_the_patch_leaves(old, new, last, other):
    before = {"f.txt": "\n".join(old) + last, **({"gone.txt": "x\n"} if other else {})}
    after = {"f.txt": "\n".join(new) + last, "new.txt": other or "n\n"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repository(folder, before)
        play(folder, commands(patch_of(folder, after)))
        assert files(folder) == after


def test_hunks_are_put_in_one_by_one(tmp_path):
    long = [f"line {n}" for n in range(60)]
    changed = ["first", *long[:30], "mid 1", "mid 2", *long[31:], "last"]
    repository(tmp_path, {"f.txt": "\n".join(long) + "\n"})
    steps = commands(patch_of(tmp_path, {"f.txt": "\n".join(changed) + "\n"}))
    assert [step.split(" ", 1)[0] for step in steps] == ["sed", "patch"] * 3 + ["git"]
    play(tmp_path, steps)
    assert files(tmp_path) == {"f.txt": "\n".join(changed) + "\n"}
    assert not list(tmp_path.glob("*.orig"))


def test_a_repeat_takes_the_fix_back_and_says_nothing(tmp_path):
    repository(tmp_path, {"slug.py": SLUG})
    steps = commands(patch_of(tmp_path, {"slug.py": MENDED}))
    assert [level_of(step).level for step in steps] == [
        SideEffect.READ,
        SideEffect.QUERYABLE,
        SideEffect.READ,
    ]
    play(tmp_path, [steps[1]])
    assert (tmp_path / "slug.py").read_text() == MENDED
    play(tmp_path, [steps[1]])
    assert (tmp_path / "slug.py").read_text() == SLUG


def test_what_patch_cannot_carry_is_applied_by_git(tmp_path):
    repository(tmp_path, {"a.txt": "x\r\ny\r\n", "b b.txt": "1\n", "c": "c\n"})
    after = {"a.txt": "x\r\nz\r\n", "b b.txt": "2\n", "d": "c\n"}
    for name, text in after.items():
        (tmp_path / name).write_bytes(text.encode())
    git(tmp_path, "rm", "-q", "c")
    git(tmp_path, "add", "-A")
    patch = git(tmp_path, "diff", "--cached", "-M")
    git(tmp_path, "reset", "-q", "--hard")
    steps = commands(patch)
    assert [step.split(" ", 2)[:2] for step in steps] == [["git", "apply"]] * 3 + [["git", "diff"]]


def test_the_heredoc_ends_where_it_should(tmp_path):
    repository(tmp_path, {"f": "a\n"})
    play(tmp_path, commands(patch_of(tmp_path, {"f": "a\nEOF\n", "g": "EOF\nEOF_\n"})))
    assert files(tmp_path) == {"f": "a\nEOF\n", "g": "EOF\nEOF_\n"}
