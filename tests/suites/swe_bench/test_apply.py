"""The chain of ways to apply a patch, on a real repository, and what each falls back for."""

import pytest

from hfr_bench.suites.swe_bench.apply import (
    APPLY_COMMANDS,
    CLEAN_COMMAND,
    REVERSE_CHECK,
    apply_patch,
)

GIT, THREE_WAY, REJECT, PATCH = APPLY_COMMANDS


def outcome(copy_of, tmp_path, text, *, newline=""):
    repo, run = copy_of
    path = tmp_path / "p.diff"
    path.write_bytes(text.replace("\n", newline or "\n").encode())
    applied = apply_patch(run, str(path))
    return applied, (repo / "slug.py").read_text()


@pytest.mark.parametrize(
    ("spoil", "by"),
    [
        (lambda p: p, GIT),
        (lambda p: f"Sure:\n```diff\n{p}```\n", GIT),
        (lambda p: p.replace("@@ -1,", "@@ -201,").replace(" +1,", " +201,"), GIT),
        (lambda p: p.rstrip("\n"), PATCH),
        (lambda p: p.replace("\n", "\r\n"), PATCH),
    ],
    ids=["as it is", "fenced", "wrong lines", "no last newline", "CRLF"],
)
def test_ways(copy_of, slug, tmp_path, spoil, by):
    applied, text = outcome(copy_of, tmp_path, spoil(slug[1].gold.patch))
    assert (applied.ok, applied.by) == (True, by)
    assert ".lower()" in text


@pytest.mark.parametrize(
    "spoil",
    [lambda p: p.replace("-    return text", "-    return test"), lambda _p: "no patch at all\n"],
    ids=["other lines", "prose"],
)
def test_nothing_helps(copy_of, slug, tmp_path, spoil):
    applied, text = outcome(copy_of, tmp_path, spoil(slug[1].gold.patch))
    assert (applied.ok, applied.by) == (False, None)
    assert len(applied.said) == 4
    assert text.count("slug") == 1


def test_the_tree_is_clean_before_each_new_way():
    asked = []

    def run(command):
        asked.append(command)
        return 1, command

    assert not apply_patch(run, "/p").ok
    between = [CLEAN_COMMAND, f"{THREE_WAY} /p", CLEAN_COMMAND, f"{REJECT} /p", CLEAN_COMMAND]
    assert asked == [f"{GIT} /p", *between, f"{PATCH} /p", f"{REVERSE_CHECK} /p"]


def test_what_is_there_though_every_way_failed_is_applied():
    applied = apply_patch(lambda command: (not command.startswith(REVERSE_CHECK), ""), "/p")
    assert applied.by == REVERSE_CHECK
