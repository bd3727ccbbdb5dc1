"""All arms meet one first fault in the same state; what comes after it is drawn several times.

The design `fork` (DESIGN §5) by re-execution: every trial of a fork goes the way of the trial
without faults up to the first one, since nothing is planned before it. All that is drawn for the
time after it waits until it was met (`FaultEvent.after`), wherever an arm is by then; so an arm
that reads the world on its own in the prefix meets nothing there either. A continuation is one
draw of what comes after, keyed by its number; all arms of a pair group share it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hfr_bench.faults.draw import uniform
from hfr_bench.faults.exhaustive import Injection, injections, sides
from hfr_bench.faults.generate import (
    Draw,
    event_at,
    fitting_kinds,
    generate,
    lasting,
    mix_for,
    step_events,
)
from hfr_bench.faults.ledgers import ledger_points
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.prereg import FORK, FaultPlan, ForkPlan
from hfr_bench.model.record import short_id
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec
from hfr_bench.model.task import OracleStep, TaskSpec

GENERATOR = "hfr-fork@1"
MODEL = "model:agent"


class Content(NamedTuple):
    """What is drawn from: matrix, kinds by name, and the occurrences covered at every point."""

    matrix: FaultMatrix
    kinds: Mapping[str, KindSpec]
    horizon: int


def candidates(
    task: TaskSpec, oracle: Sequence[OracleStep], made_of: Content, *, models: bool
) -> tuple[Injection, ...]:
    """Every first fault there could be: the oracle's steps x kinds of the matrix x lands or lost.

    `models`: the agent calls a model; it does so at least once for each of these steps. Raises
    ValueError for an unknown kind.
    """
    matrix, kinds, horizon = made_of
    found = list(injections(task, oracle, matrix, kinds, horizon))
    point = next((one for one in task.fault_points if one.point == MODEL), None)
    mix = mix_for(MODEL, matrix)
    if not models or point is None or mix is None:
        return tuple(found)
    steps = sum(step.actor == "agent" for step in oracle[:horizon])
    for occurrence in range(1, steps + 1):
        for _, kind in fitting_kinds(point, mix, kinds):
            found += [Injection(point, occurrence, kind, each) for each in sides(kind)]
    return tuple(found)


def chosen(
    task: TaskSpec, seed: int, found: Sequence[Injection], plan: ForkPlan
) -> tuple[Injection, ...]:
    """The registered number of first faults, drawn without regard to their order."""
    if plan.points is None:
        return tuple(found)
    key = (seed, task.suite, task.task_id)
    ranked = sorted(found, key=lambda one: uniform("fork", *key, named(one)))
    return tuple(ranked[: plan.points])


def named(fault: Injection) -> str:
    """A fork, as a reader of a trace names it."""
    return f"{FORK}/{fault.profile.partition('/')[2]}"


def calm(task: TaskSpec, seed: int, horizon: int) -> FaultSchedule:
    """The one without faults, whose way all others go up to their first."""
    return _schedule(task, seed, f"{FORK}/none", horizon)


def schedules(
    task: TaskSpec, seed: int, faults: Sequence[Injection], made_of: Content, plan: FaultPlan
) -> Iterator[FaultSchedule]:
    """One schedule without faults, and for each of `faults` one a continuation."""
    assert plan.fork is not None
    yield calm(task, seed, made_of.horizon)
    for fault in faults:
        for number in range(1, plan.fork.continuations + 1):
            yield _forked(task, seed, fault, number, made_of, plan)


def _forked(
    task: TaskSpec, seed: int, fault: Injection, number: int, made_of: Content, plan: FaultPlan
) -> FaultSchedule:
    """The first fault, drawn by its place alone, and one draw of what comes after it."""
    assert plan.fork is not None
    profile = f"{named(fault)}/c{number}"
    draw = Draw(
        task.suite, task.task_id, seed, profile, plan.fork.rate, "independent", plan.takes_backup
    )
    drawn_from = {
        "matrix": made_of.matrix.digest(),
        "rate": plan.fork.rate,
        "takes_backup": plan.takes_backup,
    }
    schedule = _schedule(task, seed, profile, made_of.horizon, drawn_from)
    first = _first(task, seed, schedule.schedule_id, fault, plan.takes_backup)
    after = generate(draw, task.fault_points, *made_of).events
    own = (first.point, first.occurrence)
    others = (event for event in after if (event.point, event.occurrence) != own)
    kept = sorted([*others, *_behind(draw, first, fault, made_of)], key=_place(task))
    waiting = (
        event.model_copy(
            update={
                "injection_id": f"{schedule.schedule_id}/{event.injection_id.partition('/')[2]}",
                "after": first.injection_id,
            }
        )
        for event in kept
    )
    return schedule.model_copy(update={"events": (first, *waiting)})


def _place(task: TaskSpec) -> "_Order":
    points = (*task.fault_points, *ledger_points(task.fault_points))
    return _Order({point.point: number for number, point in enumerate(points)})


class _Order:
    """Events as a sampled schedule orders them: by point as the task lists them, then in time."""

    def __init__(self, points: Mapping[str, int]) -> None:
        self._points = points

    def __call__(self, event: FaultEvent) -> tuple[int, int, int]:
        return self._points[event.point], event.occurrence, event.attempt


def _schedule(
    task: TaskSpec,
    seed: int,
    profile: str,
    horizon: int,
    drawn_from: Mapping[str, object] | None = None,
) -> FaultSchedule:
    key = {"suite": task.suite, "task_id": task.task_id, "seed": seed, "profile": profile}
    made_of = {"horizon": horizon, "by": GENERATOR, **(drawn_from or {})}
    return FaultSchedule(
        schedule_id=short_id({**key, **made_of}),
        suite=task.suite,
        task_id=task.task_id,
        seed=seed,
        profile=profile,
        rate=float(drawn_from is not None),
        design=FORK,
        generator=GENERATOR,
        horizon=horizon,
    )


def _first(
    task: TaskSpec, seed: int, schedule_id: str, fault: Injection, takes_backup: float
) -> FaultEvent:
    """The same for every continuation, but for its name."""
    point, occurrence, kind, lands = fault
    key = (seed, task.suite, task.task_id, point.point, occurrence, FORK)
    lasts = lasting(kind, takes_backup, *key)
    injection_id = f"{schedule_id}/{point.point}/{occurrence}.1"
    event = event_at(f"{injection_id}/first", point, occurrence, 1, kind, lasts, key)
    return event.model_copy(update={"effect_lands": lands})


def _behind(
    draw: Draw, first: FaultEvent, fault: Injection, made_of: Content
) -> Iterator[FaultEvent]:
    """Further attempts of the first fault's own step, drawn as behind any other fault."""
    mix = mix_for(first.point, made_of.matrix)
    assert mix is not None
    yield from step_events(
        draw,
        "",
        fault.point,
        first.occurrence,
        mix,
        draw.rate * mix.rate_scale,
        made_of.kinds,
        behind=first.lasts,
    )
