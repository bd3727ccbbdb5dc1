"""A bench and a scope for single trials: real trial, guard and onion; fakes behind them."""

import threading
from collections.abc import Callable
from typing import Any

from hfr_bench import plugins
from hfr_bench.lab.human import PricedHuman
from hfr_bench.lab.wire import Place
from hfr_bench.model.prereg import Arm, Preregistration
from hfr_bench.model.schedule import FaultEvent, FaultSchedule
from hfr_bench.model.trial import PlanRow, Trial
from hfr_bench.ports.agent import Agent
from hfr_bench.ports.suite import World
from hfr_bench.recovery.kit import Kit
from hfr_bench.testing.fakes import FakeBackend, FakeGateway, FakeModel
from hfr_bench.testing.hosts import FakeSandbox
from hfr_bench.testing.rig import FULL, KINDS
from hfr_bench.testing.shop import ShopSuite

STRATEGIES = ("hfr", "blind_resend", "no_retry")


class FakeBench:
    """Everything a trial asks for; parts can be replaced. Its arms are named after STRATEGIES."""

    def __init__(
        self,
        faults: tuple[FaultEvent, ...] = (),
        agent: Callable[[], Agent] | None = None,
        strategies: dict[str, Any] | None = None,
        model: Any = (),
        shop: ShopSuite | None = None,
        **prereg: Any,
    ) -> None:
        offered = {name: plugins.find("strategies", name) for name in STRATEGIES}
        strategies = offered | (strategies or {})
        arms = [Arm(name=name, strategy=name, equipment=FULL) for name in strategies]
        plain = {
            "name": "x",
            "title": "x",
            "origin": "rehearsal",
            "suites": [{"suite": "shop"}],
            "arms": arms,
            "analysis": {"baseline": "no_retry"},
        }
        self.prereg = Preregistration.model_validate(plain | prereg)
        self.shop = shop or ShopSuite()
        self.kinds = KINDS
        self.place = Place(record=False)
        self.upstream = "fake://upstream"
        self.gateway = FakeGateway()
        self.gateway.start(self.upstream)
        self.tool_injector = plugins.find("injectors", "tool_calls")(KINDS)
        self.urls: list[str] = []
        self.backend = FakeBackend(self._client)
        self.agent = agent or plugins.find("agents", "oracle")
        self._model = FakeModel(model)
        self._strategies = strategies
        self._faults = faults
        self._sandbox = FakeSandbox()
        self.interrupted = threading.Event()
        self.states: list[tuple[str, str, str]] = []

    def _client(self, url: str, _: Any) -> FakeModel:
        self.urls.append(url)
        return self._model

    def check_steady(self, suite: str, task_id: str, state: str) -> None:
        self.states.append((suite, task_id, state))

    def task(self, suite: str, task_id: str) -> Any:
        return next(t for t in self.shop.select_all() if t.task_id == task_id)

    def sealed(self, suite: str, task_id: str) -> Any:
        return self.shop.sealed(task_id)

    def suite(self, name: str) -> Any:
        return self.shop

    def sandbox_of(self, suite: str) -> Any:
        return self._sandbox

    def source(self, suite: str) -> str:
        return "shop test"

    def arm(self, name: str) -> Arm:
        return next(arm for arm in self.prereg.arms if arm.name == name)

    def strategy(self, arm: Arm, task: Any = None, seed: int = 0, tenant: str = "default") -> Any:
        kit = Kit(equipment=arm.equipment, tenant=tenant)
        return self._strategies[arm.strategy](arm.config, kit)

    def human(self) -> PricedHuman:
        return PricedHuman(self.prereg.human)

    def schedule(self, schedule_id: str) -> FaultSchedule:
        return FaultSchedule(
            schedule_id=schedule_id,
            suite="shop",
            task_id="",
            seed=1,
            profile="p",
            rate=0.1,
            generator="test",
            horizon=9,
            events=self._faults,
        )


class FakeScope:
    """One worker's world. `dropped`: how often it was given up."""

    def __init__(self, bench: FakeBench) -> None:
        self.bench = bench
        self.dropped = 0
        self._world: World | None = None

    def world(self, suite: str) -> World:
        self._world = self._world or self.bench.shop.open()
        return self._world

    def drop_world(self, suite: str) -> None:
        self.dropped += 1
        self._world = None


def planned_row(arm: str = "hfr", task_id: str = "shop/3", *, injected: bool = True) -> PlanRow:
    """A trial of one of the shop's tasks."""
    names = ("prereg_digest", "profile", "pair_group", "cohort_id", "schedule_id")
    trial = Trial.model_validate(
        dict.fromkeys((*names, "schedule_digest"), "x")
        | {"trial_id": f"{arm}-t", "suite": "shop", "task_id": task_id, "seed": 1}
        | {"rate": 0.1, "arm": arm, "injected": injected}
    )
    return PlanRow(order=1, trial=trial)
