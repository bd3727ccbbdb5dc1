"""Every trace of a bundle, read once: what each level of verification asks of it.

    bytes -> SHA-256, end of the hash chain, the quick pass, first line, injections named in it
          -> its facts (`lab.ingest`), where numbers will be made of them

A copy goes where the levels work, of those that a level comes back to (`lay`).
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal
from hfr_bench.lab.ingest import Facts, Ingest, collector_paused
from hfr_bench.lab.store import Checked, Mark, Reading, TrialFile, reading
from hfr_bench.lab.verification.bills import Bill, bills
from hfr_bench.lab.verification.read import Files
from hfr_bench.model.bundle import Chain
from hfr_bench.model.terms import Channel, Origin
from hfr_bench.model.trace import TraceEvent

CHUNK = 32
"""Traces that are read at one go, and what they say is handed on; some 2 MB."""

_INJECTION = b'"injection_id"'
_NAMED = re.compile(rb'\s*:\s*("(?:[^"\\]|\\.)*")')
_ESCAPED = re.compile(rb"\\u00[2-7]")  # no writer of ours escapes what is printable
_NEVER = Mark(0, 0)  # no index keeps what is read here


Cost = tuple[str, str, int | None]
"""Channel, model ("" of a tool), micro-dollars (None = unknown price)."""


class Seen(NamedTuple):
    """What a trace says. `unreadable`: why it cannot be unpacked; then there is nothing else.

    `first`: its first line. `injections`: how often one is named, and each name (JSON) once.
    `odd`: what of its lines makes no sense. `costs`: what attempts cost, by channel and, of models,
    by the one asked for, and how often. `bills`: of a live model, each attempt. `cassette`: the
    digest of its recorded responses.
    `facts` None: not asked for, or they cannot be made.
    """

    name: str
    unreadable: str = ""
    sha256: str = ""
    chain: Chain | None = None
    checked: Checked | None = None
    first: bytes = b""
    injections: tuple[int, frozenset[bytes]] = (0, frozenset())
    odd: str = ""
    costs: tuple[tuple[Cost, int], ...] = ()
    bills: tuple[Bill, ...] = ()
    cassette: str = ""
    facts: Facts | None = None


class Reader:
    """Reads traces out of a bundle.

    `folder`: the experiment's. `ingest` None: no facts. `keep`: a copy of each goes to the folder.
    """

    def __init__(
        self, files: Files, folder: Path, ingest: Ingest | None = None, *, keep: bool = True
    ) -> None:
        self._files, self._folder, self._ingest, self._keep = files, folder, ingest, keep

    @collector_paused()
    def read(self, names: Sequence[str]) -> list[Seen]:
        """What traces of these names say, in that order."""
        return [self._seen(name) for name in names]

    def _seen(self, name: str) -> Seen:
        try:
            data = self._files.read(name)
        except BadInputError as error:
            return Seen(name, str(error))
        file = file_of(self._folder, name)
        if self._keep:
            _put(file.path, data)
        read = reading(file, data, _NEVER)
        last = hashlib.sha256(read.lines[-1]).hexdigest() if read.lines else ""
        found = _injections(data)
        return Seen(
            name,
            sha256=read.sha256,
            chain=Chain(path=name, lines=len(read.lines), last=last),
            checked=read.checked,
            first=read.lines[0] if read.lines else b"",
            injections=(len(found), frozenset(found)),
            odd=_odd(read.events) if not read.bad else "",
            costs=_costs(read.events),
            bills=bills(read.events) if _is_live(read.events) else (),
            cassette=getattr(read.events[-1].body, "cassette", "") if read.events else "",
            facts=None if self._ingest is None else _facts(self._ingest, read),
        )


def _injections(data: bytes) -> list[bytes]:
    """Every injection that is named, as JSON. Whoever escapes a key's letters does not hide it."""
    if b"\\" in data and _ESCAPED.search(data):
        data = b"\n".join(map(_plain, data.split(b"\n")))
    found, at = [], data.find(_INJECTION)  # bytes are found faster than a pattern is
    while at >= 0:
        named = _NAMED.match(data, at + len(_INJECTION))
        if named is not None:
            found.append(named[1])
        at = data.find(_INJECTION, at + len(_INJECTION) if named is None else named.end())
    return found


def _plain(line: bytes) -> bytes:
    try:
        return json.dumps(json.loads(line)).encode()
    except (ValueError, RecursionError):
        return line  # an unreadable line, which is told elsewhere


def _odd(events: Sequence[TraceEvent]) -> str:
    """What makes no sense: lines that do not count, time that goes back, another trial's lines."""
    if [event.seq for event in events] != list(range(1, len(events) + 1)):
        return "its lines do not count from 1"
    times = [event.t_us for event in events]
    if times != sorted(times):
        return "its time goes back"
    return "" if len({event.trial_id for event in events}) < 2 else "it has lines of another trial"


def _is_live(events: Sequence[TraceEvent]) -> bool:
    return bool(events) and getattr(events[0].body, "origin", "") == Origin.LIVE


def _costs(events: Sequence[TraceEvent]) -> tuple[tuple[Cost, int], ...]:
    """What attempts cost, each price once, and how many did."""
    found, of = Counter[Cost](), ("", "")
    for event in events:
        body = event.body
        if body.type == "attempt_started":
            model = body.channel == Channel.MODEL
            of = str(body.channel), body.target if model else ""
        elif body.type == "attempt_ended":
            found[*of, body.cost_microusd] += 1
    return tuple(found.items())


def _facts(ingest: Ingest, read: Reading) -> Facts | None:
    """None where a stranger's file makes our code fail: level 3 tries again, and says why."""
    try:
        return ingest.of(read)
    except Exception:  # noqa: BLE001
        return None


def lay(files: Files, folder: Path, names: set[str]) -> None:
    """Have copies of these traces in a folder, as far as the bundle has them and it has not."""
    for name in sorted(names & set(files.names)):
        if seal.TRACE.fullmatch(name) and not (folder / name).exists():
            with suppress(BadInputError):  # cannot be unpacked: known since it was to be read
                _put(folder / name, files.read(name))


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def file_of(folder: Path, name: str) -> TrialFile:
    """A trace of a bundle as one of the experiment in `folder`; `name` matches `seal.TRACE`."""
    path = folder / name
    group, round_, arm = path.parts[-3:]
    return TrialFile(path, group, int(round_[1:]), arm.removesuffix(".jsonl"))


def chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The names, some at a time."""
    return (names[n : n + CHUNK] for n in range(0, len(names), CHUNK))
