"""The proxy's log: truth and what went out, a trace that the delivery audit reads (JSONL).

The lines of one call stand together, written once it is over: what came in, what the server did,
what became of the request, what the client was sent. So a call that is under way when a proxy is
killed is not in its log.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import IO

from hfr_bench.model.trace import AttemptStarted, Body, TraceEvent
from hfr_bench.ports.clock import Clock


@dataclass(slots=True)
class Block:
    """The lines of one call. `number`: calls are numbered as they come in, from 1."""

    number: int
    attempt: int
    lines: list[tuple[int, Body]] = field(default_factory=list)


@dataclass(slots=True)
class Record:
    """Writes a log. `file` None: nothing is written. `events`: the lines about tools so far.

    Only one thread uses it.
    """

    trial_id: str
    clock: Clock
    file: IO[str] | None = None
    events: list[TraceEvent] = field(default_factory=list)
    calls: int = 0
    _seq: int = 0
    _prev: str = ""

    def block(self, started: AttemptStarted, attempt: int) -> Block:
        """A call came in."""
        self.calls += 1
        made = Block(self.calls, attempt)
        self.add(made, started)
        return made

    def add(self, block: Block, body: Body) -> None:
        block.lines.append((self.clock.now_us(), body))

    def close(self, block: Block) -> None:
        """The call is over: its lines are written."""
        self._write(block.lines, block.number, block.attempt, kept=True)

    def outside(self, body: Body, *, kept: bool = False) -> None:
        """A line outside any call. `kept`: the audit needs it."""
        self._write([(self.clock.now_us(), body)], 0, 0, kept=kept)

    def _write(
        self, lines: Iterable[tuple[int, Body]], step: int, attempt: int, *, kept: bool
    ) -> None:
        written = []
        for t_us, body in lines:
            self._seq += 1
            event = TraceEvent(
                trial_id=self.trial_id,
                seq=self._seq,
                t_us=t_us,
                step=step,
                attempt=attempt,
                prev=self._prev,
                body=body,
            )
            line = event.dumps()
            self._prev = hashlib.sha256(line.encode()).hexdigest()
            written.append(line + "\n")
            if kept:
                self.events.append(event)
        if self.file is not None:
            self.file.write("".join(written))
            self.file.flush()
