"""The design `fork` in numbers: whether all arms came to a fork in the same state, and then what.

The state is told by what the agent asked for and was answered, and by what was done to the world,
up to the attempt that met the first fault, with the request of that attempt. Times, attempts at
reads for the strategy, and keys are the arm's own and no part of it. Pure.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hfr_bench.faults.audit import Meeting
from hfr_bench.model.prereg import FORK
from hfr_bench.model.report import ControlRow, ForkRow
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import Trial, TrialResult

AGENT = "agent"
_SHOWN = 3


class Came(NamedTuple):
    """A trial of a fork: as planned, its state at the fork ("" where it never came), its end.

    `parted`: from the recorded prefix of a live fork, so that it is in no state of the others.
    """

    trial: Trial
    state: str
    result: TrialResult
    parted: bool = False


def state_at(events: Sequence[TraceEvent], meetings: Iterable[Meeting], first: str) -> str:
    """SHA-256 of the state in which a trial met the event `first`; "" if it never did."""
    at = min((met.line for met in meetings if met.event.injection_id == first), default=None)
    if at is None:
        return ""
    whole = hashlib.sha256()
    for event in events[: at + 1]:
        if told := tuple(_told(event)):
            whole.update("\0".join((*told, "\n")).encode())
    return whole.hexdigest()


def _told(event: TraceEvent) -> Iterator[str]:
    body = event.body
    if body.type == "attempt_started" and body.purpose == AGENT:
        yield from (body.type, body.point, str(body.occurrence), body.target, body.request_digest)
    elif body.type == "step_ended":
        yield from (body.type, body.point, str(body.occurrence), body.action, body.result_digest)
    elif body.type == "effect" and body.actor != "strategy":
        yield from (body.type, body.tool, body.actor, body.natural_key, *body.changed)


def fork_of(trial: Trial) -> str:
    """The fork that a trial is of, without its continuation; "" for those without a fault."""
    if not trial.profile.startswith(f"{FORK}/") or trial.rate == 0:
        return ""
    return trial.profile.rpartition("/")[0]


Place = tuple[str, str, int, str]


def _by_fork(came: Iterable[Came]) -> Mapping[Place, list[Came]]:
    found: dict[Place, list[Came]] = {}
    for one in came:
        if name := fork_of(one.trial):
            place = (one.trial.suite, one.trial.task_id, one.trial.seed, name)
            found.setdefault(place, []).append(one)
    return found


def forks(came: Sequence[Came], arms: Sequence[str]) -> tuple[ForkRow, ...]:
    """One row a fork and arm, over all continuations, in the order of the plan.

    Args:
        came: the analysed trials, controls left out.
        arms: in the registered order.
    """
    rows = []
    for (suite, task_id, seed, name), trials in _by_fork(came).items():
        same = len(_states(trials)) < 2
        for arm in arms:
            own = [one for one in trials if one.trial.arm == arm]
            if own:
                rows.append(_row(suite, task_id, seed, name, arm, own, same=same))
    return tuple(rows)


def _row(
    suite: str, task_id: str, seed: int, name: str, arm: str, ran: Sequence[Came], *, same: bool
) -> ForkRow:
    own = [one for one in ran if not one.parted]
    ends = [one.result.outcome for one in own if one.result.outcome is not None]
    costs = [one.result.cost_microusd for one in own]
    known = [cost for cost in costs if cost is not None]
    return ForkRow(
        suite=suite,
        task_id=task_id,
        seed=seed,
        fork=name,
        arm=arm,
        trials=len(ran),
        came=sum(one.state != "" for one in own),
        same_state=same,
        succeeded=sum(end.succeeded for end in ends),
        escalated=sum(end.escalated for end in ends),
        duplicates=sum(end.duplicates for end in ends),
        harm=sum(end.harm for end in ends),
        cost_microusd=sum(known) if len(known) == len(costs) else None,
        parted=len(ran) - len(own),
    )


def _states(trials: Iterable[Came]) -> set[str]:
    """In which states they came to their fork; those that parted before it are left out."""
    return {one.state for one in trials if not one.parted}


def came_alike(came: Sequence[Came], *, live: bool = False) -> ControlRow:
    """All arms and continuations of a fork must come to it in one and the same state.

    Where some parted from a recorded prefix, that is told of the others. `live`: then the world may
    have answered otherwise; such a fork is left out of the counts, and decides nothing.
    """
    places = _by_fork(came)
    states = {place: _states(trials) for place, trials in places.items()}
    apart = [place for place, found in states.items() if len(found) > 1]
    never = sum(found == {""} for found in states.values())
    detail = f"{len(places) - len(apart)} of {len(places)} forks"
    if never:
        detail += f"; {never} of them no arm came to"
    if apart:
        shown = ", ".join(f"{task} seed {seed} {name}" for _, task, seed, name in apart[:_SHOWN])
        detail += f"; diverged before the first fault: {shown}"
    return ControlRow(
        name="every arm comes to its fork in the same state",
        passed=not apart if places else None,
        detail=detail,
        decides=not live,
    )
