"""What a patch touches, and whether it steers the tests instead of mending the code.

A patch is `git diff` output. Paths are read from its headers as git writes them, quoted ones too;
text around the diffs (prose, a code fence) is passed over, as git does.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from hfr_bench.model.record import text_digest

_HEADER = re.compile(
    r'^diff --git (?P<old>"(?:[^"\\]|\\.)*"|a/.*?) (?P<new>"(?:[^"\\]|\\.)*"|b/.*)$'
)
_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
}
_NOWHERE = "/dev/null"


class FileRole(StrEnum):
    """What a file does when a repository's tests are run.

    STEERS: code that the test runner itself loads or is (conftest.py, *.pth, runtests.py);
    CONFIGURES: its settings (pytest.ini, setup.cfg, ...); TESTS: tests and their data; PROSE:
    documents; SOURCE: all else.
    """

    STEERS = "steers"
    CONFIGURES = "configures"
    TESTS = "tests"
    PROSE = "prose"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Change:
    """One file of a patch. `old`, `new`: paths in the repository; None = it is not there.

    `added`, `removed`: lines; `binary`: it carries no lines.
    """

    old: str | None
    new: str | None
    added: int = 0
    removed: int = 0
    binary: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for path in (self.old, self.new) if path is not None))


def changes(patch: str) -> tuple[Change, ...]:
    """The files of a patch, in its order. Headers inside a hunk are content and not believed."""
    return tuple(_change(block) for block in _blocks(patch.splitlines()))


def file_diffs(patch: str) -> tuple[tuple[Change, tuple[str, ...]], ...]:
    """Each file of a patch and the lines of its diff; of their ends the newline alone is gone."""
    return tuple((_change(b), tuple(b)) for b in _blocks(patch.removesuffix("\n").split("\n")))


def touched(patch: str) -> tuple[str, ...]:
    """Every path that a patch writes, moves or removes, in its order, once."""
    return tuple(dict.fromkeys(path for change in changes(patch) for path in change.paths))


def patch_sha256(patch: str) -> str:
    """What names a patch wherever a verdict on it is kept."""
    return text_digest(patch)


def role(path: str) -> FileRole:
    """The role of a file, by its path alone."""
    name, parts = PurePosixPath(path).name, PurePosixPath(path).parts
    if name in _STEERS or path in _RUNNERS or name.endswith(".pth"):
        return FileRole.STEERS
    if name in _CONFIGURES:
        return FileRole.CONFIGURES
    if _TEST_FOLDERS & set(parts[:-1]) or _TEST_FILE.match(name):
        return FileRole.TESTS
    if name.endswith(_PROSE) or name.startswith(_PROSE_NAMES):
        return FileRole.PROSE
    return FileRole.SOURCE


def suspect_spoof(patch: str) -> tuple[str, ...]:
    """Why a verdict for this patch should be looked at by a person; () = no reason is seen.

    Two rules: it touches no source file at all though it touches what runs the tests (such a patch
    can change which tests count, never the behaviour they test), or it touches code that the test
    runner loads, whatever else it does. A flag, not a verdict: a source file that reaches into the
    test runner by itself is not seen.
    """
    return suspect_paths(touched(patch))


def suspect_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """`suspect_spoof`, of the paths that a patch touches."""
    by_role: dict[FileRole, list[str]] = {}
    for path in paths:
        by_role.setdefault(role(path), []).append(path)
    reasons = []
    running = [
        path
        for kind in (FileRole.STEERS, FileRole.CONFIGURES, FileRole.TESTS)
        for path in by_role.get(kind, ())
    ]
    if running and FileRole.SOURCE not in by_role:
        reasons.append(f"touches only what runs the tests: {', '.join(running)}")
    if steers := by_role.get(FileRole.STEERS):
        reasons.append(f"touches code that the test runner loads: {', '.join(steers)}")
    return tuple(reasons)


_STEERS = frozenset(
    {"conftest.py", "sitecustomize.py", "usercustomize.py", "noxfile.py", "pytest_plugins.py"}
)
_RUNNERS = frozenset({"tests/runtests.py", "bin/test", "sympy/testing/runtests.py", "runtests.py"})
_CONFIGURES = frozenset(
    {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg"}
    | {"pyproject.toml", ".coveragerc", "Makefile"}
)
_TEST_FOLDERS = frozenset({"tests", "test", "testing"})
_TEST_FILE = re.compile(r"^(test_.*|.*_test|tests)\.py$")
_PROSE = (".rst", ".md", ".txt")
_PROSE_NAMES = ("CHANGES", "CHANGELOG", "AUTHORS", "README", "LICENSE")


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """The lines of each file's diff, hunks and all; what is between the diffs is left out."""
    block: list[str] = []
    old = new = 0
    for line in lines:
        if old > 0 or new > 0:  # within a hunk its line counts say what belongs to it
            block.append(line)
            old -= not line.startswith(("+", "\\"))
            new -= not line.startswith(("-", "\\"))
            continue
        if _HEADER.match(line) or (line.startswith("--- ") and not _has_git_header(block)):
            if block:
                yield block
            block = [line]
        elif block:
            block.append(line)
            if hunk := _HUNK.match(line):
                old, new = (int(count) if count is not None else 1 for count in hunk.groups())
    if block:
        yield block


def _has_git_header(block: list[str]) -> bool:
    """Whether the block still waits for its `---` line."""
    return bool(block) and bool(_HEADER.match(block[0])) and not any(map(_HUNK.match, block))


def _change(block: list[str]) -> Change:
    old: str | None = None
    new: str | None = None
    if header := _HEADER.match(block[0]):
        old, new = _path(header["old"]), _path(header["new"])
    added = removed = 0
    binary = False
    in_hunk = False
    for line in block:
        in_hunk = in_hunk or bool(_HUNK.match(line))
        if in_hunk:
            added += line.startswith("+")
            removed += line.startswith("-")
        elif line.startswith("--- "):
            old = _path(line[4:])
        elif line.startswith("+++ "):
            new = _path(line[4:])
        elif line.startswith("new file mode"):
            old = None
        elif line.startswith("deleted file mode"):
            new = None
        elif line.startswith(("Binary files ", "GIT binary patch")):
            binary = True
    return Change(old, new, added, removed, binary)


def _path(text: str) -> str | None:
    """A path of a header without its a/ or b/; None for /dev/null."""
    if text.startswith('"'):
        raw = text.rstrip()[1:-1].encode("utf-8", "surrogateescape")
        text = _ESCAPE.sub(_unescaped, raw).decode("utf-8", "replace")
    else:
        text = text.partition("\t")[0].rstrip("\r")  # `diff` adds a time after a tab
    if text == _NOWHERE:
        return None
    return text[2:] if text.startswith(("a/", "b/")) else text


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPED.get(code, code)
