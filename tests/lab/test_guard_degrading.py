"""Rungs carried out: another tool, a registered answer, a shorter conversation (paper §4.4)."""

from typing import Any

import pytest

from hfr_bench.lab.carry import Gear
from hfr_bench.lab.compressing import ModelSummary, RollingSummary
from hfr_bench.model.attempt import Attempted, Compressed, Decision, Prepared, Proposed
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.record import json_digest
from hfr_bench.model.task import ReconcileContract, ToolSpec
from hfr_bench.model.terms import Action, End, SideEffect
from hfr_bench.model.trace import AttemptStarted, EffectExecuted, StepEnded
from hfr_bench.recovery.adapter import Adaptation
from hfr_bench.testing.fakes import FakeAgent, FakeModel, FakeStrategy, FakeSummarizer, lost
from hfr_bench.testing.rig import Rig, StepsAgent, fault
from hfr_bench.testing.shop import agent_step

GO, ACCEPT, RETRY = Decision(Action.DISPATCH), Decision(Action.ACCEPT), Decision(Action.RETRY)
REPLAN = Decision(Action.REPLAN)
COMPRESS = Decision(Action.COMPRESS)
PREPARE = Decision(Action.DISPATCH, prepare=True)
LADDER = Gear(ladder=True)


def to(tool: str) -> Decision:
    return Decision(Action.DEGRADE_TOOL, substitute=tool)


def fallen(answer: str = "sorry", name: str | None = "apology") -> Decision:
    return Decision(Action.DEGRADE_SCOPE, substitute=name, answer=answer)


def spec(name: str, level: SideEffect = SideEffect.READ, **fields: Any) -> ToolSpec:
    return ToolSpec(name=name, level=level, **fields)


def rig(*decisions: Decision, gear: Gear = LADDER, **parts: Any) -> Rig:
    return Rig(FakeStrategy(decisions), gear=gear, **parts)


def heard(of: Rig, kind: type[Any]) -> list[Any]:
    strategy = of.guard.strategy
    assert isinstance(strategy, FakeStrategy)
    return [event for event in strategy.asked if isinstance(event, kind)]


# -- another tool -----------------------------------------------------------------------------

WRITES = (
    spec("set_address", SideEffect.IDEMPOTENT),
    spec("add_order", SideEffect.QUERYABLE, equivalents=("close_account", "set_address", "fly")),
    spec("close_account", SideEffect.QUERYABLE),
)
READS = (spec("look", equivalents=("watch",)), spec("watch"))


def test_an_equivalent_tool_takes_its_place_at_a_point_of_its_own() -> None:
    busy = fault("busy", "tool:look", n=2)
    steps = (agent_step("look"), agent_step("watch"))
    made = rig(
        *(GO, RETRY, GO, to("watch"), GO, ACCEPT, GO, ACCEPT, ACCEPT),
        tools=READS,
        agent=StepsAgent(steps),
        faults=[busy],
    )
    ran = made.run()
    started = [
        (e.body.point, e.body.target, e.body.occurrence, e.attempt)
        for e in made.sink.events
        if isinstance(e.body, AttemptStarted)
    ]
    assert started == [
        ("tool:look", "look", 1, 1),
        ("tool:look", "look", 1, 2),
        ("tool:watch", "watch", 1, 1),
        ("tool:watch", "watch", 2, 1),
    ]
    assert [view.target for view in views(made, Attempted)] == ["look", "look", "watch", "watch"]
    assert len({view.intent.key for view in views(made, Attempted)[:3]}) == 1
    assert (ran.end, made.guard.tally.degraded_steps) == (End.ACCEPTED, 1)
    first, _ = made.sink.of(StepEnded)
    assert (first.point, first.attempts) == ("tool:watch", 3)


def views(of: Rig, kind: type[Any]) -> list[Any]:
    return [event.view for event in heard(of, kind)]


def test_only_tools_with_the_same_side_effects_and_parameters_are_shown() -> None:
    made = rig(GO, ACCEPT, ACCEPT, tools=WRITES)
    made.run()
    assert views(made, Proposed)[0].equivalents == ("close_account",)
    bare = rig(GO, ACCEPT, ACCEPT, tools=WRITES, gear=Gear())
    bare.run()
    assert views(bare, Proposed)[0].equivalents == ()


@pytest.mark.parametrize(
    ("parameters", "fits"),
    [
        ({}, True),
        ({"properties": {"item": {}}, "required": ["item"]}, True),
        ({"properties": {"item": {}, "size": {}}}, True),
        ({"properties": {"item": {}, "size": {}}, "required": ["item", "size"]}, False),
        ({"properties": {"thing": {}}}, False),
    ],
)
def test_arguments_must_fit_as_they_are(parameters: dict[str, Any], *, fits: bool) -> None:
    other = spec("close_account", SideEffect.QUERYABLE, parameters=parameters)
    made = rig(GO, ACCEPT, ACCEPT, tools=(WRITES[1], other))
    made.run()
    assert views(made, Proposed)[0].equivalents == (("close_account",) if fits else ())


def test_a_suite_may_say_how_a_call_is_said_to_the_other_tool() -> None:
    take = {"properties": {"thing": {}}, "required": ["thing"]}
    other = spec("close_account", SideEffect.QUERYABLE, parameters=take)
    how = Adaptation(fields={"thing": "item"}, same_semantics=True)
    made = rig(
        *(GO, to("close_account"), GO, ACCEPT, ACCEPT),
        tools=(WRITES[1], other),
        gear=Gear(ladder=True, how=lambda _source, _target: how),
    )
    made.run()
    digests = [body.args_digest for body in made.sink.of(EffectExecuted)]
    assert digests[1] == json_digest({"thing": "tea"})


@pytest.mark.parametrize(
    "tools",
    [
        (spec("add_order", SideEffect.IRREVERSIBLE, equivalents=("b",)),),
        (spec("add_order", SideEffect.QUERYABLE, equivalents=("b",), irreversible=True),),
        (spec("add_order", SideEffect.QUERYABLE, equivalents=("b",)),),
        (),
    ],
    ids=["R3", "irreversible", "other level", "not offered"],
)
def test_no_other_tool_does_what_cannot_be_undone(tools: tuple[ToolSpec, ...]) -> None:
    level = SideEffect.IRREVERSIBLE if tools and tools[0].level == "R3" else SideEffect.IDEMPOTENT
    known = tools or (spec("add_order", SideEffect.QUERYABLE),)
    ran = rig(to("b"), tools=(*known, spec("b", level))).run()
    assert (ran.end, ran.attempts()) == (End.FAILED, 0)
    assert "DEGRADE_TOOL, which cannot be done" in ran.reason


def test_a_substitute_is_asked_about_through_its_own_contract() -> None:
    look = ReconcileContract(read="look", landed="account_closed")
    tools = (
        spec("look"),
        spec("add_order", SideEffect.QUERYABLE, equivalents=("close_account",)),
        spec("close_account", SideEffect.QUERYABLE, reconcile=look),
    )
    made = rig(
        *(GO, to("close_account"), PREPARE, GO, Decision(Action.RECONCILE), ACCEPT, ACCEPT),
        tools=tools,
    )
    made.run()
    assert [view.can_reconcile for view in views(made, Proposed)] == [False, True]
    assert [body.point for body in made.sink.of(AttemptStarted)] == [
        *("tool:add_order", "prepare:close_account", "tool:close_account"),
        "reconcile:close_account",
    ]
    assert heard(made, Prepared)[0].view.point == "tool:close_account"


# -- a registered answer ----------------------------------------------------------------------


def test_a_read_may_end_with_a_registered_answer() -> None:
    made = rig(GO, fallen('{"orders": []}'), ACCEPT, steps=(agent_step("look"),))
    ran = made.run()
    assert made.agent.told == ['{"orders": []}']  # type: ignore[attr-defined]
    (ended,) = made.sink.of(StepEnded)
    assert (ended.action, made.guard.tally.degraded_steps) == (Action.DEGRADE_SCOPE, 1)
    assert ran.end is End.ACCEPTED


def test_so_may_a_model_step() -> None:
    got: list[Any] = []
    agent = FakeAgent(lambda runtime: got.append(runtime.model([], [])))
    made = rig(GO, fallen("I cannot say."), ACCEPT, agent=agent, model=lambda _: lost())
    assert made.run().end is End.ACCEPTED
    assert (got[0].text, got[0].message["role"]) == ("I cannot say.", "assistant")


@pytest.mark.parametrize(
    ("decision", "steps"),
    [
        (fallen(), (agent_step("add_order", item="tea"),)),
        (fallen(name=None), (agent_step("look"),)),
    ],
    ids=["a write", "nameless"],
)
def test_never_a_write_and_never_without_a_name(decision: Decision, steps: Any) -> None:
    ran = rig(decision, steps=steps).run()
    assert (ran.end, "DEGRADE_SCOPE, which cannot be done" in ran.reason) == (End.FAILED, True)


# -- a shorter conversation -------------------------------------------------------------------

LONG = [{"role": "user", "content": "x" * 4000}] * 3


def asking(*decisions: Decision, model: Any = lambda _: FakeModel.says("hi"), **gear: Any) -> Rig:
    agent = FakeAgent(lambda runtime: runtime.model(LONG, []) and None)
    return rig(*decisions, gear=Gear(ladder=True, **gear), agent=agent, model=model)


def test_a_compressed_step_sends_less_from_then_on_and_counts_as_degraded() -> None:
    sent: list[Any] = []

    def model(call: Any) -> Any:
        sent.append(call.payload)
        return lost() if len(sent) < 3 else FakeModel.says("hi")

    made = asking(
        *(GO, COMPRESS, RETRY, GO, RETRY, GO, ACCEPT, ACCEPT),
        model=model,
        summarizer=FakeSummarizer(1),
        context_tokens=5000,
    )
    ran = made.run()
    assert [len(payload["messages"]) for payload in sent] == [3, 2, 2]
    (compressed,) = heard(made, Compressed)
    before, after = views(made, Proposed)[0], compressed.view
    assert (compressed.done, before.tokens > 3000 > after.tokens > 2000) == (True, True)
    assert before.context_left == 5000 - before.tokens
    assert after.context_left == 5000 - after.tokens
    assert (ran.end, made.guard.tally.degraded_steps) == (End.ACCEPTED, 1)
    digests = [body.request_digest for body in made.sink.of(AttemptStarted)]
    assert digests == [json_digest(payload) for payload in sent]
    assert len({view.intent.intent_id for view in views(made, Attempted)}) == 1


def test_what_cannot_be_made_shorter_is_told_and_is_no_rung() -> None:
    made = asking(COMPRESS, GO, ACCEPT, ACCEPT, summarizer=FakeSummarizer(5))
    made.run()
    assert ([event.done for event in heard(made, Compressed)], made.guard.tally.degraded_steps) == (
        [False],
        0,
    )


def test_a_model_may_sum_up_at_a_point_of_its_own() -> None:
    calls: list[tuple[str, str, int]] = []

    def model(call: Any) -> Any:
        calls.append((call.point, call.purpose, call.attempt))
        return FakeModel.says("short")

    made = asking(COMPRESS, GO, ACCEPT, ACCEPT, model=model, summarizer=ModelSummary(keep=1))
    ran = made.run()
    assert calls == [("model:compress", "compress", 1), ("model:agent", "agent", 1)]
    assert (ran.attempts("compress"), made.sums.reads) == (1, 1)


@pytest.mark.parametrize("gear", [Gear(), Gear(summarizer=RollingSummary())])
def test_a_tool_step_or_an_arm_without_a_ladder_cannot_compress(gear: Gear) -> None:
    agent = None
    if gear.summarizer is None:
        agent = FakeAgent(lambda runtime: runtime.model(LONG, []) and None)
    ran = rig(COMPRESS, gear=gear, agent=agent).run()
    assert (ran.end, "COMPRESS, which cannot be done" in ran.reason) == (End.FAILED, True)


def test_a_size_is_taken_for_arms_with_a_ladder_alone() -> None:
    agent = FakeAgent(lambda runtime: runtime.model(LONG, []) and None)
    made = rig(
        *(GO, ACCEPT, ACCEPT),
        gear=Gear(),
        agent=agent,
        equipment=Equipment(),
        model=lambda _: FakeModel.says("hi"),
    )
    made.run()
    view = views(made, Proposed)[0]
    assert (view.tokens, view.context_left, view.goal_version) == (0, None, 1)
