"""One trial end to end over fakes: outcome or void, never both, and everything healed."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.agents.oracle import OracleAgent
from hfr_bench.agents.tool_calling import ToolCallingAgent
from hfr_bench.errors import InfrastructureError
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.lab.trial import run_trial
from hfr_bench.lab.wire import PricedHuman
from hfr_bench.model.attempt import Observation
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.prereg import Arm, Preregistration
from hfr_bench.model.schedule import FaultEvent, FaultSchedule
from hfr_bench.model.terms import End, VoidCause
from hfr_bench.model.trace import EffectExecuted, TraceEvent, TrialEnded, TrialStarted
from hfr_bench.model.trial import PlanRow, Trial, TrialResult
from hfr_bench.ports.agent import Agent
from hfr_bench.ports.sandbox import HostDiedError
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import BlindResend, NoRetry
from hfr_bench.testing.fakes import (
    FakeAgent,
    FakeBackend,
    FakeGateway,
    FakeModel,
    FakeStrategy,
)
from hfr_bench.testing.hosts import FakeSandbox
from hfr_bench.testing.rig import FULL, KINDS, fault, lost_answer
from hfr_bench.testing.shop import ShopSuite, ShopWorld

STRATEGIES: dict[str, Any] = {"hfr": Hfr, "blind_resend": BlindResend, "no_retry": NoRetry}


class Bench:
    """Everything a trial asks for, made of fakes; parts can be replaced."""

    def __init__(
        self,
        faults: tuple[FaultEvent, ...] = (),
        agent: Callable[[], Agent] = OracleAgent,
        strategies: dict[str, Any] | None = None,
        model: Any = (),
        **prereg: Any,
    ) -> None:
        strategies = STRATEGIES | (strategies or {})
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
        self.shop = ShopSuite()
        self.kinds = KINDS
        self.upstream = "fake://upstream"
        self.gateway = FakeGateway()
        self.gateway.start(self.upstream)
        self.tool_injector = ToolCallInjector(KINDS)
        self.urls: list[str] = []
        self.backend = FakeBackend(self._client)
        self.agent = agent
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

    def strategy(self, arm: Arm, task: Any = None, seed: int = 0) -> Any:
        return self._strategies[arm.strategy](arm.config, Kit(equipment=arm.equipment))

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


class Scope:
    """One worker's worlds."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.dropped = 0
        self._world: ShopWorld | None = None

    def world(self, suite: str) -> ShopWorld:
        self._world = self._world or self.bench.shop.open()
        return self._world

    def drop_world(self, suite: str) -> None:
        self.dropped += 1
        self._world = None


def row(arm: str = "hfr", task_id: str = "shop/3", *, injected: bool = True) -> PlanRow:
    names = ("prereg_digest", "profile", "pair_group", "cohort_id", "schedule_id")
    trial = Trial.model_validate(
        dict.fromkeys((*names, "schedule_digest"), "x")
        | {"trial_id": f"{arm}-t", "suite": "shop", "task_id": task_id, "seed": 1}
        | {"rate": 0.1, "arm": arm, "injected": injected}
    )
    return PlanRow(order=1, trial=trial)


def run(
    bench: Bench, path: Path, planned: PlanRow | None = None
) -> tuple[TrialResult, list[TraceEvent], Scope]:
    scope = Scope(bench)
    trace = path / "t.jsonl"
    result = run_trial(scope, planned or row(), 1, trace)  # type: ignore[arg-type]
    lines = trace.read_bytes().split(b"\n")[:-1]
    return result, [TraceEvent.loads(line) for line in lines], scope


def test_a_trace_starts_with_what_was_registered_and_ends_with_the_result(tmp_path: Path) -> None:
    result, events, _ = run(Bench(), tmp_path)
    first, last = events[0].body, events[-1].body
    assert isinstance(first, TrialStarted)
    assert (first.arm, first.suite, first.task_id, first.sandbox) == (
        "hfr",
        "shop",
        "shop/3",
        "fake",
    )
    assert isinstance(last, TrialEnded)
    assert last.result == result
    assert result.outcome is not None
    assert result.outcome.succeeded
    assert (result.outcome.effects, result.outcome.harm) == (4, 0)
    assert (result.steps, result.attempts, result.reads) == (5, 5, 2)  # a read before each order
    assert result.latency_us == 7 * 400_000
    assert result.cost_microusd == 7 * 1000  # reads are charged like everything else


def test_the_users_own_calls_are_recorded_but_not_counted(tmp_path: Path) -> None:
    _, events, _ = run(Bench(), tmp_path)
    ran = [event.body for event in events if isinstance(event.body, EffectExecuted)]
    assert [body.point for body in ran if body.actor == "user"] == ["user:confirm"]


def test_a_known_bad_arm_is_caught_duplicating_and_hfr_is_not(tmp_path: Path) -> None:
    for arm, duplicates in (("blind_resend", 1), ("hfr", 0)):
        bench = Bench(faults=(lost_answer("add_order"),))
        result, _, _ = run(bench, tmp_path / arm, row(arm))
        assert result.outcome is not None
        assert result.outcome.duplicates == duplicates
        assert result.outcome.goal_met is (duplicates == 0)
        assert result.outcome.ambiguous_writes == 1
        assert result.injected_wait_us == 10_000_000


def test_an_escalation_is_charged_and_its_packet_judged(tmp_path: Path) -> None:
    bench = Bench(faults=(fault("forbidden", "tool:add_order"),))
    result, _, _ = run(bench, tmp_path)
    assert result.outcome is not None
    assert (result.outcome.end, result.outcome.packet_true) == (End.ESCALATED, True)
    assert not result.outcome.accepted
    assert result.human_us == 10_000_000
    assert result.cost_microusd == 20_000 + (result.attempts + result.reads) * 1000


def test_with_the_injectors_removed_the_rest_is_the_same(tmp_path: Path) -> None:
    traces = []
    for injected in (True, False):
        bench = Bench()
        _, events, _ = run(bench, tmp_path / str(injected), row(injected=injected))
        traces.append([event.model_copy(update={"wall_us": 0, "prev": ""}) for event in events[1:]])
        assert bench.urls == ["fake://upstream/t/hfr-t/v1" if injected else "fake://upstream"]
    assert traces[0] == traces[1]


def test_the_removed_injectors_do_inject_nothing(tmp_path: Path) -> None:
    bench = Bench(faults=(fault("busy", "tool:look"),))
    result, _, _ = run(bench, tmp_path, row("no_retry", injected=False))
    assert result.outcome is not None
    assert result.outcome.end is End.ACCEPTED


@pytest.mark.parametrize(
    ("error", "cause", "dropped"),
    [
        (HostDiedError("gone"), VoidCause.SANDBOX, 1),
        (InfrastructureError("no port"), VoidCause.SANDBOX, 0),
        (KeyError("our bug"), VoidCause.HARNESS, 0),
    ],
)
def test_a_failure_of_our_own_is_a_void_and_heals(
    tmp_path: Path, error: Exception, cause: VoidCause, dropped: int
) -> None:
    def broken(_: Any) -> Observation:
        raise error

    bench = Bench(agent=ToolCallingAgent, model=broken)
    result, events, scope = run(bench, tmp_path)
    assert (result.void, result.outcome) == (cause, None)
    assert str(error) in result.void_reason
    assert scope.dropped == dropped
    assert isinstance(events[-1].body, TrialEnded)
    assert bench.gateway.left == ["hfr-t"]
    assert bench.gateway.scenes == {}


def test_an_exception_of_a_strategy_is_an_outcome_not_a_void(tmp_path: Path) -> None:
    def broken(_: Any) -> Any:
        raise ZeroDivisionError("oops")

    bench = Bench(strategies={"mine": lambda _config, _kit: FakeStrategy(broken)})
    result, _, _ = run(bench, tmp_path, row("mine"))
    assert result.outcome is not None
    assert (result.outcome.end, result.void) == (End.FAILED, None)
    assert "the strategy raised ZeroDivisionError" in result.outcome.reason


def test_an_interrupt_leaves_a_part_and_no_result(tmp_path: Path) -> None:
    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    bench = Bench(agent=lambda: FakeAgent(interrupt))
    with pytest.raises(KeyboardInterrupt):
        run(bench, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl.part"]
    assert bench.gateway.left == ["hfr-t"]


def test_only_an_agent_that_needs_the_oracle_is_given_it(tmp_path: Path) -> None:
    for needs in (True, False):
        agent = FakeAgent(lambda _: None, needs_oracle=needs)
        run(Bench(agent=lambda: agent), tmp_path / str(needs))  # noqa: B023
        assert bool(agent.oracle.steps) is needs


def test_a_trial_is_late_by_the_trial_clock(tmp_path: Path) -> None:
    bench = Bench(faults=tuple(fault("lost", "tool:look", n, lands=False) for n in range(1, 9)))
    bench.shop._tasks = {
        name: task.model_copy(update={"deadline_s": 5.0})
        for name, task in bench.shop._tasks.items()
    }
    result, _, _ = run(bench, tmp_path, row("blind_resend", "shop/1"))
    assert result.outcome is not None
    assert (result.outcome.goal_met, result.outcome.in_time) == (True, False)
    assert not result.outcome.succeeded


def test_a_person_costs_what_is_registered() -> None:
    bench = Bench(human={"cost_usd": 1.5, "delay_s": 2})
    packet = EscalationPacket(trial_id="t", step=1, reason="")
    assert bench.human().take(packet) == (1_500_000, 2_000_000)
