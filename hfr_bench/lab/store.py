"""Reads an experiment's traces: `trials/<group>/r<round>/<arm>.jsonl`, the append-only truth.

Everything that reads traces goes through here. Reading never stops at a bad line: it is named by
file and line, its trial counts as incomplete, nothing else is lost. Hash chains are verified on
the raw bytes. A file without any flaw takes one pass (`lab.decode`); where something is wrong, or
only unusual, it is read again line by line, and pydantic says what it is.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from hfr_bench.lab import decode
from hfr_bench.lab.cohorts import crowds
from hfr_bench.model.record import json_digest
from hfr_bench.model.trace import TraceEvent, TrialEnded
from hfr_bench.model.trial import PlanRow, TrialResult

# A line as our writer lays it out; any other layout takes the slow way through a JSON parser.
_LINE = re.compile(
    rb'(\{"v":\d+,"trial_id":"[^"\\]*","seq":\d+,"t_us":-?\d+),"wall_us":-?\d+'
    rb'(,"step":\d+,"attempt":\d+),"prev":"([0-9a-f]*)"(,"body":.*)',
    re.DOTALL,
)


TRIALS, _ENDING = "trials", ".jsonl"


class TrialFile(NamedTuple):
    """Where a trial's trace lies, and what its path says of it.

    `at`: the path; a plain string where there are very many.
    """

    at: str | Path
    group: str
    round: int
    arm: str

    @property
    def path(self) -> Path:
        return Path(self.at)

    @property
    def name(self) -> str:
        """The path within the experiment."""
        return "/".join((TRIALS, *os.fspath(self.at).rsplit("/", 3)[-3:]))


class Mark(NamedTuple):
    """What a file was when it was read; bytes, and nanoseconds since 1970."""

    size: int
    mtime_ns: int


class BadLine(NamedTuple):
    """A line that cannot be believed. `path` is relative to the experiment; lines count from 1."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


class TrialTrace(NamedTuple):
    """The events of one trial that could be read, and the lines that could not."""

    path: Path
    events: tuple[TraceEvent, ...]
    bad: tuple[BadLine, ...] = ()


class Checked(NamedTuple):
    """One trial file after the quick pass.

    `result` is None unless the trace is whole: it ends in `trial_ended`, without a bad line. It is
    a record or, out of the index, the like of one (`decode.like`).
    `breaks`: readable lines whose `prev` is not the hash of the line before (tampering).
    """

    file: TrialFile
    result: TrialResult | None
    bad: tuple[BadLine, ...]
    breaks: tuple[BadLine, ...]
    digest: str


class Reading(NamedTuple):
    """One trial file, read once: the quick pass, and its events.

    `events`: of every line that could be read, records or their like (`decode.trace_events`).
    `bad`: every line that could not; `checked.bad` are those that the hash chain found.
    """

    checked: Checked
    events: Sequence[TraceEvent]
    bad: tuple[BadLine, ...]
    lines: Sequence[bytes]
    mark: Mark
    sha256: str


class Chosen(NamedTuple):
    """The last complete round of every pair group.

    `trials` by trial_id; `lacking`: groups still to be run; `dropped`: groups whose last allowed
    round ended with a void; `unplanned`: files that belong to no planned trial.
    """

    trials: dict[str, Checked]
    lacking: tuple[str, ...]
    dropped: tuple[str, ...]
    unplanned: tuple[str, ...]


class Store:
    """The traces of one experiment directory.

    `indexed`: what was found out about a file may be kept in, and taken from, the directory's
    `hfr.duckdb` as long as the file is the same (`lab.index`). `said`: what a person should be
    told about that index.
    """

    def __init__(self, folder: Path, *, indexed: bool = False) -> None:
        self.folder = folder
        self.indexed = indexed
        self.said: list[str] = []

    def files(self) -> tuple[TrialFile, ...]:
        """All finished trial files, in path order; `.part` and archived ones are left out."""
        root = self.folder / TRIALS
        return tuple(
            TrialFile(f"{rounds}/{name}", group, int(round_[1:]), name[: -len(_ENDING)])
            for group in _names(root)
            for round_ in _names(f"{root}/{group}")
            if round_[:1] == "r" and round_[1:].isdigit()
            for rounds in (f"{root}/{group}/{round_}",)
            for name in _names(rounds)
            if name.endswith(_ENDING)
        )

    def read(self, file: TrialFile) -> Reading:
        """Read a file once: hash every line, decode every line."""
        with file.path.open("rb") as opened:
            status = os.fstat(opened.fileno())
            raw = opened.read()
        return reading(file, raw, Mark(status.st_size, status.st_mtime_ns))

    def check(self, file: TrialFile) -> Checked:
        """Verify a file's hash chain and read its result."""
        return self.read(file).checked

    def trace(self, file: TrialFile, types: Collection[str] | None = None) -> TrialTrace:
        """A trial's events as records, or only those of some body types."""
        wanted = None if types is None else [f'"type":"{name}"'.encode() for name in sorted(types)]
        events, bad = [], []
        for number, line in enumerate(_lines(file.path), 1):
            if wanted is not None and not any(mark in line for mark in wanted):
                continue
            event = _parse(line)
            if isinstance(event, str):
                bad.append(BadLine(file.name, number, event))
            elif types is None or event.body.type in types:
                events.append(event)
        return TrialTrace(file.path, tuple(events), tuple(bad))

    def traces(self) -> Iterator[TrialTrace]:
        """Every trial file, fully parsed."""
        return (self.trace(file) for file in self.files())

    def raw(self, file: TrialFile) -> list[bytes]:
        """A trial's lines as written, without newlines."""
        return _lines(file.path)


def reading(file: TrialFile, raw: bytes, mark: Mark) -> Reading:
    """A file's bytes, read once: every line hashed, every line decoded."""
    lines = _split(raw)
    whole = hashlib.sha256(raw).hexdigest()
    events = decode.trace_events(lines)
    if events and _chained(lines, events):
        last = events[-1].body
        result = decode.full(TrialResult, last.result) if last.type == "trial_ended" else None
        checked = Checked(file, result, (), (), trial_digest(lines))
        return Reading(checked, events, (), lines, mark, whole)
    parsed = [_parse(line) for line in lines]
    bad = tuple(
        BadLine(file.name, number, event)
        for number, event in enumerate(parsed, 1)
        if isinstance(event, str)
    )
    readable = [event for event in parsed if not isinstance(event, str)]
    return Reading(_check(file, lines), readable, bad, lines, mark, whole)


def choose(rows: Sequence[PlanRow], checked: Iterable[Checked], void_rounds: int) -> Chosen:
    """Pick the last round of each pair group in which every planned arm ended without a void.

    Args:
        rows: the plan; it alone says what a complete group is, and what cohorts tie together.
        checked: all trial files.
        void_rounds: how often a voided group may be rerun (`Preregistration.void_rounds`).
    """
    by_place = {(c.file.group, c.file.round, c.file.arm): c for c in checked}
    rounds: dict[str, set[int]] = {}
    for group, number, _ in by_place:
        rounds.setdefault(group, set()).add(number)
    trials: dict[str, Checked] = {}
    lacking: list[str] = []
    dropped: list[str] = []
    for first, members in crowds(rows).items():  # pair groups, or what cohorts tie together
        found = _last_round(members, by_place, rounds.get(first, set()))
        if found is not None:
            trials.update(found)
            continue
        gone = _exhausted(members, by_place, 1 + void_rounds)
        (dropped if gone else lacking).extend(dict.fromkeys(r.trial.pair_group for r in members))
    planned = {(row.trial.pair_group, row.trial.arm) for row in rows}
    unplanned = [
        f"{group}/r{number}/{arm}" for group, number, arm in by_place if (group, arm) not in planned
    ]
    return Chosen(trials, tuple(lacking), tuple(dropped), tuple(sorted(unplanned)))


def trial_digest(lines: Iterable[bytes]) -> str:
    """SHA-256 over a trial's lines without `wall_us` and `prev`: equal for equal behaviour."""
    kept: list[bytes] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        kept += (stripped(line),) if match is None else match.group(1, 2, 4)
        kept.append(b"\n")
    return hashlib.sha256(b"".join(kept)).hexdigest()


def traces_digest(trials: Mapping[str, Checked]) -> str:
    """One digest over the digests of some trials, keyed by trial_id; both are of hex digits.

    Of such the compact JSON is the canonical one (RFC 8785), made in C.
    """
    return json_digest({trial_id: checked.digest for trial_id, checked in trials.items()})


def stripped(line: bytes) -> bytes:
    """A trace line without its measured time and without the hash of the line before."""
    match = _LINE.fullmatch(line)
    if match is not None:
        return b"".join(match.group(1, 2, 4))
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(event, dict):
        return line
    kept = {key: value for key, value in event.items() if key not in ("wall_us", "prev")}
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False).encode()


def _names(folder: Path | str) -> list[str]:
    """What lies in a folder, in order; nothing if there is no such folder."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - of very many folders
    except (FileNotFoundError, NotADirectoryError):
        return []


def _lines(path: Path) -> list[bytes]:
    return _split(path.read_bytes())


def _split(raw: bytes) -> list[bytes]:
    lines = raw.split(b"\n")
    if not lines[-1]:  # behind the last newline, or nothing at all
        lines.pop()
    return lines


def _chained(lines: Sequence[bytes], events: Sequence[TraceEvent]) -> bool:
    """Whether each line carries the hash of the one before."""
    wanted = [""]
    wanted += [hashlib.sha256(line).hexdigest() for line in lines[:-1]]
    return [event.prev for event in events] == wanted


def _check(file: TrialFile, lines: Sequence[bytes]) -> Checked:
    """A file with a flaw, line by line: which lines, and whether it is whole all the same."""
    bad, breaks = _verify(file.name, lines)
    result = None
    if lines and not any(line.line == len(lines) for line in bad):
        event = _parse(lines[-1])
        if isinstance(event, str):
            bad.append(BadLine(file.name, len(lines), event))
        elif isinstance(event.body, TrialEnded) and not bad:
            result = event.body.result
    return Checked(file, result, tuple(bad), tuple(breaks), trial_digest(lines))


def _verify(name: str, lines: Sequence[bytes]) -> tuple[list[BadLine], list[BadLine]]:
    """Unreadable lines, and broken links between readable ones.

    A line whose successor confirms its hash is as it was written; only one that is contradicted
    is parsed, and blamed if it is no JSON. Its successor is then not: it was chained to what
    stood there before. The last line has no successor; `check` parses it.
    """
    bad: list[BadLine] = []
    breaks: list[BadLine] = []
    for number, line in enumerate(lines, 1):
        before = lines[number - 2] if number > 1 else None
        wanted = "" if before is None else hashlib.sha256(before).hexdigest()
        match = _LINE.fullmatch(line)
        prev = match.group(3).decode() if match else _prev_of(line)
        if prev is None:
            bad.append(BadLine(name, number, _why(line)))
        elif prev == wanted or (bad and bad[-1].line == number - 1):
            continue
        elif before is not None and _prev_of(before) is None:
            bad.append(BadLine(name, number - 1, _why(before)))
        else:
            breaks.append(BadLine(name, number, "the hash chain is broken: prev does not match"))
    return bad, breaks


def _prev_of(line: bytes) -> str | None:
    """`prev` of a line, the slow way; None if the line is not a trace event's JSON."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    prev = event.get("prev") if isinstance(event, dict) else None
    return prev if isinstance(prev, str) else None


def _why(line: bytes) -> str:
    try:
        json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON ({error})" if line else "empty line"
    return "not a trace event"


def _parse(line: bytes) -> TraceEvent | str:
    """The event, or in words why there is none."""
    try:
        return TraceEvent.loads(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"not a trace event ({where + ': ' if where else ''}{first['msg']})"


Places = Mapping[tuple[str, int, str], Checked]


def _last_round(
    members: Sequence[PlanRow], by_place: Places, rounds: Collection[int]
) -> dict[str, Checked] | None:
    for number in sorted(rounds, reverse=True):
        found = {}
        for row in members:
            checked = by_place.get((row.trial.pair_group, number, row.trial.arm))
            result = checked.result if checked else None
            if checked is None or result is None or result.void is not None:
                break
            if result.trial_id != row.trial.trial_id:
                break
            found[row.trial.trial_id] = checked
        else:
            return found
    return None


def _exhausted(members: Sequence[PlanRow], by_place: Places, last: int) -> bool:
    """Whether a void in the last allowed round has ended the group's hopes."""
    ended = [by_place.get((row.trial.pair_group, last, row.trial.arm)) for row in members]
    results = [checked.result for checked in ended if checked is not None]
    return any(result is not None and result.void is not None for result in results)
