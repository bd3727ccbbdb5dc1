"""A trial's last line against all lines before it: what it claims must follow from them.

Rederived are counts of steps, attempts, reads and effects, money, tokens, waiting, recoveries and
degraded steps (`lab.recovered`), how the trial ended, and whether an escalation's packet was true.
Taken from the last line as it stands are the checker's verdict (`goal_met`, `official`,
`state_digest`), and what depends on the sealed task alone (`partial`, `in_time`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hfr_bench.lab.judge import judge_effects, packet_is_true
from hfr_bench.lab.recovered import recovered
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.prereg import HumanPrice
from hfr_bench.model.terms import Action, CheckLevel, ClockKind, End
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    Decided,
    TraceEvent,
    TrialStarted,
    VerifyAnswered,
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
        "step_ended",
        "verified",
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
    if first is None or first.type != "trial_started":
        return (f"{trial.trial_id}: does not start and end as a trial does",)
    if last is None or last.type != "trial_ended":
        return (f"{trial.trial_id}: does not start and end as a trial does",)
    virtual = first.clock == ClockKind.VIRTUAL
    claimed, found = last.result, list(_misplaced(first, last.result, trial))
    if claimed.outcome is not None:
        read = _sorted(events)
        found += _compared(claimed, _sums(read, human) | _decisions(read, claimed))
        found += _compared(claimed.outcome, _judged(events, read, first))
        found += _ended(events, read, claimed.outcome)
        found += recovered(events, read.decided, claimed, virtual=virtual)
    ended_us = events[-1].t_us - (first.cohort.start_us if first.cohort else 0)
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
    place = first.cohort.position if first.cohort else 0
    if place != trial.position:
        yield f"starts at place {place} of its cohort, planned {trial.position}"
    if first.round != claimed.round:
        yield f"starts in round {first.round}, ends in round {claimed.round}"


def _compared(claimed: TrialResult | Outcome, made: Mapping[str, Any]) -> Iterator[str]:
    for name, value in made.items():
        if (said := getattr(claimed, name)) != value:
            yield f"{name} is {said}, the trace gives {value}"


class _Sorted(NamedTuple):
    """Attempts that ended (step, what was sent, what was seen), decisions by step, packets.

    `reviews`: verdicts that a person gave.
    """

    pairs: list[tuple[int, AttemptStarted, AttemptEnded]]
    decided: list[tuple[int, Decided]]
    packets: list[EscalationPacket]
    reviews: list[VerifyAnswered]


def _sorted(events: Iterable[TraceEvent]) -> _Sorted:
    """One pass. Bodies are told apart by `type`: they may be the like of records."""
    read = _Sorted([], [], [], [])
    start: tuple[int, AttemptStarted] | None = None
    for event in events:
        body: Any = event.body
        kind = body.type
        if kind == "decided":
            read.decided.append((event.step, body))
        elif kind == "attempt_started":
            start = (event.step, body)
        elif kind == "attempt_ended":
            if start is not None:
                read.pairs.append((*start, body))
            start = None
        elif kind == "escalated":
            read.packets.append(body.packet)
        elif kind == "verified" and body.level == CheckLevel.AUTHORITY:
            read.reviews.append(body)
    return read


def _sums(read: _Sorted, human: HumanPrice) -> dict[str, Any]:
    """What adds up over all attempts, with the people who were called."""
    own = sum(sent.purpose == "agent" for _, sent, _ in read.pairs)
    called = len(read.packets) + len(read.reviews)
    costs = [seen.cost_microusd for _, _, seen in read.pairs]
    known = [cost for cost in costs if cost is not None]
    people = called * round(human.cost_usd * 1_000_000)
    return {
        "attempts": own,
        "reads": len(read.pairs) - own,
        "cost_microusd": sum(known) + people if len(known) == len(costs) else None,
        "tokens_in": sum(seen.tokens_in for _, _, seen in read.pairs),
        "tokens_out": sum(seen.tokens_out for _, _, seen in read.pairs),
        "injected_wait_us": sum(seen.latency_us for _, _, seen in read.pairs if not seen.answered),
        "human_us": called * round(human.delay_s * 1_000_000),
    }


def _decisions(read: _Sorted, claimed: TrialResult) -> dict[str, Any]:
    """Steps (each begins with a decision), and the waiting that was decided.

    A strategy whose defect ended the trial may have left a step without a decision, or a decision
    that was not waited for; the end of the trial's time cuts the last wait short.
    """
    steps = len({step for step, _ in read.decided if step})
    delays = [body.delay_us for _, body in read.decided]
    total = sum(delays)
    if claimed.outcome is not None and claimed.outcome.end is End.FAILED:
        steps += claimed.steps == steps + 1
        total -= delays[-1] if delays and claimed.backoff_us == total - delays[-1] else 0
    if claimed.outcome is not None and claimed.outcome.end is End.LIMIT and delays:
        total = max(total - delays[-1], min(total, claimed.backoff_us))
    return {"steps": steps, "backoff_us": total}


def _judged(events: Sequence[TraceEvent], read: _Sorted, first: TrialStarted) -> dict[str, Any]:
    """Effects against the task's expected ones, and writes whose outcome was unknown."""
    judged = judge_effects(events, first.expected)._asdict()
    del judged["partial"]  # atomic groups are not in the trace
    ambiguous = {
        step
        for step, sent, seen in read.pairs
        if seen.exception and seen.sent and sent.purpose == "agent" and sent.level.writes
    }
    return judged | {"ambiguous_writes": len(ambiguous)}


def _ended(events: Sequence[TraceEvent], read: _Sorted, claimed: Outcome) -> Iterator[str]:
    """Accepted only by a decision to accept at the end; escalated only with a packet."""
    last = read.decided[-1][1] if read.decided else None
    accepted = last is not None and (last.on, last.action) == ("Finishing", Action.ACCEPT)
    truth = packet_is_true(events, read.packets[-1]) if read.packets else None
    yield from _compared(claimed, {"accepted": accepted, "packet_true": truth})
    if claimed.accepted is not (claimed.end is End.ACCEPTED):
        yield f"accepted is {claimed.accepted}, but it ended as {claimed.end}"
    if bool(read.packets) is not (claimed.end is End.ESCALATED):
        yield f"it ended as {claimed.end}, with {len(read.packets)} escalation(s) in the trace"
