"""Whole synthetic experiments: a plan, and traces of a toy runtime that keeps to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hfr_bench.errors import BadInputError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.draw import uniform
from hfr_bench.model.prereg import Analysis, Arm, FaultPlan, Lock, Preregistration, SuiteSelection
from hfr_bench.model.schedule import FaultEvent, FaultSchedule
from hfr_bench.model.terms import End, Origin
from hfr_bench.model.trace import AttemptEnded
from hfr_bench.model.trial import PlanRow, Trial
from hfr_bench.testing.results import (
    At,
    answered,
    ended,
    fault,
    outcome,
    ran,
    refused,
    schedule,
    sent,
    started,
    timed_out,
    write_trial,
)

MODEL, BOOK = "model:agent", "tool:book"
LIMIT = 8


class Planned(NamedTuple):
    """An experiment on paper: what `analyse` needs besides the traces."""

    prereg: Preregistration
    lock: Lock
    rows: tuple[PlanRow, ...]
    schedules: dict[str, FaultSchedule]

    def schedule(self, schedule_id: str) -> FaultSchedule:
        """As `ScheduleBook.schedule`. Raises BadInputError for an unknown id."""
        if schedule_id not in self.schedules:
            raise BadInputError(f"no schedule {schedule_id!r}")
        return self.schedules[schedule_id]


def planned(
    arms: Sequence[str] = ("no_retry", "hfr"),
    tasks: int = 2,
    rates: Sequence[float] = (0.0, 0.1),
    faults: Callable[[Trial], Sequence[FaultEvent]] = lambda _: (),
    controls: bool = True,
    **prereg: Any,
) -> Planned:
    """Plan an experiment: an arm is named after its strategy; the first one is the baseline.

    With `controls`, the first arm runs again without injector at rate 0, and again (A/A) at the
    highest rate.
    """
    registered = Preregistration.model_validate(
        {
            "name": "test",
            "title": "A test",
            "origin": Origin.REHEARSAL,
            "suites": (SuiteSelection(suite="s"),),
            "faults": FaultPlan(rates=tuple(rates)),
            "arms": tuple(Arm(name=name, strategy=name) for name in arms),
            "analysis": Analysis(baseline=arms[0], resamples=200),
        }
        | prereg
    )
    rows: list[PlanRow] = []
    for task in range(1, tasks + 1):
        for rate in rates:
            jobs: list[tuple[str, str | None]] = [(arm, None) for arm in arms]
            if controls and rate == 0:
                jobs.append((arms[0], "injector_removed"))
            if controls and rate == max(rates):
                jobs.append((arms[0], "a_a"))
            for arm, control in jobs:
                trial = _trial(f"t{task}", rate, arm, control)
                rows.append(PlanRow(order=len(rows) + 1, trial=trial, control=control))
    schedules = {row.trial.schedule_id: schedule(row.trial, faults(row.trial)) for row in rows}
    return Planned(registered, _lock(registered, len(rows)), tuple(rows), schedules)


def _trial(task: str, rate: float, arm: str, control: str | None) -> Trial:
    cell = f"{task}-{rate:g}"
    group = f"{cell}-{control or 'main'}"
    return Trial(
        trial_id=f"{group}-{arm}",
        prereg_digest="0" * 64,
        suite="s",
        task_id=task,
        seed=1,
        profile=f"p{rate:g}",
        rate=rate,
        arm=arm,
        pair_group=group,
        cohort_id=f"{group}-{arm}",
        schedule_id=cell,
        schedule_digest="d",
        injected=control != "injector_removed",
    )


def _lock(prereg: Preregistration, trials: int) -> Lock:
    return Lock(
        prereg_digest="0" * 64,
        name=prereg.name,
        origin=prereg.origin,
        frozen_at="2026-01-01T00:00:00Z",
        harness_version="0",
        generator="test",
        sources=(),
        matrix_digest="",
        kinds_digest="",
        prices_digest="",
        schedules_digest="",
        plan_digest="",
        schedules=0,
        trials=trials,
    )


def some_faults(trial: Trial) -> tuple[FaultEvent, ...]:
    """Faults at a trial's rate: of its model call, and of its one write (lost, half landed)."""
    events = []
    if uniform(trial.task_id, "model") < trial.rate:
        events.append(fault("busy", MODEL))
    if uniform(trial.task_id, "tool") < trial.rate:
        events.append(fault("lost", BOOK, lands=uniform(trial.task_id, "lands") < 0.5))
    return tuple(events)


@dataclass(slots=True)
class _Toy:
    """A toy trial: one model call, one write; what happened, in order."""

    trial: Trial
    cursor: Cursor
    bodies: list[At] = field(default_factory=list)
    effects: int = 0
    attempts: int = 0
    ambiguous: int = 0
    reached: int = 0

    def attempt(self, point: str, attempt: int) -> bool:
        """One attempt under the schedule; whether it was answered."""
        operation = f"{self.trial.trial_id}.{self.attempts}"
        event = self.cursor.at(point, 1, attempt, target="m", now_us=0)
        self.attempts += 1
        self.reached += event is not None
        self._add(sent(point, operation_id=operation), attempt)
        if point == BOOK and (event is None or event.effect_lands):
            self.effects += 1
            self._add(ran(operation), attempt)
        self.ambiguous += point == BOOK and event is not None
        self._add(self._answer(event), attempt)
        return event is None

    def _add(self, body: Any, attempt: int) -> None:
        self.bodies.append(At(body, 1, attempt))

    @staticmethod
    def _answer(event: FaultEvent | None) -> AttemptEnded:
        if event is None:
            return answered()
        return refused() if event.kind == "busy" else timed_out()


def play(row: PlanRow, planned_schedule: FaultSchedule) -> list[At]:
    """A toy runtime: `no_retry` fails, `blind_resend` repeats, the others look before they do."""
    trial = row.trial
    toy = _Toy(trial, Cursor(planned_schedule.events if trial.injected else ()))
    toy.bodies.append(started(trial))
    end = End.ACCEPTED
    for point in (MODEL, BOOK):
        attempt = 1
        while not toy.attempt(point, attempt):
            if trial.arm == "no_retry":
                end = End.FAILED
                break
            if trial.arm == "always_escalate":
                end = End.ESCALATED
                break
            if trial.arm != "blind_resend" and toy.effects:
                break
            attempt += 1
        if end is not End.ACCEPTED:
            break
    made = outcome(
        success=end is End.ACCEPTED,
        goal_met=toy.effects > 0,
        end=end,
        effects=toy.effects,
        duplicates=max(0, toy.effects - 1),
        ambiguous_writes=toy.ambiguous,
    )
    latency_us = 1_000_000 * toy.attempts + 10_000_000 * toy.ambiguous + int(trial.task_id[1:])
    toy.bodies.append(
        ended(
            trial,
            of=made,
            attempts=toy.attempts,
            cost_microusd=900 * toy.attempts + 20_000 * (end is End.ESCALATED),
            latency_us=latency_us,
            recoveries=int(toy.reached > 0 and end is End.ACCEPTED),
            recovery_us=latency_us if toy.reached else 0,
        )
    )
    return toy.bodies


def write_all(folder: Path, plan: Planned, round_: int = 1) -> None:
    """Play every planned trial and write its trace."""
    for row in plan.rows:
        write_trial(folder, row.trial, play(row, plan.schedule(row.trial.schedule_id)), round_)
