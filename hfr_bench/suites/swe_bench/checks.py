"""What a strategy may check of a patch before it accepts it; none of it sees the hidden tests.

Made from the public problem, the patch and the repository's own tree: does the patch touch
anything, does it apply, do the files it leaves parse, and which of the repository's visible tests
should be run for it. Levels are the paper's (table 8): V0 the patch is there, V1 it applies and
parses, V2 the visible tests pass.
"""

import ast
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from hfr_bench.model.attempt import Verdict
from hfr_bench.model.terms import CheckLevel
from hfr_bench.suites._verifying import judged, undecided
from hfr_bench.suites.swe_bench.apply import Run
from hfr_bench.suites.swe_bench.patches import (
    FileRole,
    changes,
    role,
    suspect_paths,
    suspect_spoof,
)

Read = Callable[[str], str | None]
"""A path in the repository -> its text; None = there is no such file."""

_MOST_TESTS = 20


@dataclass(frozen=True, slots=True)
class Selected:
    """A visible test file and why it was chosen: the names of changed modules it knows."""

    path: str
    knows: tuple[str, ...]


def check_patch(patch: str) -> Verdict:
    """V0: there is a patch, and it changes something that is not tests alone."""
    reasons: list[str] = []
    if not patch.strip():
        reasons.append("the patch is empty")
    elif not changes(patch):
        reasons.append("no file is changed: is it a diff?")
    else:
        reasons += suspect_spoof(patch)
    return judged(CheckLevel.TRANSPORT, *reasons)


def check_change(paths: Sequence[str]) -> Verdict:
    """V0, of the paths that the working tree's patch would touch."""
    if not paths:
        return judged(CheckLevel.TRANSPORT, "nothing is changed")
    return judged(CheckLevel.TRANSPORT, *suspect_paths(paths))


def check_applies(run: Run, path: str) -> Verdict:
    """V1: `git apply --check` in a clean repository. `path`: of the patch file, there."""
    code, said = run(f"git apply --check {path}")
    reasons = [] if code == 0 else [f"git apply --check: {said.strip()[:300]}"]
    return judged(CheckLevel.DETERMINISTIC, *reasons)


def check_parses(paths: Iterable[str], read: Read) -> Verdict:
    """V1: every Python file among the paths parses, as they are in the repository now.

    By the grammar of this Python, which may be younger than the repository's: a file that only an
    older one would refuse passes.
    """
    reasons = []
    for path in paths:
        text = read(path) if path.endswith(".py") else None
        if text is not None and (flaw := _flaw(text)):
            reasons.append(f"{path}{flaw}")
    return judged(CheckLevel.DETERMINISTIC, *reasons)


def visible_tests(
    changed: Sequence[str], tree: Iterable[str], read: Read, most: int = _MOST_TESTS
) -> tuple[Selected, ...]:
    """The repository's own test files that should be run for a change, best first, at most `most`.

    The rule, a pure function of the tree: a changed test file itself; then those named after a
    changed module (pkg/mod.py: test_mod.py, mod_test.py, tests/mod/...), nearest folder first; then
    those that import a changed module. Files of the tree that are no tests are never chosen.
    """
    modules = [path for path in changed if path.endswith(".py") and _is_source(path)]
    names = {path: _module_names(path) for path in modules}
    ranked = []
    for path in sorted(set(tree)):
        if not _is_test(path):
            continue
        knows, rank = _relation(path, changed, names, read)
        if knows:
            near = -max(_shared(path, module) for module in changed)
            ranked.append(((rank, near, len(path), path), Selected(path, knows)))
    return tuple(chosen for _, chosen in sorted(ranked, key=lambda row: row[0])[:most])


def check_tests(statuses: Mapping[str, str]) -> Verdict:
    """V2: what the visible tests said. None at all decides nothing."""
    level = CheckLevel.SEMANTIC
    if not statuses:
        return undecided(level, "no visible test was run")
    failed = sorted(name for name, status in statuses.items() if status in ("FAILED", "ERROR"))
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    reasons = (f"failed: {', '.join(failed[:3])}{more}",) if failed else ()
    quality = 1 - len(failed) / len(statuses)
    return Verdict(level, passed=not failed, quality=quality, reasons=reasons)


def _relation(
    path: str, changed: Sequence[str], names: Mapping[str, frozenset[str]], read: Read
) -> tuple[tuple[str, ...], int]:
    """Which changes a test file knows, and how surely: 0 it is one, 1 by its name, 2 by import."""
    if path in changed:
        return (path,), 0
    named = tuple(module for module in names if _named_after(path, module))
    if named:
        return named, 1
    text = read(path) or ""
    mentioned = [m for m in names if PurePosixPath(m).stem in text or m.endswith("__init__.py")]
    if not mentioned:  # cheaper than parsing every test of a large repository
        return (), 2
    imported = _imports(text)
    return tuple(module for module in mentioned if names[module] & imported), 2


def _named_after(test: str, module: str) -> bool:
    stem = PurePosixPath(module).stem
    if stem == "__init__":
        stem = PurePosixPath(module).parent.name
    stem = stem.lstrip("_")
    here = PurePosixPath(test)
    bare = here.stem.removeprefix("test_").removesuffix("_test").removesuffix("_tests")
    return bool(stem) and (bare == stem or stem in here.parts[:-1][-1:])


def _module_names(path: str) -> frozenset[str]:
    """The dotted names by which a file may be imported: from the root, or below src/ or lib/."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    roots = [parts] + ([parts[1:]] if parts[:1] in (["src"], ["lib"]) else [])
    return frozenset(".".join(root) for root in roots if root)


def _imports(text: str) -> frozenset[str]:
    """Every dotted name that a file imports: modules, and what it takes from them."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return frozenset()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def _shared(one: str, other: str) -> int:
    """How many leading folders two paths share."""
    pairs = zip(PurePosixPath(one).parts[:-1], PurePosixPath(other).parts[:-1], strict=False)
    count = 0
    for mine, theirs in pairs:
        if mine != theirs:
            break
        count += 1
    return count


def _is_source(path: str) -> bool:
    return role(path) is FileRole.SOURCE


def _is_test(path: str) -> bool:
    name = posixpath.basename(path)
    return (
        path.endswith(".py")
        and role(path) is FileRole.TESTS
        and (
            name.startswith("test_")
            or name.endswith(("_test.py", "_tests.py"))
            or name == "tests.py"
        )
    )


def _flaw(text: str) -> str:
    """Why a file does not parse, as `:line: reason`; "" if it does."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return f":{error.lineno or 0}: {error.msg}"
    except ValueError as error:  # a null byte
        return f": {error}"
    return ""
