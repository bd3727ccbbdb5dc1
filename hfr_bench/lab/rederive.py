"""A trial's last line against all lines before it: what it claims must follow from them.

Rederived are counts of steps, attempts, reads and effects, money, tokens, waiting, how the trial
ended, and whether an escalation's packet was true. Taken from the last line as it stands are the
checker's verdict (`goal_met`, `official`, `state_digest`), what depends on the sealed task alone
(`partial`, `in_time`), and `recoveries`, `recovery_us` and `degraded_steps`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hfr_bench.lab.judge import judge_effects, packet_is_true
from hfr_bench.model.prereg import HumanPrice
from hfr_bench.model.terms import Action, ClockKind, End
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    Decided,
    Escalated,
    TraceEvent,
    TrialEnded,
    TrialStarted,
)
from hfr_bench.model.trial import Outcome, Trial, TrialResult

REDERIVED = frozenset(
    {
        "trial_started",
        "attempt_started",
        "attempt_ended",
        "effect",
        "decided",
        "escalated",
        "trial_ended",
    }
)
"""The bodies that are read; a store may leave out all others."""


def disagreements(events: Sequence[TraceEvent], trial: Trial, human: HumanPrice) -> tuple[str, ...]:
    """What a graded trial's result says that its trace does not, in words; empty if nothing.

    Args:
        events: the trial's trace, in order; bodies outside REDERIVED are ignored.
        trial: as planned.
        human: what an escalation was registered to cost.
    """
    first, last = events[0].body if events else None, events[-1].body if events else None
    if not isinstance(first, TrialStarted) or not isinstance(last, TrialEnded):
        return (f"{trial.trial_id}: does not start and end as a trial does",)
    claimed, found = last.result, list(_misplaced(first, last.result, trial))
    if claimed.outcome is not None:
        made = _sums(events, human) | _decisions(events, claimed)
        found += _compared(claimed, made)
        found += _compared(claimed.outcome, _judged(events, first))
        found += _ended(events, claimed.outcome)
    virtual = first.clock == ClockKind.VIRTUAL
    ended_us = events[-1].t_us
    if claimed.latency_us != ended_us if virtual else claimed.latency_us > ended_us:
        found.append(f"latency_us is {claimed.latency_us}, the trace ends at {ended_us}")
    return tuple(f"{trial.trial_id}: {text}" for text in found)


def _misplaced(first: TrialStarted, claimed: TrialResult, trial: Trial) -> Iterator[str]:
    """First and last line must name the planned trial."""
    for name in (*trial.identity(), "prereg_digest", "schedule_digest", "injected"):
        planned = getattr(trial, name)
        if getattr(first, name) != planned:
            yield f"starts with {name} {getattr(first, name)}, planned {planned}"
        if getattr(claimed, name, planned) != planned:
            yield f"ends with {name} {getattr(claimed, name)}, planned {planned}"
    if first.round != claimed.round:
        yield f"starts in round {first.round}, ends in round {claimed.round}"


def _compared(claimed: TrialResult | Outcome, made: Mapping[str, Any]) -> Iterator[str]:
    for name, value in made.items():
        if (said := getattr(claimed, name)) != value:
            yield f"{name} is {said}, the trace gives {value}"


def _pairs(events: Iterable[TraceEvent]) -> Iterator[tuple[TraceEvent, AttemptStarted, Any]]:
    """Each attempt that ended: its first line, what was sent, and what was seen."""
    start: TraceEvent | None = None
    for event in events:
        if isinstance(event.body, AttemptStarted):
            start = event
        elif isinstance(event.body, AttemptEnded) and start is not None:
            assert isinstance(start.body, AttemptStarted)
            yield start, start.body, event.body
            start = None


def _sums(events: Sequence[TraceEvent], human: HumanPrice) -> dict[str, Any]:
    """What adds up over all attempts, with the people who were called."""
    pairs = list(_pairs(events))
    own = sum(sent.purpose == "agent" for _, sent, _ in pairs)
    called = sum(isinstance(event.body, Escalated) for event in events)
    costs = [seen.cost_microusd for _, _, seen in pairs]
    people = called * round(human.cost_usd * 1_000_000)
    return {
        "attempts": own,
        "reads": len(pairs) - own,
        "cost_microusd": None if None in costs else sum(costs) + people,
        "tokens_in": sum(seen.tokens_in for _, _, seen in pairs),
        "tokens_out": sum(seen.tokens_out for _, _, seen in pairs),
        "injected_wait_us": sum(seen.latency_us for _, _, seen in pairs if not seen.answered),
        "human_us": called * round(human.delay_s * 1_000_000),
    }


def _decisions(events: Sequence[TraceEvent], claimed: TrialResult) -> dict[str, Any]:
    """Steps (each begins with a decision), and the waiting that was decided.

    A strategy whose defect ended the trial may have left a step without a decision, or a decision
    that was not waited for; the end of the trial's time cuts the last wait short.
    """
    decided = [(event.step, event.body) for event in events if isinstance(event.body, Decided)]
    steps = len({step for step, _ in decided if step})
    delays = [body.delay_us for _, body in decided]
    total = sum(delays)
    if claimed.outcome is not None and claimed.outcome.end is End.FAILED:
        steps += claimed.steps == steps + 1
        total -= delays[-1] if delays and claimed.backoff_us == total - delays[-1] else 0
    if claimed.outcome is not None and claimed.outcome.end is End.LIMIT and delays:
        total = max(total - delays[-1], min(total, claimed.backoff_us))
    return {"steps": steps, "backoff_us": total}


def _judged(events: Sequence[TraceEvent], first: TrialStarted) -> dict[str, Any]:
    """Effects against the task's expected ones, and writes whose outcome was unknown."""
    judged = judge_effects(events, first.expected)._asdict()
    del judged["partial"]  # atomic groups are not in the trace
    ambiguous = {
        start.step
        for start, sent, seen in _pairs(events)
        if sent.purpose == "agent" and sent.level.writes and seen.exception and seen.sent
    }
    return judged | {"ambiguous_writes": len(ambiguous)}


def _ended(events: Sequence[TraceEvent], claimed: Outcome) -> Iterator[str]:
    """Accepted only by a decision to accept at the end; escalated only with a packet."""
    decided = [event.body for event in events if isinstance(event.body, Decided)]
    packets = [event.body.packet for event in events if isinstance(event.body, Escalated)]
    last = decided[-1] if decided else None
    accepted = last is not None and (last.on, last.action) == ("Finishing", Action.ACCEPT)
    truth = packet_is_true(events, packets[-1]) if packets else None
    yield from _compared(claimed, {"accepted": accepted, "packet_true": truth})
    if claimed.accepted is not (claimed.end is End.ACCEPTED):
        yield f"accepted is {claimed.accepted}, but it ended as {claimed.end}"
    if bool(packets) is not (claimed.end is End.ESCALATED):
        yield f"it ended as {claimed.end}, with {len(packets)} escalation(s) in the trace"
