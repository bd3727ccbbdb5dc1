"""What a whole trial's trace says of escalations, checks, waste and the way to a safe state.

Held against the plan: which attempts met which fault is the audit's finding (`faults.audit`), never
the strategy's belief. One pass over the trace. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence

from hfr_bench.faults.audit import Meeting
from hfr_bench.model.measures import CheckSums, Measures
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.terms import CheckLevel, LedgerState, SafeOutcome
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import Outcome, TrialResult

Answer = tuple[int, int]
"""An answer's place: step and attempt."""

_SETTLED = frozenset(LedgerState) - {LedgerState.PREPARED, LedgerState.UNKNOWN}


def measures(
    events: Sequence[TraceEvent],
    meetings: Sequence[Meeting],
    result: TrialResult,
    kinds: Mapping[str, KindSpec],
) -> Measures:
    """Measure a whole trial.

    Args:
        events: its trace, every line of it.
        meetings: the attempts that met an event, as the audit found them; lines count from 0.
        result: its last line's; a void has no measures.
        kinds: fault kinds by name, for which of them are silent.
    """
    if result.outcome is None:
        return Measures()
    return Measures(
        met=bool(meetings),
        person=any(one.event.safe_outcome is SafeOutcome.ESCALATE for one in meetings),
        safe_us=_safe_us(events, meetings, result.outcome),
        unanswered_microusd=_unanswered(events),
        checks=_checks(events, _altered(events, meetings, kinds)),
    )


def safe(outcome: Outcome) -> bool:
    """Whether a trial ended in a safe state: done or handed over, without harm, packet true."""
    ended = outcome.succeeded or outcome.escalated
    return ended and outcome.harm == 0 and outcome.packet_true is not False


def _safe_us(
    events: Sequence[TraceEvent], meetings: Sequence[Meeting], outcome: Outcome
) -> int | None:
    """Time from the first fault met to safety.

    A handed-over trial is safe at its end. A finished one is from the moment when the last step
    that met a fault is over, or the last write in doubt is settled, whichever comes later.
    """
    if not meetings or not safe(outcome):
        return None
    first = events[min(one.line for one in meetings)]
    if outcome.escalated:
        return events[-1].t_us - first.t_us
    hit = {events[one.line].step for one in meetings}
    doubted: set[str] = set()
    until = first.t_us
    for event in events:
        body = event.body
        if body.type == "step_ended" and event.step in hit:
            until = max(until, event.t_us)
        elif body.type == "ledger_moved":
            if body.after is LedgerState.UNKNOWN:
                doubted.add(body.key)
            elif body.key in doubted and body.after in _SETTLED:
                until = max(until, event.t_us)
    return until - first.t_us


def _unanswered(events: Iterable[TraceEvent]) -> int | None:
    """What attempts that got no answer cost, of the agent's and for the strategy."""
    total = 0
    for event in events:
        body = event.body
        if body.type == "attempt_ended" and not body.answered:
            if body.cost_microusd is None:
                return None
            total += body.cost_microusd
    return total


def _altered(
    events: Sequence[TraceEvent], meetings: Iterable[Meeting], kinds: Mapping[str, KindSpec]
) -> set[Answer]:
    """The answers to the agent's attempts that a silent fault altered."""
    found = set()
    for one in meetings:
        event = events[one.line]
        body = event.body
        mine = body.type == "attempt_started" and body.purpose == "agent"
        if mine and kinds[one.event.kind].silent:
            found.add((event.step, event.attempt))
    return found


def _checks(events: Iterable[TraceEvent], altered: set[Answer]) -> tuple[CheckSums, ...]:
    """Verdicts on answers, by level; those on calls not made yet are left out."""
    sums: dict[CheckLevel, CheckSums] = {}
    for event in events:
        body = event.body
        if body.type != "verified" or not event.attempt:
            continue
        at = sums.get(body.level) or CheckSums(body.level)
        wrong = (event.step, event.attempt) in altered
        if body.undecided:
            at = at._replace(undecided=at.undecided + 1)
        elif wrong:
            at = at._replace(altered=at.altered + 1, let=at.let + body.passed)
        else:
            at = at._replace(intact=at.intact + 1, barred=at.barred + (not body.passed))
        sums[body.level] = at
    return tuple(sums[level] for level in CheckLevel if level in sums)
