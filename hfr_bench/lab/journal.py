"""One trial, one file, one writer: append-only JSON lines, each with the hash of the one before.

A trial is written to `<arm>.jsonl.part` and renamed when its last line is safe, so that a file
without `.part` is whole. What an interrupted run left is archived beside it, never overwritten.

Two durabilities. `process`: nothing written is lost when a process dies (that is the kernel's
gift), and what a paid-for trial rests on (its start, each delivered fault, each ledger move, its
end) is on the disk before the trial goes on. `power`: so is every other line, and the file's name.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.trace import (
    Body,
    FaultInjected,
    LedgerMoved,
    TraceEvent,
    TrialEnded,
    TrialStarted,
    UpstreamHit,
)
from hfr_bench.ports.clock import Clock

Durability = Literal["process", "power"]


class JournalError(InfrastructureError):
    """A trace cannot be written (the disk is full, say): no trial can run, so none is void."""


class TrialJournal:
    """Writes the trace of one trial; also the `Sink` of its recorders.

    Raises JournalError, from construction and from every write.
    """

    def __init__(
        self, path: Path, trial_id: str, clock: Clock, durability: Durability = "process"
    ) -> None:
        self.path = path
        self.events: list[TraceEvent] = []
        self._trial_id = trial_id
        self._clock = clock
        self._prev = ""
        self._start_ns = time.monotonic_ns()
        self._part = path.with_name(path.name + ".part")
        self._power = durability == "power"
        with self._told():
            path.parent.mkdir(parents=True, exist_ok=True)
            archive(self._part, "interrupted")
            archive(path, "damaged")
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL
            self._fd = os.open(self._part, flags, 0o644)

    def write(self, body: Body, *, step: int = 0, attempt: int = 0) -> None:
        event = TraceEvent(
            trial_id=self._trial_id,
            seq=len(self.events) + 1,
            t_us=self._clock.now_us(),
            wall_us=(time.monotonic_ns() - self._start_ns) // 1000,
            step=step,
            attempt=attempt,
            prev=self._prev,
            body=body,
        )
        line = event.dumps().encode()
        with self._told():
            _write_all(self._fd, line + b"\n")
            if self._power or _must_last(body):
                os.fdatasync(self._fd)
        self._prev = hashlib.sha256(line).hexdigest()
        self.events.append(event)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        os.close(self._fd)
        if kind is None:
            with self._told():
                self._part.rename(self.path)
                if self._power:
                    _sync_folder(self.path.parent)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """An error of the file system, told with the file and what to do."""
        try:
            yield
        except OSError as error:
            raise JournalError(
                f"{self._part}: the trace cannot be written: {error.strerror or error}; free the "
                "disk or mend it, then run again: what was finished is kept"
            ) from error


def _must_last(body: Body) -> bool:
    """Whether the trial may go on only once this line is on the disk."""
    if isinstance(body, UpstreamHit):
        return body.injection_id is not None
    return isinstance(body, TrialStarted | FaultInjected | LedgerMoved | TrialEnded)


def _sync_folder(folder: Path) -> None:
    """Make a new name in the folder survive a power failure."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    """`os.write` may stop short (a full disk) without an error."""
    while data:
        data = data[os.write(fd, data) :]


def archive(path: Path, why: str) -> None:
    """Move what an earlier run left out of the way, keeping every one of them."""
    n = 1
    while path.exists():
        kept = path.with_name(f"{path.name.removesuffix('.part')}.{why}-{n}")
        if not kept.exists():
            path.rename(kept)
        n += 1
