"""One trial end to end over fakes: outcome or void, never both, and everything healed."""

from pathlib import Path
from typing import Any

import pytest

from hfr_bench.agents.tool_calling import ToolCallingAgent
from hfr_bench.errors import InfrastructureError
from hfr_bench.lab.trial import run_trial
from hfr_bench.model.attempt import Observation
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.terms import End, VoidCause
from hfr_bench.model.trace import EffectExecuted, TraceEvent, TrialEnded, TrialStarted
from hfr_bench.model.trial import PlanRow, TrialResult
from hfr_bench.ports.sandbox import HostDiedError
from hfr_bench.testing.bench import FakeBench, FakeScope, planned_row
from hfr_bench.testing.fakes import (
    FakeAgent,
    FakeStrategy,
)
from hfr_bench.testing.rig import fault, lost_answer


def run(
    bench: FakeBench, path: Path, planned: PlanRow | None = None
) -> tuple[TrialResult, list[TraceEvent], FakeScope]:
    scope = FakeScope(bench)
    trace = path / "t.jsonl"
    result = run_trial(scope, planned or planned_row(), 1, trace)  # type: ignore[arg-type]
    lines = trace.read_bytes().split(b"\n")[:-1]
    return result, [TraceEvent.loads(line) for line in lines], scope


def test_a_trace_starts_with_what_was_registered_and_ends_with_the_result(tmp_path: Path) -> None:
    result, events, _ = run(FakeBench(), tmp_path)
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
    _, events, _ = run(FakeBench(), tmp_path)
    ran = [event.body for event in events if isinstance(event.body, EffectExecuted)]
    assert [body.point for body in ran if body.actor == "user"] == ["user:confirm"]


def test_a_known_bad_arm_is_caught_duplicating_and_hfr_is_not(tmp_path: Path) -> None:
    for arm, duplicates in (("blind_resend", 1), ("hfr", 0)):
        bench = FakeBench(faults=(lost_answer("add_order"),))
        result, _, _ = run(bench, tmp_path / arm, planned_row(arm))
        assert result.outcome is not None
        assert result.outcome.duplicates == duplicates
        assert result.outcome.goal_met is (duplicates == 0)
        assert result.outcome.ambiguous_writes == 1
        assert result.injected_wait_us == 10_000_000


def test_an_escalation_is_charged_and_its_packet_judged(tmp_path: Path) -> None:
    bench = FakeBench(faults=(fault("forbidden", "tool:add_order"),))
    result, _, _ = run(bench, tmp_path)
    assert result.outcome is not None
    assert (result.outcome.end, result.outcome.packet_true) == (End.ESCALATED, True)
    assert not result.outcome.accepted
    assert result.human_us == 10_000_000
    assert result.cost_microusd == 20_000 + (result.attempts + result.reads) * 1000


def test_with_the_injectors_removed_the_rest_is_the_same(tmp_path: Path) -> None:
    traces = []
    for injected in (True, False):
        bench = FakeBench()
        _, events, _ = run(bench, tmp_path / str(injected), planned_row(injected=injected))
        traces.append([event.model_copy(update={"wall_us": 0, "prev": ""}) for event in events[1:]])
        assert bench.urls == ["fake://upstream/t/hfr-t/v1" if injected else "fake://upstream"]
    assert traces[0] == traces[1]


def test_the_removed_injectors_do_inject_nothing(tmp_path: Path) -> None:
    bench = FakeBench(faults=(fault("busy", "tool:look"),))
    result, _, _ = run(bench, tmp_path, planned_row("no_retry", injected=False))
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

    bench = FakeBench(agent=ToolCallingAgent, model=broken)
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

    bench = FakeBench(strategies={"mine": lambda _config, _kit: FakeStrategy(broken)})
    result, _, _ = run(bench, tmp_path, planned_row("mine"))
    assert result.outcome is not None
    assert (result.outcome.end, result.void) == (End.FAILED, None)
    assert "the strategy raised ZeroDivisionError" in result.outcome.reason


def test_an_interrupt_leaves_a_part_and_no_result(tmp_path: Path) -> None:
    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    bench = FakeBench(agent=lambda: FakeAgent(interrupt))
    with pytest.raises(KeyboardInterrupt):
        run(bench, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl.part"]
    assert bench.gateway.left == ["hfr-t"]


def test_only_an_agent_that_needs_the_oracle_is_given_it(tmp_path: Path) -> None:
    for needs in (True, False):
        agent = FakeAgent(lambda _: None, needs_oracle=needs)
        run(FakeBench(agent=lambda: agent), tmp_path / str(needs))  # noqa: B023
        assert bool(agent.oracle.steps) is needs


def test_a_trial_is_late_by_the_trial_clock(tmp_path: Path) -> None:
    bench = FakeBench(faults=tuple(fault("lost", "tool:look", n, lands=False) for n in range(1, 9)))
    bench.shop._tasks = {
        name: task.model_copy(update={"deadline_s": 5.0})
        for name, task in bench.shop._tasks.items()
    }
    result, _, _ = run(bench, tmp_path, planned_row("blind_resend", "shop/1"))
    assert result.outcome is not None
    assert (result.outcome.goal_met, result.outcome.in_time) == (True, False)
    assert not result.outcome.succeeded


def test_a_person_costs_what_is_registered() -> None:
    bench = FakeBench(human={"cost_usd": 1.5, "delay_s": 2})
    packet = EscalationPacket(trial_id="t", step=1, reason="")
    assert bench.human().take(packet) == (1_500_000, 2_000_000)
