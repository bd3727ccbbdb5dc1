"""A trial's trace as observation points walk it: from an attempt that met a fault onwards."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hfr_bench.faults.audit import Meeting
from hfr_bench.model.terms import Action, SideEffect
from hfr_bench.model.trace import AttemptEnded, AttemptStarted, TraceEvent

RISKY = (SideEffect.QUERYABLE, SideEffect.IRREVERSIBLE)
"""Writes that a repeat does once more, or that are refused the second time."""
WRITES = (SideEffect.IDEMPOTENT, *RISKY)

AGENT = "agent"


class Trail:
    """One trial's trace. Made only where an event was met."""

    def __init__(self, events: Sequence[TraceEvent]) -> None:
        self.events = events
        first: Any = events[0].body if events else None
        started = first is not None and first.type == "trial_started"
        self.expected: Mapping[str, int] = first.expected if started else {}
        self._steps: dict[int, list[int]] = {}
        for line, event in enumerate(events):
            self._steps.setdefault(event.step, []).append(line)

    def after(self, met: Meeting) -> Iterator[TraceEvent]:
        """All lines after the met attempt."""
        return (self.events[n] for n in range(met.last + 1, len(self.events)))

    def step_after(self, met: Meeting) -> Iterator[TraceEvent]:
        """Those of its step."""
        lines = self._steps[self.events[met.line].step]
        return (self.events[n] for n in lines if n > met.last)

    def sent(self, met: Meeting) -> AttemptStarted:
        """What went out when the event was met."""
        body: Any = self.events[met.line].body
        sent: AttemptStarted = body
        return sent

    def seen(self, met: Meeting) -> AttemptEnded:
        """What came back of it."""
        body: Any = self.events[met.last].body
        seen: AttemptEnded = body
        return seen

    def ended_us(self, met: Meeting) -> int:
        """When the met attempt was over."""
        return self.events[met.last].t_us

    def again(self, met: Meeting) -> tuple[AttemptStarted, int] | None:
        """The step's next attempt for the same purpose, wherever it goes, and when."""
        purpose = self.sent(met).purpose
        for event in self.step_after(met):
            if (out := going(event, purpose)) is not None:
                return out, event.t_us
        return None

    def at_the_same(self, met: Meeting) -> int | None:
        """When the step's next attempt goes out, if it goes to the same target."""
        again = self.again(met)
        same = again is not None and again[0].target == self.sent(met).target
        return again[1] if again is not None and same else None

    def ending(self, met: Meeting) -> Action | None:
        """How the step, or in it the trial, ended; None for a trace that breaks off."""
        last = None
        for event in self.step_after(met):
            if event.body.type == "step_ended":
                return event.body.action
            if event.body.type == "decided":
                last = event.body.action
        return last

    def write(self, met: Meeting) -> AttemptStarted | None:
        """The write that the met attempt is, or that it asks about; None where there is none.

        A read that is made before the write goes out asks about nothing yet.
        """
        sent = self.sent(met)
        if sent.purpose == AGENT:
            return sent if sent.level in WRITES else None
        for line in self._steps[self.events[met.line].step]:
            out = going(self.events[line]) if line < met.line else None
            if out is not None and out.level in WRITES:
                return out
        return None


def going(event: TraceEvent, purpose: str = AGENT) -> AttemptStarted | None:
    """What goes out at a line, if it is an attempt for that purpose."""
    body = event.body
    return body if body.type == "attempt_started" and body.purpose == purpose else None


def same_request(one: AttemptStarted, other: AttemptStarted) -> bool:
    """Whether two attempts send the same to the same target at the same point."""
    return (one.point, one.target, one.request_digest) == (
        other.point,
        other.target,
        other.request_digest,
    )
