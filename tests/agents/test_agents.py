"""Each agent over a fake runtime: what it asks for, what it says, and when it leaves."""

import pytest

from hfr_bench.agents.nop import NopAgent
from hfr_bench.agents.oracle import OracleAgent
from hfr_bench.agents.tool_calling import ToolCallingAgent
from hfr_bench.model.task import OracleStep
from hfr_bench.ports.agent import ModelReply, Oracle, ToolReply, ToolRequest
from hfr_bench.testing.fakes import FakeRuntime, FakeUser
from hfr_bench.testing.shop import ShopSuite, agent_step, task

SHOP = task("shop/1")


def wants(*names: str) -> ModelReply:
    requests = tuple(ToolRequest(f"c{n}", name, {}) for n, name in enumerate(names))
    return ModelReply({"role": "assistant", "content": None}, "", requests)


def says(text: str) -> ModelReply:
    return ModelReply({"role": "assistant", "content": text}, text)


def test_the_tool_calling_agent_runs_what_the_model_asks_for() -> None:
    runtime = FakeRuntime(
        [wants("look", "add_order"), wants("look"), says("ordered"), says("bye")],
        [ToolReply(text) for text in ("one", "two", "three")],
        FakeUser("tea please", ["thanks", "done"]),
    )
    ToolCallingAgent().run(SHOP, runtime, Oracle())
    assert [request.name for request in runtime.tools.asked] == ["look", "add_order", "look"]
    assert runtime.user.heard == ["ordered", "bye"]
    last = runtime.models.asked[-1]
    assert [message["role"] for message in last] == [
        *("system", "user", "assistant", "tool", "tool"),
        *("assistant", "tool", "assistant", "user"),
    ]
    assert last[0]["content"] == "Keep shop."
    answers = [(m["tool_call_id"], m["content"]) for m in last if m["role"] == "tool"]
    assert answers == [("c0", "one"), ("c1", "two"), ("c0", "three")]
    assert [tool["function"]["name"] for tool in runtime.offered] == [t.name for t in SHOP.tools]


def test_the_tool_calling_agent_leaves_when_the_user_does() -> None:
    runtime = FakeRuntime(user=FakeUser("never mind", []))
    ToolCallingAgent().run(SHOP, runtime, Oracle())
    assert runtime.models.asked == []


def test_the_oracle_hands_over_where_the_user_must_act() -> None:
    steps = (
        agent_step("look"),
        OracleStep(actor="user", tool="confirm"),
        OracleStep(actor="user", tool="confirm"),
        agent_step("add_order", item="tea"),
    )
    runtime = FakeRuntime(
        answers=[ToolReply("")] * 2, user=FakeUser("hi", ["confirmed", "confirmed", "bye"])
    )
    OracleAgent().run(SHOP, runtime, Oracle(steps, ("It is done.", "Really.")))
    assert [request.name for request in runtime.tools.asked] == ["look", "add_order"]
    assert runtime.tools.asked[1].arguments == {"item": "tea"}
    assert runtime.user.heard == [
        "Please go on with your part.",
        "Done. It is done. Really.",
    ]


def test_the_oracle_says_nothing_to_a_user_who_has_left() -> None:
    runtime = FakeRuntime(user=FakeUser("hi", ["bye"]))
    OracleAgent().run(SHOP, runtime, Oracle((OracleStep(actor="user", tool="confirm"),), ("x",)))
    assert len(runtime.user.heard) == 1


@pytest.mark.parametrize("task_id", ["shop/1", "shop/2", "shop/3"])
def test_the_oracle_solves_every_task_of_a_living_world(task_id: str) -> None:
    suite = ShopSuite()
    world = suite.open()
    world.reset(task_id)
    said: list[str] = []

    def run(request: ToolRequest) -> ToolReply:
        done = world.execute(request.name, request.arguments, actor="agent", operation_id="x")
        return ToolReply(done.observation.body)

    def act(tool: str, arguments: object) -> object:
        return world.execute(tool, {}, actor="user", operation_id="u").observation

    runtime = FakeRuntime(answers=run)
    runtime.user = user = world.user(task_id, act)  # type: ignore[assignment,arg-type]
    sealed = suite.sealed(task_id)
    OracleAgent().run(SHOP, runtime, Oracle(sealed.oracle, sealed.say))
    said += ["Done."]
    assert user is runtime.user
    assert world.grade(said).official == 1.0


def test_the_oracle_declares_what_it_needs_and_others_do_not() -> None:
    assert OracleAgent.needs_oracle is True
    assert not hasattr(ToolCallingAgent, "needs_oracle")
    assert not hasattr(NopAgent, "needs_oracle")


def test_nop_hears_the_user_out_and_does_nothing() -> None:
    runtime = FakeRuntime()
    NopAgent().run(SHOP, runtime, Oracle())
    assert (runtime.models.asked, runtime.tools.asked, runtime.user.heard) == ([], [], [])
