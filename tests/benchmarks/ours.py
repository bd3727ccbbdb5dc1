"""The harness's own CPU per trial: one tool call, an in-process model, a real trace file.

Prints {"start_cpu_s", "cpu_ms_per_trial"} as JSON. Everything of a trial is real (guard, onion,
cursor, journal, checker); only model and world are in-process fakes, so that what is left is ours.
"""

import json
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.agents.tool_calling import ToolCallingAgent
from hfr_bench.faults.generate import Draw, generate
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.lab.trial import run_trial
from hfr_bench.lab.wire import WorkerScope
from hfr_bench.model.prereg import Arm
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.trial import PlanRow, Trial
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.testing.bench import FakeBench
from hfr_bench.testing.fakes import FakeBackend, FakeModel
from hfr_bench.testing.shop import ShopSuite, agent_step

TASK = "shop/one"


def cpu_s() -> float:
    """CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class _Bench(FakeBench):
    """What a trial asks a bench for: real faults and a model that speaks anew in each trial."""

    def __init__(self) -> None:
        shop = ShopSuite(tasks={TASK: (agent_step("add_order", item="tea"),)})
        super().__init__(agent=ToolCallingAgent, shop=shop)
        self.kinds = content.kinds()
        self.tool_injector = ToolCallInjector()
        self.backend = FakeBackend(lambda _url, _scope: FakeModel(_turns()))
        (task,) = shop.select_all()
        draw = Draw("shop", TASK, 1, "stress-0.1", 0.1)
        self._schedule = generate(draw, task.fault_points, content.matrix("stress"), self.kinds, 60)

    def schedule(self, schedule_id: str) -> FaultSchedule:
        return self._schedule

    def strategy(self, arm: Arm, task: Any = None, seed: int = 0, tenant: str = "default") -> Hfr:
        return Hfr({}, Kit(equipment=arm.equipment, chance_key=(TASK, seed), tenant=tenant))

    def row(self, n: int) -> PlanRow:
        trial = Trial(
            trial_id=f"{n:016x}",
            prereg_digest="0" * 64,
            suite="shop",
            task_id=TASK,
            seed=1,
            profile="stress-0.1",
            rate=0.1,
            arm="hfr",
            pair_group=f"{n:016x}",
            cohort_id=f"{n:016x}",
            schedule_id=self._schedule.schedule_id,
            schedule_digest=text_digest("x"),
        )
        return PlanRow(order=n, trial=trial)


def _turns() -> Any:
    """A model that asks for one tool call and is then done."""
    yield FakeModel.says("", ("add_order", '{"item": "tea"}'))
    while True:
        yield FakeModel.says("Done.")


def main(trials: int) -> None:
    """Run so many trials and print what they took."""
    start = cpu_s()
    bench = _Bench()
    with tempfile.TemporaryDirectory() as folder:
        scope = WorkerScope(bench)  # type: ignore[arg-type]
        for n in range(5):
            result = run_trial(scope, bench.row(n), 1, Path(folder) / str(n) / "hfr.jsonl")
            assert result.outcome is not None, result.void_reason
        before = cpu_s()
        for n in range(5, 5 + trials):
            run_trial(scope, bench.row(n), 1, Path(folder) / str(n) / "hfr.jsonl")
        used = cpu_s() - before
    print(json.dumps({"start_cpu_s": start, "cpu_ms_per_trial": 1000 * used / trials}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
