"""The paper's record of a task (appendix E), a line of JSON a trial, made of traces and plan.

Benchmark texts stay out: `task_spec` names the task, its digest and the digests of what it wants
done. What no bundle knows is null: criticality and quality floor lie in the suite.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from hfr_bench.lab.register import Experiment
from hfr_bench.lab.store import Store, choose
from hfr_bench.model.bundle import Content, Environment, TaskPoints
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import PlanRow

FIELDS = (
    "task_id", "suite", "task_spec", "criticality", "quality_floor", "deadline_s", "tools",
    "fault_schedule", "policy", "attempts", "degradation", "verification", "side_effects",
    "escalation", "outcome", "metadata",
)  # fmt: skip
"""The fields of appendix E, in its order."""

Event = dict[str, Any]


def records(experiment: Experiment, made_of: Content, by: Environment) -> Iterator[bytes]:
    """A record of each trial that counts (the last complete round), in the plan's order."""
    store = Store(experiment.path)
    checked = {(c.file.group, c.file.round, c.file.arm): c for c in map(store.check, store.files())}
    chosen = choose(experiment.plan, checked.values(), experiment.prereg.void_rounds)
    tasks = {(task.suite, task.task_id): task for task in made_of.tasks}
    for row in experiment.plan:
        one = chosen.trials.get(row.trial.trial_id)
        if one is None:
            continue
        events = store.read(one.file).events
        task = tasks[row.trial.suite, row.trial.task_id]
        made: Event = {"v": 1} | _record(experiment, row, task, events, by)
        made["metadata"] = made["metadata"] | {"trace": one.file.name}
        yield json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _record(
    experiment: Experiment,
    row: PlanRow,
    task: TaskPoints,
    events: Sequence[TraceEvent],
    by: Environment,
) -> Event:
    trial, start, end = row.trial, _only(events, "trial_started"), _only(events, "trial_ended")
    arm = next(arm for arm in experiment.prereg.arms if arm.name == trial.arm)
    return {
        "task_id": trial.task_id,
        "suite": trial.suite,
        "task_spec": {"source_digest": task.source_digest, "expected": start["expected"]},
        "criticality": None,
        "quality_floor": None,
        "deadline_s": None,
        "tools": [
            {"point": point.point, "level": str(point.level)}
            for point in task.fault_points
            if point.point.startswith("tool:")
        ],
        "fault_schedule": _faults(experiment, row, events),
        "policy": {"arm": arm.name, "strategy": arm.strategy, "digest": arm.digest()},
        **_happened(events),
        "outcome": end["result"],
        "metadata": {
            "trial_id": trial.trial_id,
            "prereg_digest": trial.prereg_digest,
            "origin": str(experiment.prereg.origin),
            "control": row.control,
            "model": experiment.prereg.model.model_dump(mode="json"),
            "source": start["source"],
            "sandbox": start["sandbox"],
            "image_id": start["image_id"],
            "harness_version": by.harness_version,
            "code": by.code,
        },
    }


def _faults(experiment: Experiment, row: PlanRow, events: Sequence[TraceEvent]) -> Event:
    """Which schedule, and of its faults those that this trial met; `bundle/schedules/` has all."""
    trial = row.trial
    planned = experiment.book.schedule(trial.schedule_id).events if trial.injected else ()
    ids = (getattr(event.body, "injection_id", None) for event in events)
    at = {name: event.t_us for name, event in zip(ids, events, strict=True) if name is not None}
    return {
        "schedule_id": trial.schedule_id,
        "digest": trial.schedule_digest,
        "planned": len(planned),
        "met": [
            {"last_met_us": at[event.injection_id]} | event.model_dump(mode="json")
            for event in planned
            if event.injection_id in at
        ],
    }


def _happened(events: Sequence[TraceEvent]) -> Event:
    """What the traces tell: attempts, degradation, verification, side effects, escalation."""
    return {
        "attempts": _of(events, "attempt_ended"),
        "degradation": _of(events, "decided", lambda body: bool(body["rung"])),
        "verification": _of(events, "verified"),
        "side_effects": _of(events, "effect", lambda body: bool(body["changed"]))
        + _of(events, "ledger_moved")
        + _of(events, "reconciled"),
        "escalation": next((body["packet"] for body in _of(events, "escalated")), None),
    }


def _of(
    events: Sequence[TraceEvent], kind: str, wanted: Callable[[Event], bool] = bool
) -> list[Event]:
    """Bodies of a type, each with its line, time and place."""
    return [
        {"seq": event.seq, "t_us": event.t_us, "step": event.step, "attempt": event.attempt} | body
        for event in events
        if event.body.type == kind and wanted(body := _plain(event.body))
    ]


def _only(events: Sequence[TraceEvent], kind: str) -> Event:
    return next(_plain(event.body) for event in events if event.body.type == kind)


def _plain(body: Any) -> Event:
    """A body as JSON values, be it a record or the struct that stands for one."""
    dump = getattr(body, "model_dump", None)
    made: Event = dump(mode="json") if dump else msgspec.to_builtins(body)
    return made
