"""Live forks in numbers: what each arm was played before its first fault, and which trials parted.

A trial that asked for what the calm trial was not asked has *parted*: from there on the live model
answered, and its fork is not in the state of the others'. It stays in every estimate of its arm, is
left out of the counts by first fault, and is counted here.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.report import ControlRow, PrefixRow
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import Trial

_SHOWN = 3


class Prefixed(NamedTuple):
    """What a trial was played. `asked`: model requests that reached the gateway.

    `missed`: requests at which it parted from its prefix (one at most). `cost_microusd`: charged
    for what was played, and not paid again; None where the price was not known. `digest`: of the
    cassette that was played, "" where none was; `recorded`: of the trial's own.
    """

    asked: int = 0
    played: int = 0
    missed: int = 0
    cost_microusd: int | None = 0
    digest: str = ""
    recorded: str = ""


def prefixed(events: Sequence[TraceEvent]) -> Prefixed:
    """That of one trace."""
    digest, recorded, asked, missed, cost = "", "", 0, 0, 0
    known, played = True, 0
    at, marked = (0, 0), False
    for event in events:
        body = event.body
        if body.type == "trial_started":
            digest = body.prefix_digest
        elif body.type == "upstream_hit":
            asked += 1
            missed += body.prefix == "missed"
            if body.prefix == "played":
                played += 1
                at, marked = (event.step, event.attempt), True
        elif body.type == "attempt_ended" and marked and at == (event.step, event.attempt):
            marked = False
            known = known and body.cost_microusd is not None
            cost += body.cost_microusd or 0
        elif body.type == "trial_ended":
            recorded = body.cassette
    return Prefixed(asked, played, missed, cost if known else None, digest, recorded)


def unpaid(events: Sequence[TraceEvent]) -> int:
    """What a trial was charged for what it was played, micro-dollars; unknown prices: nothing."""
    return prefixed(events).cost_microusd or 0


class Went(NamedTuple):
    """A trial as planned, and what it was played.

    `calm`: all others are played what it heard. `replayed`: from its own recording, whole, which
    holds what it was played at first.
    """

    trial: Trial
    prefixed: Prefixed
    calm: bool
    replayed: bool = False

    @property
    def follows(self) -> bool:
        """Whether it is to be played a prefix."""
        return self.trial.injected and not self.calm


def prefix_rows(prereg: Preregistration, went: Iterable[Went]) -> tuple[PrefixRow, ...]:
    """A row an arm, without the calm trials."""
    found: dict[str, list[Went]] = {}
    for one in went:
        if one.follows:
            found.setdefault(one.trial.arm, []).append(one)
    rows = []
    for arm in (arm.name for arm in prereg.arms if arm.name in found):
        own = [one.prefixed for one in found[arm]]
        costs = [one.cost_microusd for one in own]
        known = [cost for cost in costs if cost is not None]
        rows.append(
            PrefixRow(
                arm=arm,
                trials=len(own),
                parted=sum(one.missed > 0 for one in own),
                asked=sum(one.asked for one in own),
                played=sum(one.played for one in own),
                cost_microusd=sum(known) if len(known) == len(costs) else None,
            )
        )
    return tuple(rows)


Place = tuple[str, str, int]


def _place(one: Went) -> Place:
    return one.trial.suite, one.trial.task_id, one.trial.seed


def prefix_controls(went: Sequence[Went]) -> tuple[ControlRow, ...]:
    """Whether all trials of a task and seed were played one recording, and whether any parted."""
    played = [one for one in went if one.follows]
    # A calm trial that was run again, for an arm beside it was void, is itself played its first.
    calm = {_place(one): one.prefixed.digest or one.prefixed.recorded for one in went if one.calm}
    by_task: dict[Place, set[str]] = {}
    for one in played:
        if not one.replayed:
            by_task.setdefault(_place(one), set()).add(one.prefixed.digest)
    good = sum(found == {calm.get(place)} for place, found in by_task.items())
    parted = [one.trial for one in played if one.prefixed.missed]
    detail = f"{len(parted)} of {len(played)} trials parted from it before their first fault"
    if parted:
        shown = (
            f"{one.task_id} seed {one.seed} {one.profile} {one.arm}" for one in parted[:_SHOWN]
        )
        detail += f", and were answered live from there; first: {', '.join(shown)}"
    return (
        ControlRow(
            name="all trials of a task and seed are played what its calm trial recorded",
            passed=good == len(by_task) if by_task else None,
            detail=f"{good} of {len(by_task)} tasks and seeds",
            decides=True,
        ),
        ControlRow(
            name="no trial parts from its recorded prefix",
            passed=not parted if played else None,
            detail=detail,
        ),
    )
