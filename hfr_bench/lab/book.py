"""The frozen schedules of an experiment: written once, read line by line."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import msgspec
from pydantic import ValidationError

from hfr_bench.errors import BadInputError
from hfr_bench.lab import decode
from hfr_bench.model.schedule import FaultSchedule

_HEAD = '{"v":1,"schedule_id":"'
_BLOCK = 1 << 20
"""Bytes read at a time: a line may have many thousands, and would be put together of pieces."""


class Onset(msgspec.Struct, gc=False):
    """Where an event begins, and what it is; the fields are those of `FaultEvent`."""

    kind: str
    point: str
    occurrence: int
    attempt: int = 1
    effect_lands: bool | None = None


class Outline(msgspec.Struct, gc=False):
    """A schedule in short: where its events begin."""

    events: tuple[Onset, ...]


Outlines = Callable[[str], FaultSchedule | Outline]
"""A schedule in short by its id; or the whole of it, where it is not known in short."""

_outline = msgspec.json.Decoder(Outline).decode


class ScheduleBook:
    """Schedules by id. A line is parsed when it is asked for; a run touches few at a time."""

    def __init__(self, lines: Iterable[str] = (), where: str = "schedules") -> None:
        self._lines: dict[str, str] = {}
        for n, line in enumerate(lines, 1):
            end = line.find('"', len(_HEAD))
            if not line.startswith(_HEAD) or end < 0:
                raise BadInputError(f"{where}: line {n} is not a schedule")
            self._lines[line[len(_HEAD) : end]] = line
        self.schedule = lru_cache(maxsize=64)(self._schedule)

    def _schedule(self, schedule_id: str) -> FaultSchedule:
        """Raises BadInputError for an id that was never frozen, and for a damaged line."""
        if schedule_id not in self._lines:
            raise BadInputError(f"schedule {schedule_id!r} is not among the frozen ones")
        line = self._lines[schedule_id]
        try:
            return decode.read(FaultSchedule, line) or FaultSchedule.loads(line)
        except ValidationError as error:
            raise BadInputError(f"schedule {schedule_id!r} cannot be read: {error}") from error

    def like(self, schedule_id: str) -> FaultSchedule:
        """The like of a schedule: its fields, and no record. For whoever reads very many.

        Raises BadInputError as `schedule` does.
        """
        found = decode.like(FaultSchedule, self._lines.get(schedule_id, ""))
        return self._schedule(schedule_id) if found is None else found

    def outline(self, schedule_id: str) -> FaultSchedule | Outline:
        """A schedule in short, its other fields passed over: for whoever counts onsets of many.

        Raises BadInputError as `schedule` does, but for damage in what is passed over; the digest
        tells of any.
        """
        try:
            return _outline(self._lines[schedule_id])
        except (KeyError, msgspec.MsgspecError, RecursionError):
            return self._schedule(schedule_id)

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def digest(self) -> str:
        """Over all lines in the order of their ids: SHA-256 of their canonical JSON (RFC 8785).

        A string is canonical as msgspec writes it. Line by line: there may be 100 MB of them.
        """
        whole, before, line = hashlib.sha256(b"["), b"", bytearray()
        encode_into = msgspec.json.Encoder().encode_into
        for key in sorted(self._lines):
            whole.update(before)
            encode_into(self._lines[key], line)  # one buffer for all
            whole.update(line)
            before = b","
        whole.update(b"]")
        return whole.hexdigest()


def read_book(folder: Path) -> ScheduleBook:
    """All schedules/*.jsonl. Raises BadInputError if there are none."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise BadInputError(f"{folder}: no schedules; run `hfr-bench freeze` first")
    return ScheduleBook(_lines(files), str(folder))


def _lines(files: Iterable[Path]) -> Iterator[str]:
    for path in files:
        with path.open("rb", buffering=_BLOCK) as file:
            yield from (line.decode() for raw in file if (line := raw.removesuffix(b"\n")))
