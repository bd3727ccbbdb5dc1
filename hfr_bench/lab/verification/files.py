"""Level 0 of verification, integrity: the files are those that were bundled, the chains whole.

Also lays out a working copy of the experiment, of traces and frozen files alone: whatever else a
bundle brings along (an index, say) is never read as truth.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hfr_bench import __version__, content
from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal
from hfr_bench.lab.amending import PARENTS
from hfr_bench.lab.ingest import Facts
from hfr_bench.lab.looks import LOOKS
from hfr_bench.lab.offer import KINDS, MATRICES
from hfr_bench.lab.register import LOCK, PLAN, PREREG, SCHEDULES, TOKEN, TRIALS
from hfr_bench.lab.runlog import RUN_LOG
from hfr_bench.lab.store import Checked, Store
from hfr_bench.lab.verification.read import Files
from hfr_bench.lab.verification.traces import Reader, Seen
from hfr_bench.model.bundle import LAYOUT, Bundle, Chain, Check
from hfr_bench.ports.tape import CASSETTES

_WORKED_ON = (PREREG, LOCK, PLAN, RUN_LOG, LOOKS, TOKEN)
_BELOW = (SCHEDULES, TRIALS, PARENTS, CASSETTES, seal.REVIEWS, KINDS, MATRICES)
_ALWAYS = (seal.ENVIRONMENT, seal.REPORT, seal.README)  # what was frozen lacks at level 1
_SHOWN = 3


@dataclass(slots=True)
class Work:
    """What all levels share. `kept`: the files beside the experiment that levels above 0 read.

    `seen`: what the traces say, in path order. `authority`: certificates that are trusted to sign
    timestamps. `seeds`: by suite, those that are told beside the bundle.
    """

    says: Bundle
    folder: Path
    kept: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    seen: tuple[Seen, ...] = ()
    authority: Path | None = None
    seeds: Mapping[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return Store(self.folder)

    @property
    def facts(self) -> list[Facts] | None:
        """Of all traces, in the store's order; None if they were not made, or not of each."""
        found = [one.facts for one in self.seen if not one.unreadable]
        whole = [one for one in found if one is not None]
        return whole if len(whole) == len(found) else None

    @property
    def checked(self) -> list[Checked]:
        return [one.checked for one in self.seen if one.checked is not None]

    @property
    def chains(self) -> list[Chain]:
        return [one.chain for one in self.seen if one.chain is not None]


Read = Callable[[Work, Sequence[str]], Iterable[Seen]]
"""Reads traces of these names, in any order."""


def lay_out(files: Files, folder: Path, read: Read | None = None) -> Work:
    """Read every file once: hash it, and write what is worked on into `folder`.

    `read`: reads the traces, once all else is there; None: here, and no facts are made of them.
    Raises BadInputError if what the bundle says of itself cannot be read: it is no bundle.
    """
    data = files.read(seal.BUNDLE)
    try:
        says = Bundle.loads(data)
    except ValidationError as error:
        told = content.explain(error) + other_version(data)
        raise BadInputError(f"not a bundle: {seal.BUNDLE}: {told}") from error
    if says.layout != LAYOUT:
        raise BadInputError(
            f"not a bundle that this version reads: its layout is {says.layout}, not {LAYOUT}"
        )
    work = Work(says, folder)
    traces = [name for name in files.names if seal.TRACE.fullmatch(name)]
    for name in files.names:
        if not seal.TRACE.fullmatch(name):
            _put(work, files, name)
    found = Reader(files, folder).read(traces) if read is None else read(work, traces)
    seen = {one.name: one for one in found}
    work.unreadable |= {one.name: one.unreadable for one in seen.values() if one.unreadable}
    sums = work.digests | {one.name: one.sha256 for one in seen.values() if not one.unreadable}
    work.digests = {name: sums[name] for name in files.names if name in sums}
    work.seen = tuple(seen[name] for name in sorted(traces, key=lambda name: name.split("/")))
    return work


def _put(work: Work, files: Files, name: str) -> None:
    """A file that is no trace: hashed, and kept where it is looked for."""
    try:
        data = files.read(name)
    except BadInputError as error:
        work.unreadable[name] = str(error)
        return
    work.digests[name] = hashlib.sha256(data).hexdigest()
    if not seal.known(name):
        return  # level 0 says so; nothing of it is read
    if name in _WORKED_ON or name.partition("/")[0] in _BELOW:
        path = work.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    elif "/" not in name:
        work.kept[name] = data


def other_version(data: bytes) -> str:
    """That another version made a file, as it says itself (`harness_version`); "" if it does not.

    What such a version writes may have other fields, which is no damage.
    """
    try:
        said = json.loads(data)["harness_version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    if not isinstance(said, str) or said == __version__:
        return ""
    return f" (made by hfr-bench {said}, this is {__version__}: verify it with {said})"


def level_0(work: Work) -> Iterator[Check]:
    """Integrity."""
    try:
        listed = seal.read_manifest(work.kept.get(seal.MANIFEST, b""))
    except ValueError as error:
        yield Check(level=0, check="the manifest can be read", ok=False, detail=str(error))
        listed = {}
    yield from _listed(work, listed)
    yield _chains(work)
    yield _ends(work)
    yield _lines(work)
    yield _statement(work)


def _listed(work: Work, listed: dict[str, str]) -> Iterator[Check]:
    found = work.digests | dict.fromkeys(work.unreadable, "")
    changed = [f"{n} changed" for n in listed if n in found and found[n] != listed[n]]
    wanted = (*listed, *(n for n in _ALWAYS if n not in listed))
    missing = [f"{n} is missing" for n in wanted if n not in found]
    yield judge(
        0, "every listed file is there, unchanged", changed + missing, f"{len(listed)} files"
    )
    extra = [f"{n} is not listed" for n in found if n not in listed and n not in seal.UNLISTED]
    strange = [f"{n} has no place in a bundle" for n in found if not seal.known(n)]
    yield judge(0, "no other file is there", extra + strange, "none")


def _chains(work: Work) -> Check:
    """Hash chains; what was broken when it was bundled is known, and in the report."""
    broken = {str(line) for one in work.checked for line in (*one.bad, *one.breaks)}
    known = set(work.says.damaged)
    wrong = [f"{line}" for line in sorted(broken - known)]
    wrong += [f"said to be damaged and is not: {line}" for line in sorted(known - broken)]
    fine = f"{len(work.checked)} traces" + (f", {len(known)} known defects" if known else "")
    return judge(0, "every hash chain is unbroken", wrong, fine)


def _ends(work: Work) -> Check:
    """The last line of a trace has no successor that would confirm it; bundle.json does."""
    said = {chain.path: chain for chain in work.says.chains}
    found = {chain.path: chain for chain in work.chains}
    wrong = [f"{n} ends otherwise" for n in found if n in said and found[n] != said[n]]
    wrong += [f"{n} is not sealed" for n in found if n not in said]
    wrong += [f"{n} is sealed and not there" for n in said if n not in found]
    archived = {n for n in work.digests if n.startswith(f"{TRIALS}/")} - found.keys()
    wrong += [f"{n} is archived or it is not" for n in archived ^ set(work.says.archived)]
    return judge(0, "every trace ends as bundle.json says", wrong, f"{len(found)} ends")


def _lines(work: Work) -> Check:
    """Each trace is one trial's, from its first line on; recorded responses are its own."""
    known = {line.partition(":")[0] for line in work.says.damaged}
    wrong = [f"{one.name}: {one.odd}" for one in work.seen if one.odd and one.name not in known]
    for one in work.seen:
        tape = f"{CASSETTES}{one.name.removeprefix(TRIALS)}"
        if work.digests.get(tape, one.cassette) != one.cassette:
            wrong.append(f"{tape} is not what its trial recorded")
    return judge(0, "every trace is one trial's, in its order", wrong, f"{len(work.seen)} traces")


def _statement(work: Work) -> Check:
    """The in-toto statement speaks of this manifest and says what bundle.json says."""
    title = "the statement speaks of this manifest"
    try:
        said: Any = json.loads(work.kept.get(seal.STATEMENT, b""))
    except ValueError as error:
        return Check(level=0, check=title, ok=False, detail=f"{seal.STATEMENT}: {error}")
    right = said == seal.statement(work.says, work.digests.get(seal.MANIFEST, ""))
    return Check(level=0, check=title, ok=right, detail="unsigned" if right else "it does not")


def judge(level: int, check: str, wrong: Iterable[str], fine: str) -> Check:
    """A check that holds if nothing is wrong; else the first few things that are."""
    found = list(wrong)
    detail = "; ".join(found[:_SHOWN]) or fine
    if len(found) > _SHOWN:
        detail += f"; {len(found) - _SHOWN} more"
    return Check(level=level, check=check, ok=not found, detail=detail)
