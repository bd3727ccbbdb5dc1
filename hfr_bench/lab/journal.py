"""One trial, one file, one writer: append-only JSON lines, each with the hash of the one before.

A trial is written to `<arm>.jsonl.part` and renamed when its last line is safe, so that a file
without `.part` is whole. What an interrupted run left is archived beside it, never overwritten.
"""

import hashlib
import os
import time
from pathlib import Path
from typing import Self

from hfr_bench.model.trace import Body, TraceEvent
from hfr_bench.ports.clock import Clock

_DURABLE = ("trial_started", "trial_ended")


class TrialJournal:
    """Writes the trace of one trial; also the `Sink` of its recorders."""

    def __init__(self, path: Path, trial_id: str, clock: Clock) -> None:
        self.path = path
        self.events: list[TraceEvent] = []
        self._trial_id = trial_id
        self._clock = clock
        self._prev = ""
        self._start_ns = time.monotonic_ns()
        self._part = path.with_name(path.name + ".part")
        path.parent.mkdir(parents=True, exist_ok=True)
        _archive(self._part, "interrupted")
        _archive(path, "damaged")
        self._fd = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o644)

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
        _write_all(self._fd, line + b"\n")
        if body.type in _DURABLE:
            os.fdatasync(self._fd)
        self._prev = hashlib.sha256(line).hexdigest()
        self.events.append(event)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        os.close(self._fd)
        if kind is None:
            self._part.rename(self.path)


def _write_all(fd: int, data: bytes) -> None:
    """`os.write` may stop short (a full disk) without an error."""
    while data:
        data = data[os.write(fd, data) :]


def _archive(path: Path, why: str) -> None:
    """Move what an earlier run left out of the way, keeping every one of them."""
    n = 1
    while path.exists():
        kept = path.with_name(f"{path.name.removesuffix('.part')}.{why}-{n}")
        if not kept.exists():
            path.rename(kept)
        n += 1
