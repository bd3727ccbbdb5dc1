"""Preregistration -> schedules and planned trials. Pair groups stay together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hfr_bench.faults import fork
from hfr_bench.faults.exhaustive import injections, schedules
from hfr_bench.faults.generate import Draw, Drawn, generate
from hfr_bench.lab.cohorts import Seat, seats
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.prereg import EXHAUSTIVE, FORK, Burst, Preregistration
from hfr_bench.model.record import short_id, text_digest
from hfr_bench.model.schedule import FaultSchedule, KindSpec
from hfr_bench.model.task import OracleStep, TaskSpec
from hfr_bench.model.trial import PlanRow, Trial

OracleOf = Callable[[TaskSpec], Sequence[OracleStep]]


def no_oracle(_: TaskSpec) -> Sequence[OracleStep]:
    """For designs that do not follow the oracle."""
    return ()


class Cell(NamedTuple):
    """What all arms of a pair group share."""

    task: TaskSpec
    seed: int
    schedule: FaultSchedule


def cells(
    prereg: Preregistration,
    tasks: Sequence[TaskSpec],
    matrix: FaultMatrix,
    kinds: Mapping[str, KindSpec],
    oracle: OracleOf = no_oracle,
) -> Iterator[Cell]:
    """Task by task, seed by seed, fault by fault: each with its schedule.

    `oracle`: a task's own solution, which the designs exhaustive-1 and fork go along.
    """
    horizon = prereg.limits.max_steps
    for index, task in enumerate(tasks):
        bursts = [burst for burst in prereg.faults.bursts if burst.covers(index, len(tasks))]
        for seed in prereg.seeds:
            if prereg.faults.design == EXHAUSTIVE:
                faults = injections(task, oracle(task), matrix, kinds, horizon)
                made = schedules(task, seed, faults, horizon)
            elif prereg.faults.design == FORK:
                made = _forked(prereg, task, seed, matrix, kinds, oracle)
            else:
                made = _sampled(prereg, task, seed, matrix, kinds, bursts)
            yield from (Cell(task, seed, schedule) for schedule in made)


def _forked(
    prereg: Preregistration,
    task: TaskSpec,
    seed: int,
    matrix: FaultMatrix,
    kinds: Mapping[str, KindSpec],
    oracle: OracleOf,
) -> Iterator[FaultSchedule]:
    """One schedule without faults, and one for each fork and continuation."""
    plan = prereg.faults
    assert plan.fork is not None
    made_of = fork.Content(matrix, kinds, prereg.limits.max_steps)
    found = fork.candidates(task, oracle(task), made_of, models=prereg.agent != "oracle")
    return fork.schedules(task, seed, fork.chosen(task, seed, found, plan.fork), made_of, plan)


def _sampled(
    prereg: Preregistration,
    task: TaskSpec,
    seed: int,
    matrix: FaultMatrix,
    kinds: Mapping[str, KindSpec],
    bursts: Sequence[Burst],
) -> Iterator[FaultSchedule]:
    """One schedule for each rate; `bursts`: those in whose window the task is."""
    plan, drawn = prereg.faults, dict[str, Drawn]()
    for rate in plan.rates if plan.design == "sampled" else (0.0,):
        profile = f"{plan.matrix}-{rate}"
        key = (task.suite, task.task_id, seed, profile, rate, plan.coupling)
        draw, points = Draw(*key, plan.takes_backup), task.fault_points if rate else ()
        within = bursts if rate else ()
        yield generate(draw, points, matrix, kinds, prereg.limits.max_steps, within, drawn)


def exhaustive_trials(
    prereg: Preregistration,
    tasks: Sequence[TaskSpec],
    matrix: FaultMatrix,
    kinds: Mapping[str, KindSpec],
    oracle: OracleOf,
) -> tuple[int, int]:
    """How many faults and trials (controls included) the exhaustive design makes of the tasks.

    Counted without making them, since there may be very many.
    """
    horizon, seeds = prereg.limits.max_steps, len(prereg.seeds)
    faults = sum(len(injections(task, oracle(task), matrix, kinds, horizon)) for task in tasks)
    main = (len(tasks) + faults) * seeds * len(prereg.arms)
    removed = len(tasks) * seeds * prereg.controls.injector_removed
    return faults, main + removed + faults * seeds * prereg.controls.a_a


def fork_trials(
    prereg: Preregistration, tasks: Sequence[TaskSpec], made_of: fork.Content, oracle: OracleOf
) -> tuple[int, int]:
    """How many forks and trials (controls included) the design `fork` makes of the tasks."""
    plan = prereg.faults.fork
    assert plan is not None
    models, seeds = prereg.agent != "oracle", len(prereg.seeds)
    fitting = (len(fork.candidates(t, oracle(t), made_of, models=models)) for t in tasks)
    forks = seeds * sum(n if plan.points is None else min(n, plan.points) for n in fitting)
    faulty, calm = forks * plan.continuations, len(tasks) * seeds
    arms, controls = len(prereg.arms), prereg.controls
    main = (faulty + calm) * arms
    return forks, main + calm * controls.injector_removed + faulty * controls.a_a


def plan_rows(
    prereg: Preregistration,
    prereg_digest: str,
    planned: Sequence[Cell],
    digests: Sequence[str] | None = None,
) -> Iterator[PlanRow]:
    """Every trial in the frozen order; after each cell's arms, the controls that belong to it.

    `digests`: of the cells' schedules, each as a line, if they are known.
    """
    order = 0
    top = max(prereg.faults.rates) if prereg.faults.design != "none" else 0.0
    control_arm = prereg.controls.arm or prereg.analysis.baseline
    seated = seats(prereg.cohorts, ((cell.task.suite, cell.task.task_id) for cell in planned))
    for number, cell in enumerate(planned):
        seat = seated.get((cell.task.suite, cell.task.task_id))
        # Of the line as frozen.
        digest = digests[number] if digests else text_digest(cell.schedule.dumps())
        jobs: list[tuple[str, str | None]] = [(arm.name, None) for arm in prereg.arms]
        if prereg.controls.injector_removed and cell.schedule.rate == 0:
            jobs.append((control_arm, "injector_removed"))
        if prereg.controls.a_a and cell.schedule.rate == top:
            jobs.append((control_arm, "a_a"))
        groups = {
            control: _group(prereg_digest, cell.task, cell.schedule, control) for _, control in jobs
        }
        ids = {control: short_id(group) for control, group in groups.items()}
        for arm, control in jobs:
            order += 1
            trial_id = short_id({**groups[control], "arm": arm})
            trial = Trial(
                trial_id=trial_id,
                prereg_digest=prereg_digest,
                suite=cell.task.suite,
                task_id=cell.task.task_id,
                seed=cell.seed,
                profile=cell.schedule.profile,
                rate=cell.schedule.rate,
                arm=arm,
                pair_group=ids[control],
                cohort_id=trial_id,
                schedule_id=cell.schedule.schedule_id,
                schedule_digest=digest,
                injected=control != "injector_removed",
            )
            if seat is not None:
                trial = _seated(trial, seat, control)
            yield PlanRow(order=order, trial=trial, control=control)


def _seated(trial: Trial, seat: Seat, control: str | None) -> Trial:
    """The trial in its cohort: that of its block of tasks, seed, profile, arm and control."""
    cohort = {
        "prereg": trial.prereg_digest,
        "suite": trial.suite,
        "block": seat.block,
        "seed": trial.seed,
        "profile": trial.profile,
        "control": control,
        "arm": trial.arm,
    }
    update = {"cohort_id": short_id(cohort), "position": seat.position, "tenant": seat.tenant}
    return trial.model_copy(update=update)


def _group(
    prereg_digest: str, task: TaskSpec, schedule: FaultSchedule, control: str | None
) -> dict[str, Any]:
    """What names a pair group; with the arm, a trial."""
    return {
        "prereg": prereg_digest,
        "suite": task.suite,
        "task": task.task_id,
        "seed": schedule.seed,
        "schedule": schedule.schedule_id,
        "control": control,
    }


def calm_group(prereg: Preregistration, task: TaskSpec, trial: Trial) -> str:
    """The pair group without faults of a fork's task and seed, whichever trial of them is asked."""
    schedule = fork.calm(task, trial.seed, prereg.limits.max_steps)
    return short_id(_group(trial.prereg_digest, task, schedule, None))
