"""Altering the grader changes no decision: nobody but the checker looks at it (DESIGN §6)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.faults.generate import Draw, generate
from hfr_bench.lab.trial import run_trial
from hfr_bench.lab.wire import Bench, Place, WorkerScope
from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Prepared,
    Proposed,
    Reconciled,
    StrategyEvent,
    Verified,
)
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.task import ExpectedEffect
from hfr_bench.model.terms import Action, CheckLevel, Landed
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import PlanRow, Trial

SUITE, TASKS, RATE = "shopdesk", 4, 0.2
ACCEPT = Decision(Action.ACCEPT)
EQUIPMENT = {"ledger": True, "query": True, "ladder": True, "verifier": True}


class Checking:
    """Retries, asks the world about lost writes, and has every answer of a tool checked twice."""

    def begin(self) -> dict[str, Any]:
        return {}

    def decide(
        self, state: dict[str, Any], event: StrategyEvent
    ) -> tuple[dict[str, Any], Decision]:
        return state, self._decision(event)

    def _decision(self, event: StrategyEvent) -> Decision:
        if isinstance(event, Verified):
            first = event.verdict.level is CheckLevel.DETERMINISTIC
            return Decision(Action.VERIFY, check=CheckLevel.SEMANTIC) if first else ACCEPT
        if isinstance(event, Reconciled):
            landed = event.landed is Landed.COMMITTED
            return ACCEPT if landed else Decision(Action.RETRY, str(event.landed))
        if isinstance(event, Attempted):
            return self._attempted(event)
        if isinstance(event, Proposed):
            prepare = event.view.needs_before and not event.view.attempts
            return Decision(Action.DISPATCH, prepare=prepare)
        return Decision(Action.DISPATCH) if isinstance(event, Prepared) else ACCEPT

    def _attempted(self, event: Attempted) -> Decision:
        view, seen = event.view, event.observation
        if seen.answered:
            checkable = CheckLevel.SEMANTIC in view.can_verify
            check = Decision(Action.VERIFY, check=CheckLevel.DETERMINISTIC)
            return check if checkable else ACCEPT
        lost = seen.exception is not None and view.intent.level.writes and view.can_reconcile
        return Decision(Action.RECONCILE if lost else Action.RETRY)


class Book:
    """The schedules of the tasks, drawn here."""

    def __init__(self) -> None:
        self.schedules: dict[str, FaultSchedule] = {}

    def schedule(self, schedule_id: str) -> FaultSchedule:
        return self.schedules[schedule_id]


def opened(folder: Path) -> tuple[Bench, Book]:
    prereg = Preregistration.model_validate(
        {
            "name": "blind",
            "title": "blind",
            "origin": "rehearsal",
            "suites": [{"suite": SUITE, "pool": "demo"}],
            "arms": [{"name": "checking", "strategy": "checking", "equipment": EQUIPMENT}],
            "analysis": {"baseline": "checking"},
        }
    )
    book, own = Book(), {"checking": lambda _config, _kit: Checking()}
    return Bench(prereg, book, Place(folder), own), book  # type: ignore[arg-type]


def alter(bench: Bench) -> None:
    """Another grader: other effects are expected, and another end is wanted."""
    instances: Mapping[str, Any] = bench.suite(SUITE)._instances  # type: ignore[attr-defined]
    other = ExpectedEffect(natural_key="nothing like it", tool="refund", count=3)
    for task_id, instance in instances.items():
        sealed = instance.sealed.model_copy(update={"expected": (other,), "grading": {}})
        instances[task_id] = instance._replace(sealed=sealed)  # type: ignore[index]


def traces(folder: Path, *, altered: bool) -> Iterator[list[TraceEvent]]:
    bench, book = opened(folder)
    with bench:
        if altered:
            alter(bench)
        with WorkerScope(bench.serve()) as scope:
            matrix = content.matrix("stress")
            for (suite, task_id), task in [*bench.tasks.items()][:TASKS]:
                draw = Draw(suite, task_id, 1, "stress", RATE)
                planned = generate(draw, task.fault_points, matrix, bench.kinds, 60)
                book.schedules[planned.schedule_id] = planned
                path = folder / f"{planned.schedule_id}.jsonl"
                run_trial(scope, row(bench, task_id, planned), 1, path)
                yield [TraceEvent.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def row(bench: Bench, task_id: str, planned: FaultSchedule) -> PlanRow:
    names = ("pair_group", "cohort_id", "schedule_digest")
    fixed = {"prereg_digest": bench.prereg.digest(), "suite": SUITE, "seed": 1, "rate": RATE}
    own = {"trial_id": planned.schedule_id, "task_id": task_id, "profile": "stress"}
    ids = {"schedule_id": planned.schedule_id, "arm": "checking"}
    trial = Trial.model_validate(dict.fromkeys(names, "x") | fixed | own | ids)
    return PlanRow(order=1, trial=trial)


def told(events: list[TraceEvent]) -> list[str]:
    """All that happened between the first and the last line, measured time left out."""
    return [e.model_copy(update={"wall_us": 0, "prev": ""}).dumps() for e in events[1:-1]]


@pytest.mark.timeout(120)
def test_altering_the_grader_leaves_every_line_between_as_it_was(tmp_path: Path) -> None:
    plain = list(traces(tmp_path / "plain", altered=False))
    other = list(traces(tmp_path / "other", altered=True))
    assert [told(events) for events in plain] == [told(events) for events in other]
    kinds = [event.body.type for events in plain for event in events]
    assert kinds.count("verified") > 20
    assert kinds.count("reconciled") > 0
    verdicts = [events[-1].body.result.outcome for events in plain]  # type: ignore[union-attr]
    graded = [events[-1].body.result.outcome for events in other]  # type: ignore[union-attr]
    assert verdicts != graded  # it was another grader
