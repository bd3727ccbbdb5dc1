"""Whole synthetic experiments: a plan, and traces of a toy runtime that keeps to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hfr_bench.errors import BadInputError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.draw import uniform
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.prereg import Analysis, Arm, FaultPlan, Lock, Preregistration, SuiteSelection
from hfr_bench.model.schedule import FaultEvent, FaultSchedule
from hfr_bench.model.terms import Action, Channel, End, Origin, SideEffect
from hfr_bench.model.trace import AttemptEnded, Decided, Escalated, StepEnded
from hfr_bench.model.trial import PlanRow, Trial
from hfr_bench.testing.results import (
    At,
    answered,
    ended,
    fault,
    hit,
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
COST, TOOL_US = 900, 400_000
HUMAN_COST, HUMAN_US = 20_000, 10_000_000
_STEPS = {MODEL: 1, BOOK: 2}


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
            "tool_price": {"cost_usd": COST / 1_000_000},
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
    now_us: int = 0
    effects: int = 0
    lost_effects: int = 0
    attempts: int = 0
    waited_us: int = 0
    ambiguous: bool = False
    failed_at_us: int | None = None
    recoveries: int = 0
    recovery_us: int = 0

    def attempt(self, point: str, attempt: int) -> bool:
        """One attempt under the schedule; whether it was answered."""
        operation = f"{self.trial.trial_id}.{self.attempts}"
        event = self.cursor.at(point, 1, attempt, target="m", now_us=self.now_us)
        self.attempts += 1
        self.decide("Proposed", Action.DISPATCH, point, attempt)
        book = point == BOOK
        write: dict[str, Any] = {}
        if book:
            write = {"level": SideEffect.QUERYABLE, "stepless_key": "book"}
        self._add(sent(point, operation_id=operation, **write), point, attempt)
        if book and (event is None or event.effect_lands):
            self.effects += 1
            self.lost_effects += event is not None
            self._add(ran(operation), point, attempt)
        if not book and self.trial.injected:
            self._add(hit(forwarded=event is None), point, attempt)
        self.ambiguous = self.ambiguous or (book and event is not None)
        seen = self._answer(event, book=book)
        self.now_us += seen.latency_us
        if not seen.answered:
            self.waited_us += seen.latency_us
            if self.failed_at_us is None:
                self.failed_at_us = self.now_us - seen.latency_us
        self._add(seen, point, attempt)
        return event is None

    def decide(self, on: str, action: Action, point: str = "", attempt: int = 0) -> None:
        self._add(Decided(on=on, action=action), point, attempt)

    def escalate(self, point: str) -> None:
        """Call a person, who is told that the write is in doubt if it was tried."""
        packet = EscalationPacket(
            trial_id=self.trial.trial_id,
            step=_STEPS[point],
            reason="toy",
            status=point,
            unknown=("book",) if self.ambiguous else (),
        )
        self._add(Escalated(packet=packet), point, 0)
        self._recovered()
        self.now_us += HUMAN_US

    def end(self, point: str, attempt: int) -> None:
        """The step is over, and what came of it is taken."""
        channel = Channel.MODEL if point == MODEL else Channel.TOOL
        body = StepEnded(
            channel=channel, point=point, occurrence=1, attempts=attempt, action=Action.ACCEPT
        )
        self._add(body, point, attempt)
        self._recovered()

    def _recovered(self) -> None:
        if self.failed_at_us is not None:
            self.recoveries += 1
            self.recovery_us += self.now_us - self.failed_at_us
        self.failed_at_us = None

    def _add(self, body: Any, point: str, attempt: int) -> None:
        self.bodies.append(At(body, _STEPS.get(point, 0), attempt, self.now_us))

    def _answer(self, event: FaultEvent | None, *, book: bool) -> AttemptEnded:
        if event is None:
            latency_us = TOOL_US if book else 1_000_000 + int(self.trial.task_id[1:])
            return answered(latency_us=latency_us, cost_microusd=COST)
        lost = event.kind != "busy"
        return timed_out(cost_microusd=COST) if lost else refused(cost_microusd=COST)


def play(row: PlanRow, planned_schedule: FaultSchedule) -> list[At]:
    """A toy runtime: `no_retry` fails, `blind_resend` repeats, the others look before they do."""
    trial = row.trial
    toy = _Toy(trial, Cursor(planned_schedule.events if trial.injected else ()))
    toy.bodies.append(started(trial)._replace(t_us=0))
    end, steps = End.ACCEPTED, 0
    for point in (MODEL, BOOK):
        attempt = 1
        steps += 1
        while end is End.ACCEPTED and not toy.attempt(point, attempt):
            if trial.arm == "no_retry":
                end = End.FAILED
                toy.decide("Attempted", Action.FAIL, point, attempt)
            elif trial.arm == "always_escalate":
                end = End.ESCALATED
                toy.decide("Attempted", Action.ESCALATE, point, attempt)
                toy.escalate(point)
            elif trial.arm != "blind_resend" and toy.effects:
                break
            attempt += 1
        if end is not End.ACCEPTED:
            break
        toy.end(point, attempt)
    else:
        toy.decide("Finishing", Action.ACCEPT)
    toy.bodies.append(_last(toy, end, steps))
    return toy.bodies


def _last(toy: _Toy, end: End, steps: int) -> At:
    called = end is End.ESCALATED
    made = outcome(
        success=end is End.ACCEPTED,
        goal_met=toy.effects > 0,
        end=end,
        effects=toy.effects,
        duplicates=max(0, toy.effects - 1),
        lost_effects=toy.lost_effects,
        ambiguous_writes=int(toy.ambiguous),
        packet_true=True if called else None,
    )
    last = ended(
        toy.trial,
        of=made,
        steps=steps,
        attempts=toy.attempts,
        cost_microusd=COST * toy.attempts + HUMAN_COST * called,
        latency_us=toy.now_us,
        injected_wait_us=toy.waited_us,
        human_us=HUMAN_US * called,
        recoveries=toy.recoveries,
        recovery_us=toy.recovery_us,
    )
    return last._replace(t_us=toy.now_us)


def write_all(folder: Path, plan: Planned, round_: int = 1) -> None:
    """Play every planned trial and write its trace."""
    for row in plan.rows:
        write_trial(folder, row.trial, play(row, plan.schedule(row.trial.schedule_id)), round_)
