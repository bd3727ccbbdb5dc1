"""What a trial's last line says of recoveries and degraded steps, against its trace (paper §6.6.4).

    the first attempt of a step that failed -> the step's end, or a person: a recovery
    a step that went down the ladder -> a degraded step

A recovery is exact on the virtual clock. On the wall's, the runtime read the clock between two
lines of the trace: it is held to the span that they leave. That a shortened conversation was
shorter is in no line, so steps that were only compressed are held to their number at most.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hfr_bench.model.terms import Action, End
from hfr_bench.model.trace import Decided, TraceEvent
from hfr_bench.model.trial import TrialResult

_TURNED = (Action.DEGRADE_MODEL, Action.DEGRADE_TOOL, Action.DEGRADE_SCOPE)


class _Spans(NamedTuple):
    """Recoveries, and what they took together, at least and at most."""

    recoveries: int = 0
    least_us: int = 0
    most_us: int = 0


def recovered(
    events: Sequence[TraceEvent],
    decided: Sequence[tuple[int, Decided]],
    claimed: TrialResult,
    *,
    virtual: bool,
) -> Iterator[str]:
    """What of it does not follow, in words.

    Args:
        events: a graded trial's trace, in order.
        decided: its decisions, with their steps.
        claimed: its last line.
        virtual: whether it was on the virtual clock.
    """
    made = _spans(events, virtual=virtual)
    if claimed.recoveries != made.recoveries:
        yield f"recoveries is {claimed.recoveries}, the trace gives {made.recoveries}"
    yield from _within("recovery_us", claimed.recovery_us, made.least_us, made.most_us)
    if claimed.outcome is not None:
        range_ = _degraded(decided, claimed.outcome.end)
        yield from _within("degraded_steps", claimed.outcome.degraded_steps, *range_)


def _within(name: str, said: int, least: int, most: int) -> Iterator[str]:
    if not least <= said <= most:
        told = f"{most}" if least == most else f"{least} to {most}"
        yield f"{name} is {said}, the trace gives {told}"


def _spans(events: Sequence[TraceEvent], *, virtual: bool) -> _Spans:
    """From the start of a step's first failed attempt to its end.

    A step that handed its failure back to the agent, or that a crash broke off, did not recover.
    A line is written just before its time is taken (an end's: just after), which shows on the wall.
    """
    failed: dict[int, tuple[int, int]] = {}  # step -> when it began, at the earliest, at the latest
    agents, made = False, _Spans()
    for place, event in enumerate(events):
        body: Any = event.body
        kind, step = body.type, event.step
        if kind == "attempt_started":
            agents = body.purpose == "agent"
        elif kind == "attempt_ended":
            if agents and not body.answered and step not in failed:
                early, late = _between(events, place, 0 if virtual else 1)
                failed[step] = early - body.latency_us, late - body.latency_us
        elif step in failed and (over := _over(events, place, virtual=virtual)) is not None:
            early, late = failed.pop(step)
            least_us = max(0, made.least_us + over[0] - late)
            made = _Spans(made.recoveries + 1, least_us, made.most_us + over[1] - early)
    return made


def _between(events: Sequence[TraceEvent], place: int, after: int) -> tuple[int, int]:
    """The times of a line and of the one so many after it."""
    return events[place].t_us, events[min(place + after, len(events) - 1)].t_us


def _over(events: Sequence[TraceEvent], place: int, *, virtual: bool) -> tuple[int, int] | None:
    """When a step recovered, at the earliest and at the latest, if this line says that it did."""
    body: Any = events[place].body
    if body.type == "step_ended" and body.action is not Action.REPLAN:
        return _between(events, place if virtual else place - 1, 0 if virtual else 1)
    if body.type == "escalated":
        return _between(events, place, 0 if virtual else 1)
    return None


def _degraded(decided: Sequence[tuple[int, Decided]], end: End) -> tuple[int, int]:
    """How many steps went down the ladder, at least and at most.

    The last decision of a trial that failed may be one that could not be carried out.
    """
    carried = decided[:-1] if end is End.FAILED else decided
    turned = {step for step, body in carried if step and body.action in _TURNED}
    doubtful = {step for step, body in decided[len(carried) :] if body.action in _TURNED}
    doubtful |= {step for step, body in decided if body.action is Action.COMPRESS}
    return len(turned), len(turned | doubtful)
