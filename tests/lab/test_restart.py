"""The runtime under test crashes and comes back: checkpoints, the ledger first, then the agent."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench import plugins
from hfr_bench.agents.oracle import OracleAgent
from hfr_bench.agents.tool_calling import ToolCallingAgent
from hfr_bench.lab.rederive import disagreements
from hfr_bench.lab.trial import run_trial
from hfr_bench.model.attempt import (
    Decision,
    LedgerMove,
    Proposed,
    Restored,
    StrategyEvent,
)
from hfr_bench.model.ledger import CheckpointPoint
from hfr_bench.model.task import OracleStep
from hfr_bench.model.terms import Action, End, LedgerState, SideEffect
from hfr_bench.model.trace import AttemptEnded, Checkpointed, Decided, TraceEvent
from hfr_bench.ports.agent import Resumable, ToolRequest
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import BlindResend, NoRetry
from hfr_bench.testing.bench import FakeBench, FakeScope, planned_row
from hfr_bench.testing.careful import Careful
from hfr_bench.testing.fakes import FakeAgent, FakeCheckpoints, FakeModel, FakeStrategy
from hfr_bench.testing.rig import Rig, StepsAgent, crash, lost_answer
from hfr_bench.testing.shop import agent_step

S = LedgerState
TEA = ToolRequest("c", "add_order", {"item": "tea"})
GO, ACCEPT = Decision(Action.DISPATCH), Decision(Action.ACCEPT)

EVERYTHING = (
    agent_step("look"),
    agent_step("add_order", item="tea"),
    agent_step("set_address", to="Main St"),
    agent_step("look"),
    agent_step("add_order", item="milk"),
    agent_step("close_account"),
    agent_step("send_mail", text="done"),
)
CRASHES = [("look", 1), ("look", 2), ("add_order", 1), ("add_order", 2)] + [
    (tool, 1) for tool in ("set_address", "close_account", "send_mail")
]


@pytest.mark.parametrize("lands", [True, False])
@pytest.mark.parametrize(("tool", "occurrence"), CRASHES)
def test_a_careful_runtime_has_every_effect_once_or_calls_a_person(
    tool: str, occurrence: int, *, lands: bool
) -> None:
    dies = crash(tool, occurrence, lands=lands)
    ran = Rig(Careful(), steps=EVERYTHING, faults=[dies]).run()
    assert ran.duplicates == 0
    if tool == "send_mail":
        assert (ran.end, ran.packet_true) == (End.ESCALATED, True)
        assert len(ran.world.mails) == lands
    else:
        assert ran.end is End.ACCEPTED
        assert ran.grade.goal_met


@given(st.lists(st.tuples(st.sampled_from(CRASHES), st.booleans()), max_size=4, unique_by=str))
def test_however_often_it_crashes(crashes: list[tuple[tuple[str, int], bool]]) -> None:
    dies = {f"{tool}/{n}": crash(tool, n, lands=lands) for (tool, n), lands in crashes}
    ran = Rig(Careful(), steps=EVERYTHING, faults=dies.values()).run()
    assert ran.duplicates == 0
    assert ran.end in (End.ACCEPTED, End.ESCALATED)
    assert ran.packet_true is not False


def test_the_strategy_never_hears_of_the_lost_answer_and_is_asked_first_afterwards() -> None:
    strategy = Careful()
    heard: list[str] = []

    class Listening(Careful):
        def decide(self, state: dict[str, Any], event: StrategyEvent) -> Any:
            heard.append(type(event).__name__)
            return strategy.decide(state, event)

    made = Rig(Listening(), faults=[crash("add_order")])
    made.run()
    assert heard == [*("Proposed", "Prepared", "Restored", "Proposed", "Reconciled", "Finishing")]
    assert [body.on for body in made.sink.of(Decided)] == heard
    (first, *_) = [b for b in made.sink.of(AttemptEnded) if b.exception]
    assert first.exception == "ConnectionClosed"


def test_what_the_store_knows_is_told_with_the_time_that_is_left() -> None:
    told: list[Restored] = []

    class Noting(Careful):
        def decide(self, state: dict[str, Any], event: StrategyEvent) -> Any:
            if isinstance(event, Restored):
                told.append(event)
            return super().decide(state, event)

    steps = EVERYTHING[:3]
    made = Rig(Noting(), steps=steps, faults=[crash("set_address")], deadline_s=99)
    made.run()
    (event,) = told
    assert (event.deadline_us, event.drifted) == (99_000_000, False)
    assert [(k.tool, k.state, k.level) for k in event.ledger] == [
        ("add_order", S.COMMITTED, SideEffect.QUERYABLE),
        ("set_address", S.PREPARED, SideEffect.IDEMPOTENT),
    ]


def test_a_blind_runtime_starts_over_and_duplicates() -> None:
    steps = (agent_step("add_order", item="a"), agent_step("add_order", item="b"))
    ran = Rig(BlindResend({}, Kit()), steps=steps, faults=[crash("add_order", 2)]).run()
    assert (ran.end, ran.duplicates) == (End.ACCEPTED, 2)
    assert [ran.world.orders(item) for item in "ab"] == [2, 2]


def test_a_plain_strategy_ignores_the_event() -> None:
    ran = Rig(NoRetry({}, Kit()), steps=(agent_step("look"),), faults=[crash("look")]).run()
    assert (ran.end, ran.attempts()) == (End.ACCEPTED, 2)


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        (ACCEPT, End.ACCEPTED),
        (GO, End.ACCEPTED),
        (Decision(Action.ESCALATE), End.ESCALATED),
        (Decision(Action.FAIL), End.FAILED),
        (Decision(Action.RETRY), End.FAILED),
        ("nonsense", End.FAILED),
    ],
    ids=str,
)
def test_what_a_strategy_may_say_to_it(answer: Any, end: End) -> None:
    def decide(event: StrategyEvent) -> Decision:
        if isinstance(event, Restored):
            return answer  # type: ignore[no-any-return]
        return GO if isinstance(event, Proposed) else ACCEPT

    assert Rig(FakeStrategy(decide), faults=[crash("add_order")]).run().end is end


def test_an_entry_nobody_has_heard_of_cannot_be_moved_after_a_restart() -> None:
    def decide(event: StrategyEvent) -> Decision:
        if isinstance(event, Restored):
            moves = (LedgerMove("k", "s", S.PREPARED, "add_order"),)
            return Decision(Action.ACCEPT, moves=moves)
        return GO if isinstance(event, Proposed) else ACCEPT

    ran = Rig(FakeStrategy(decide), faults=[crash("add_order")]).run()
    assert (ran.end, "nothing is at work under the key k" in ran.reason) == (End.FAILED, True)


# -- state ------------------------------------------------------------------------------------


def test_the_strategys_state_is_the_last_checkpoints() -> None:
    states: list[tuple[str, int]] = []

    class Counting:
        def begin(self) -> dict[str, Any]:
            return {"n": 0}

        def decide(self, state: dict[str, Any], event: StrategyEvent) -> Any:
            states.append((type(event).__name__, state["n"]))
            return {"n": state["n"] + 1}, GO if isinstance(event, Proposed) else ACCEPT

    steps = (agent_step("look"), agent_step("look"))
    Rig(Counting(), steps=steps, faults=[crash("look", 2)]).run()
    assert states[2:5] == [("Proposed", 2), ("Restored", 0), ("Proposed", 1)]


def test_checkpoints_are_made_at_the_moments_of_the_paper() -> None:
    store = FakeCheckpoints()
    steps = (*EVERYTHING[:2], agent_step("send_mail", text="x"))
    made = Rig(Careful(), steps=steps, faults=[crash("send_mail")], store=store)
    made.run()
    moments = [(kept.point, kept.agent_state["agent"]["at"]) for kept in store.saved]
    point = CheckpointPoint
    assert moments == [
        (point.BEGUN, 0),
        (point.PREPARED, 1),
        (point.COMMITTED, 2),  # its answer has reached the agent
        (point.PREPARED, 2),
        (point.ESCALATING, 2),
    ]
    assert [kept.seq for kept in store.saved] == [1, 2, 3, 4, 5]


def test_a_trace_gets_digests_alone() -> None:
    made = Rig(Careful(), faults=[crash("add_order")])
    made.run()
    first, *_ = made.sink.of(Checkpointed)
    assert set(first.checkpoint.agent_state) == set(first.checkpoint.strategy_state) == {"sha256"}


def test_where_no_crash_is_planned_nothing_is_kept_or_written() -> None:
    made = Rig(Careful(), faults=[lost_answer("look")])
    made.run()
    assert (made.guard.checkpoints, made.sink.of(Checkpointed)) == (None, [])


def test_a_state_that_is_not_json_is_the_strategys_failure() -> None:
    class Odd:
        def begin(self) -> dict[str, Any]:
            return {"odd": {1, 2}}

        def decide(self, state: dict[str, Any], event: StrategyEvent) -> Any:
            raise AssertionError("never asked")

    ran = Rig(Odd(), faults=[crash("add_order")]).run()
    assert (ran.end, "cannot be written down" in ran.reason) == (End.FAILED, True)


# -- agents -----------------------------------------------------------------------------------


def test_an_agent_that_swallows_the_crash_has_still_lost_its_runtime() -> None:
    calls: list[str] = []

    def deaf(runtime: Any) -> None:
        for n in range(2):
            try:
                calls.append(runtime.tool(TEA).content)
            except BaseException:  # noqa: BLE001
                calls.append(f"swallowed {n}")

    ran = Rig(BlindResend({}, Kit()), agent=FakeAgent(deaf), faults=[crash("add_order")]).run()
    assert calls[:2] == ["swallowed 0", "swallowed 1"]
    assert ran.end is End.ACCEPTED


def talk(turns: list[Any]) -> Iterator[Any]:
    yield from turns


@pytest.mark.parametrize("lands", [True, False])
def test_the_tool_calling_agent_goes_on_with_the_call_it_was_at(*, lands: bool) -> None:
    order = ("add_order", '{"item": "tea"}')
    turns = talk([FakeModel.says("", ("look", "{}"), order), FakeModel.says("Done.")])
    made = Rig(
        Careful(),
        agent=ToolCallingAgent(),
        model=lambda _: next(turns),
        faults=[crash("add_order", lands=lands)],
    )
    ran = made.run()
    assert (ran.end, ran.world.orders("tea")) == (End.ACCEPTED, 1)
    said = made.agent.state()["messages"]  # type: ignore[attr-defined]
    assert [message["role"] for message in said] == [
        *("system", "user", "assistant", "tool", "tool", "assistant")
    ]
    assert [m["tool_call_id"] for m in said if m["role"] == "tool"] == ["c0", "c1"]


@pytest.mark.parametrize("make", [ToolCallingAgent, OracleAgent, lambda: StepsAgent(())])
def test_agents_of_ours_can_be_resumed(make: Any) -> None:
    agent = make()
    assert isinstance(agent, Resumable)
    agent.resume({})
    other = make()
    other.resume(agent.state())
    assert other.state() == agent.state()


# -- a whole trial ----------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["look", "add_order", "close_account"])
def test_in_a_trial_the_result_still_follows_from_the_trace(tmp_path: Path, tool: str) -> None:
    bench = FakeBench(
        faults=(crash(tool),), strategies={"careful": lambda _config, _kit: Careful()}
    )
    row = planned_row("careful", "shop/3")
    result = run_trial(FakeScope(bench), row, 1, tmp_path / "t.jsonl")  # type: ignore[arg-type]
    lines = (tmp_path / "t.jsonl").read_bytes().split(b"\n")[:-1]
    events = [TraceEvent.loads(line) for line in lines]
    assert result.outcome is not None
    assert (result.outcome.succeeded, result.outcome.harm) == (True, 0)
    assert disagreements(events, row.trial, bench.prereg.human) == ()
    assert any(e.body.type == "checkpointed" for e in events)
    assert all(before.seq + 1 == after.seq for before, after in pairwise(events))


def test_an_oracle_agent_is_not_sent_back_to_its_user(tmp_path: Path) -> None:
    bench = FakeBench(faults=(crash("close_account"),), strategies={"c": lambda _c, _k: Careful()})
    scope: Any = FakeScope(bench)
    run_trial(scope, planned_row("c", "shop/3"), 1, tmp_path / "t.jsonl")
    world = bench.shop.worlds[0]
    assert sum(tool == "confirm" for _, tool, _, _ in world.log) == 1


def test_plain_arms_are_told_apart_by_what_they_keep() -> None:
    for name in ("no_retry", "exp_retry"):
        strategy = plugins.find("strategies", name)({}, Kit())
        steps: tuple[OracleStep, ...] = (agent_step("add_order", item="tea"),)
        assert Rig(strategy, steps=steps, faults=[crash("add_order")]).run().duplicates == 1
