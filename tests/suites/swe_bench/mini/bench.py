"""What a trial of swe_mini asks for: the real suite, checks and injectors; the agent follows."""

from collections.abc import Sequence
from typing import Any

from hfr_bench import content, plugins
from hfr_bench.model.prereg import Arm, SuiteSelection
from hfr_bench.recovery.kit import Kit
from hfr_bench.suites.swe_bench.mini import SweMiniSuite
from hfr_bench.testing.bench import FakeBench
from hfr_bench.testing.rig import FULL, StepsAgent

EQUIPPED = FULL.model_copy(update={"verifier": True})


class MiniBench(FakeBench):
    """A bench with the real suite; its arms are equipped in full, named after their strategies."""

    def __init__(
        self,
        suite: SweMiniSuite,
        faults: Any,
        steps: Sequence[Any],
        arms: Sequence[str] = ("hfr",),
    ) -> None:
        shop: Any = suite
        made = [Arm(name=name, strategy=name, equipment=EQUIPPED) for name in arms]
        super().__init__(faults, lambda: StepsAgent(steps), shop=shop, arms=made)
        self.kinds = content.kinds()
        self.tool_injector = plugins.find("injectors", "tool_calls")(self.kinds)

    def task(self, suite: str, task_id: str) -> Any:
        (found,) = self.shop.select(SuiteSelection(suite="swe_mini", tasks=(task_id,)))
        return found

    def strategy(self, arm: Arm, task: Any = None, seed: int = 0, tenant: str = "default") -> Any:
        kit = Kit(equipment=arm.equipment, tenant=tenant)
        return plugins.find("strategies", arm.strategy)(arm.config, kit)
