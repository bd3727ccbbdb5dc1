"""The user played by a model: its words, its own tools, how it ends, and what it never touches."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hfr_bench import plugins
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.model.attempt import Observation
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.terms import ClockKind
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.suites._scripted import ScriptedUser
from hfr_bench.suites.tau2 import Tau2Suite
from hfr_bench.suites.tau2.user_llm import CALLS_MAX, GREETING, PROMPT, Cast, LlmUser
from hfr_bench.testing.fakes import FakeBackend, FakePort, refused

MODEL = "openai/test"
TOOLS = [
    {"name": "reboot", "description": "Restart it.", "parameters": {"type": "object"}, "kind": "x"}
]


def says(text: str | None, *calls: tuple[str, str], cost: int | None = 7) -> Observation:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"u{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(calls)
        ]
    return Observation(answered=True, status=200, payload=message, cost_microusd=cost)


class Phone:
    """The user's own device, which remembers what was done with it."""

    def __init__(self) -> None:
        self.done: list[tuple[str, dict[str, Any]]] = []

    def act(self, tool: str, arguments: Mapping[str, Any]) -> Observation:
        self.done.append((tool, dict(arguments)))
        return Observation(answered=True, status=200, body="rebooted")


@pytest.fixture
def phone() -> Phone:
    return Phone()


@pytest.fixture
def play(phone: Phone) -> Callable[..., tuple[LlmUser, FakePort]]:
    def make(
        *answers: Observation, tools: list[dict[str, Any]] | None = None
    ) -> tuple[LlmUser, FakePort]:
        port = FakePort(answers)
        return LlmUser(port, MODEL, 5, "You are Ada.", tools or [], phone.act), port

    return make


def test_the_user_is_told_its_scenario_and_greeted(play: Any) -> None:
    user, port = play(says("My phone is slow."))
    turn = user.open()
    assert (turn.text, turn.over) == ("My phone is slow.", False)
    asked = port.asked[0]
    assert (asked.target, asked.point, asked.timeout_us) == (MODEL, "model:user", 5_000_000)
    assert asked.payload == {
        "messages": [
            {"role": "system", "content": PROMPT + "You are Ada."},
            {"role": "user", "content": GREETING},
        ]
    }


def test_to_the_users_model_the_agent_is_the_user(play: Any) -> None:
    user, port = play(says("Slow."), says("Yes."))
    user.open()
    user.reply("Is it on?")
    said = [(m["role"], m["content"]) for m in port.asked[1].payload["messages"][1:]]
    assert said == [("user", GREETING), ("assistant", "Slow."), ("user", "Is it on?")]


@pytest.mark.parametrize("stop", ["###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"])
def test_a_stop_token_ends_the_conversation(play: Any, stop: str) -> None:
    user, _ = play(says(f"Thanks. {stop}"))
    assert user.open().over


def test_the_users_own_tools_run_by_act_and_nothing_else_does(play: Any, phone: Phone) -> None:
    calls = (("reboot", '{"hard":true}'), ("refund", "{}"), ("reboot", "{"), ("reboot", "[]"))
    user, port = play(says(None, *calls), says("I have restarted it."), tools=TOOLS)
    assert user.open().text == "I have restarted it."
    assert phone.done == [("reboot", {"hard": True})]
    offered = port.asked[0].payload["tools"]
    assert [tool["function"]["name"] for tool in offered] == ["reboot"]
    results = [m["content"] for m in port.asked[1].payload["messages"] if m["role"] == "tool"]
    assert results[0] == "rebooted"
    assert all(text.startswith("Error: ") for text in results[1:])


def test_its_cost_is_its_own_and_null_once_a_price_is(play: Any) -> None:
    user, _ = play(says("a"), says("b"), says("c", cost=None), says("d"))
    user.open()
    user.reply("x")
    assert user.cost_microusd == 14
    user.reply("y")
    user.reply("z")
    assert user.cost_microusd is None


@pytest.mark.parametrize("answer", [refused(400), says("  "), says(None)])
def test_a_user_that_cannot_speak_is_our_failure(play: Any, answer: Observation) -> None:
    user, _ = play(answer)
    with pytest.raises(InfrastructureError, match="openai/test"):
        user.open()


def test_a_user_that_only_calls_tools_is_our_failure(play: Any, phone: Phone) -> None:
    user, _ = play(*[says(None, ("reboot", "{}"))] * CALLS_MAX, tools=TOOLS)
    with pytest.raises(InfrastructureError, match="tool calls"):
        user.open()
    assert len(phone.done) == CALLS_MAX


def test_a_cast_speaks_to_the_model_server_in_real_time(phone: Phone) -> None:
    met: list[tuple[str, str, ClockKind]] = []

    def client(url: str, scope: Any) -> FakePort:
        met.append((url, scope.task_id, scope.clock.kind))
        return FakePort([says("hello")])

    cast = Cast(MODEL, 5)
    with pytest.raises(BadInputError, match="live run"):
        cast.user("tau2", "airline/2", "", [], phone.act)
    cast.connect(FakeBackend(client), "http://upstream/v1")
    assert cast.user("tau2", "airline/2", "You.", [], phone.act).open().text == "hello"
    assert met == [("http://upstream/v1", "airline/2", ClockKind.WALL)]


@pytest.mark.parametrize(
    "config", [{"user": "llm"}, {"user_model": MODEL}, {"user": "person", "user_model": MODEL}]
)
def test_half_a_registration_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(BadInputError, match="user"):
        Tau2Suite(None, **config)  # type: ignore[arg-type]


@pytest.mark.tau2
def test_a_suite_hands_scenario_and_tools_to_its_user_and_pins_the_wording(phone: Phone) -> None:
    task = "telecom/[mobile_data_issue]data_saver_mode_on|user_abroad_roaming_enabled_off"
    ports: list[FakePort] = []

    def client(_url: str, _scope: Any) -> FakePort:
        ports.append(FakePort([says("I am stuck.")]))
        return ports[-1]

    box = plugins.find("sandboxes", "process")(SandboxContext("run", "owner"))
    try:
        suite = Tau2Suite(box, user="llm", user_model=MODEL)
        suite.connect(FakeBackend(client), "http://upstream/v1")
        pick = SuiteSelection(suite="tau2", pool="telecom")
        name = next(t.task_id for t in suite.select(pick) if t.task_id.startswith(task))
        world = suite.open()
        world.reset(name)
        assert world.user(name, phone.act).open().text == "I am stuck."
        sent = ports[0].asked[0].payload
        assert "Reason for call" in sent["messages"][0]["content"]
        assert "toggle_data_saver_mode" in json.dumps(sent["tools"])
        plain = Tau2Suite(box)
        one = SuiteSelection(suite="tau2", tasks=(name,))
        assert suite.pin(one).content_digest != plain.pin(one).content_digest
        assert isinstance(plain.user(name, phone.act), ScriptedUser)
        world.close()
    finally:
        box.close()
