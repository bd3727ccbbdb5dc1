"""What traces say of cohorts: whether each is one chain, and what its shared state did.

Nothing the run believed is read: the parts that a trial began with must be those that the traces
before it have handed on, and its clock must go on where theirs stopped.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hfr_bench.lab.cohorts import Commons, Key, Seat, seats_of
from hfr_bench.model.prereg import Cohorts, Preregistration
from hfr_bench.model.record import json_digest
from hfr_bench.model.report import CohortRow
from hfr_bench.model.terms import ClockKind
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import PlanRow, Trial


class Joint(NamedTuple):
    """One trial's share in its cohort, from its trace.

    `began`, `handed`: digests by part; `handed` None where the trace hands nothing on at all.
    `moves`: breakers that opened (until when) or closed (None), in order. `kept_back`: calls that
    an open breaker kept back; `refused`: retries that the tenant could not pay for.
    """

    position: int
    start_us: int
    end_us: int
    began: dict[str, str] = {}
    handed: dict[str, str] | None = None
    moves: tuple[tuple[str, int | None], ...] = ()
    kept_back: int = 0
    refused: int = 0


def joint(events: Sequence[TraceEvent]) -> Joint | None:
    """A trial's share in its cohort, from records or their like; None where it was alone."""
    first = events[0].body if events else None
    if first is None or first.type != "trial_started" or first.cohort is None:
        return None
    place, handed = first.cohort, None
    moves: list[tuple[str, int | None]] = []
    held = {"breaker": 0, "tenant_budget": 0}
    for event in events:
        body = event.body
        if body.type == "circuit_moved":
            moves.append((body.target, body.until_us if body.state == "open" else None))
        elif body.type == "withheld":
            held[body.why] += 1
        elif body.type == "carried":
            handed = _digests(body.shared)
    return Joint(
        place.position,
        place.start_us,
        events[-1].t_us,
        _digests(place.shared),
        handed,
        tuple(moves),
        held["breaker"],
        held["tenant_budget"],
    )


def _digests(parts: Mapping[str, Any]) -> dict[str, str]:
    return {part: json_digest(value) for part, value in parts.items()}


Played = tuple[PlanRow, Joint | None]
"""A planned trial, and its share as its trace has it."""


def broken_chains(prereg: Preregistration, played: Iterable[Played]) -> Iterator[str]:
    """Where cohorts are not one chain, in words; nothing where none are registered."""
    if prereg.cohorts is None:
        return
    for cohort in _cohorts(played):
        yield from _broken(prereg.cohorts, prereg.clock, cohort)


def _cohorts(played: Iterable[Played]) -> Iterable[list[Played]]:
    found: dict[str, list[Played]] = {}
    for row, share in played:
        found.setdefault(row.trial.cohort_id, []).append((row, share))
    return found.values()


def _broken(cohorts: Cohorts, clock: ClockKind, cohort: Sequence[Played]) -> Iterator[str]:
    commons: Commons[str] = Commons(cohorts.shares)
    every_us, end_us = round(cohorts.every_s * 1_000_000), 0
    for row, share in cohort:
        trial = row.trial
        if share is None or share.handed is None:
            yield f"{trial.trial_id}: says nothing of what it shares with its cohort"
            return
        due_us = max(end_us, (trial.position - 1) * every_us)
        late = share.start_us != due_us if clock is ClockKind.VIRTUAL else share.start_us < due_us
        if late:
            yield f"{trial.trial_id}: starts at {share.start_us} µs, its cohort is at {due_us}"
        yield from _began(trial, share.began, commons.of(trial.tenant))
        commons.take(trial.tenant, share.handed)
        end_us = share.end_us


def _began(trial: Trial, began: Mapping[str, str], left: Mapping[str, str]) -> Iterator[str]:
    """The parts that a trial began with, against those that were left for it."""
    for part in sorted({*began, *left}):
        if began.get(part) != left.get(part):
            yield f"{trial.trial_id}: begins with another {part} than those before it have left"


def cohort_rows(prereg: Preregistration, played: Sequence[Played]) -> tuple[CohortRow, ...]:
    """What the shared state did, cohort by cohort, in the order of the plan; controls left out.

    `played`: all analysed trials in plan order.
    """
    if prereg.cohorts is None:
        return ()
    known = seats_of(prereg, (row for row, _ in played))
    shares = "breaker" in prereg.cohorts.shares
    main = [one for one in played if one[0].control is None]
    return tuple(_row(cohort, known, shares=shares) for cohort in _cohorts(main))


def _row(cohort: Sequence[Played], known: Mapping[Key, Seat], *, shares: bool) -> CohortRow:
    trial = cohort[0][0].trial
    found = [share for _, share in cohort if share is not None]
    return CohortRow(
        arm=trial.arm,
        suite=trial.suite,
        cohort=known[trial.suite, trial.task_id].block,
        seed=trial.seed,
        profile=trial.profile,
        rate=trial.rate,
        trials=len(cohort),
        openings=sum(until is not None for one in found for _, until in one.moves),
        began_open=_began_open(found) if shares else 0,
        kept_back=sum(one.kept_back for one in found),
        refused=sum(one.refused for one in found),
        lasted_us=max((one.end_us for one in found), default=0),
    )


def _began_open(shares: Iterable[Joint]) -> int:
    """Trials that began while a breaker was open that an earlier one had opened."""
    until: dict[str, int] = {}
    count = 0
    for one in shares:
        count += any(end_us > one.start_us for end_us in until.values())
        for scope, end_us in one.moves:
            if end_us is None:
                until.pop(scope, None)
            else:
                until[scope] = end_us
    return count
