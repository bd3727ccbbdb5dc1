"""The runtime crashes at every kind of write of the real order desk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench.lab.recorder import CRASH
from hfr_bench.lab.trial import run_trial
from hfr_bench.lab.wire import Bench, Place, WorkerScope
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.terms import End, SideEffect
from hfr_bench.testing.bench import planned_row
from hfr_bench.testing.careful import Careful
from hfr_bench.testing.results import schedule
from hfr_bench.testing.rig import KINDS, crash


class _Book:
    def __init__(self) -> None:
        self.schedules: dict[str, FaultSchedule] = {}

    def schedule(self, schedule_id: str) -> FaultSchedule:
        return self.schedules[schedule_id]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WorkerScope, _Book]]:
    """The order desk in child processes, behind the real injectors."""
    arm = {"name": "c", "strategy": "careful", "equipment": {"ledger": True, "query": True}}
    plain = {"name": "x", "title": "x", "origin": "rehearsal", "agent": "oracle", "arms": [arm]}
    suite = {"suites": [{"suite": "shopdesk", "pool": "demo"}], "analysis": {"baseline": "c"}}
    own, book = {"careful": lambda _config, _kit: Careful()}, _Book()
    place = Place(tmp_path_factory.mktemp("desk"))
    prereg = Preregistration.model_validate(plain | suite)
    with Bench(prereg, book, place, own) as bench:  # type: ignore[arg-type]
        bench.kinds = {**bench.kinds, CRASH: KINDS[CRASH]}
        with WorkerScope(bench.serve()) as scope:
            yield scope, book


@pytest.mark.parametrize("lands", [True, False])
def test_at_the_real_desk_no_write_is_done_twice(
    desk: tuple[WorkerScope, _Book], tmp_path: Path, *, lands: bool
) -> None:
    scope, book = desk
    seen: set[str] = set()
    for (suite, task_id), task in scope.bench.tasks.items():
        for tool in sorted({step.tool for step in scope.bench.sealed(suite, task_id).oracle}):
            spec = task.tool(tool)
            if spec is None or not spec.level.writes or tool in seen:
                continue
            seen.add(tool)
            row = planned_row("c", task_id)
            trial = row.trial.model_copy(update={"suite": suite, "schedule_id": f"{tool}/{lands}"})
            book.schedules[trial.schedule_id] = schedule(trial, [crash(tool, lands=lands)])
            row = row.model_copy(update={"trial": trial})
            result = run_trial(scope, row, 1, tmp_path / f"{tool}.jsonl")
            assert result.outcome is not None, result.void_reason
            assert result.outcome.harm == 0
            # A write at R1 is sent again, which changes nothing; no other one is.
            repeats = result.outcome.duplicate_dispatches
            assert repeats <= (spec.level is SideEffect.IDEMPOTENT)
            if spec.level is SideEffect.IRREVERSIBLE:
                assert (result.outcome.end, result.outcome.packet_true) == (End.ESCALATED, True)
            else:
                assert (result.outcome.end, result.outcome.goal_met) == (End.ACCEPTED, True)
    assert len(seen) > 6
