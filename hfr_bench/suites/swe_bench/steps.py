"""A fix as a few shell commands: what the oracle does, and the rehearsal's script.

Nobody works like that. It is the known fix in the tools' own terms: look at the place, put each
hunk in with `patch --batch`, look at what changed. So there are writes to be lost and repeated, and
a repeat is one that happens: `patch --batch` that meets its own work takes it back, without a word
of failure. What `patch` cannot carry (new, removed, renamed and binary files, modes, line ends)
is one `git apply` a file, which refuses to be repeated.
"""

import re
from collections.abc import Iterator, Sequence

from hfr_bench.suites.swe_bench.patches import Change, file_diffs

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$", re.DOTALL)
_PLAIN = re.compile(r"^[\w./+-]+$")
_HEADERS = ("diff --git ", "index ", "--- ", "+++ ")
_AROUND = 3


def commands(patch: str) -> tuple[str, ...]:
    """The commands that apply a patch to a clean repository, in order; the last one looks."""
    return (
        *(step for change, lines in file_diffs(patch) for step in _file(change, lines)),
        "git diff",
    )


def _file(change: Change, lines: Sequence[str]) -> Iterator[str]:
    hunks = _hunks(lines)
    path = change.new or change.old or ""
    if not _by_hunks(change, lines, hunks):
        yield _heredoc("git apply -", lines)
        return
    for hunk in hunks:
        found = _HUNK.match(hunk[0])
        assert found is not None
        _, old, start, _, rest = found.groups()
        first, length = int(start), int(old or 1)
        yield f"sed -n {max(1, first - _AROUND)},{first + length + _AROUND}p {path}"
        # Those before it are in by now, so that it begins where its new lines do.
        header = f"@@ -{start},{length} +{start},{found[4] or 1} @@{rest}"
        file = (f"--- a/{path}", f"+++ b/{path}", header, *hunk[1:])
        yield _heredoc("patch --batch -p1", file)


def _hunks(lines: Sequence[str]) -> list[list[str]]:
    """Each hunk's lines, its header first; whatever a hunk holds is taken by its counts."""
    hunks: list[list[str]] = []
    old = new = 0
    for line in lines:
        if old > 0 or new > 0:
            hunks[-1].append(line)
            old -= not line.startswith(("+", "\\"))
            new -= not line.startswith(("-", "\\"))
        elif found := _HUNK.match(line):
            hunks.append([line])
            old, new = (int(count or 1) for count in (found[2], found[4]))
        elif hunks and line.startswith("\\"):
            hunks[-1].append(line)
    return hunks


def _by_hunks(change: Change, lines: Sequence[str], hunks: Sequence[Sequence[str]]) -> bool:
    """Whether `patch` makes of the hunks just what `git apply` makes of the file's diff."""
    head = len(lines) - sum(map(len, hunks))
    return (
        change.old == change.new
        and change.new is not None
        and bool(hunks)
        and all(line.startswith(_HEADERS) for line in lines[:head])  # not of modes or names
        and bool(_PLAIN.match(change.new))
        and not any("\r" in line for line in lines)
        and all(_both_sides(hunk[0]) for hunk in hunks)
    )


def _both_sides(header: str) -> bool:
    found = _HUNK.match(header)
    return found is not None and found[2] != "0" and found[4] != "0"


def _heredoc(command: str, lines: Sequence[str]) -> str:
    mark = "EOF"
    while mark in lines:
        mark += "_"
    return "\n".join((f"{command} <<'{mark}'", *lines, mark))
