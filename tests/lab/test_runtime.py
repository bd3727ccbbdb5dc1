"""What an agent is given: replies, tool answers, user turns, and no more steps than registered."""

import json
from typing import Any

import pytest

from hfr_bench.model.attempt import Decision, Observation
from hfr_bench.model.prereg import Limits
from hfr_bench.model.record import text_digest
from hfr_bench.model.terms import Action, End
from hfr_bench.model.trace import AttemptStarted, Said, StepEnded
from hfr_bench.ports.agent import ModelReply, ToolReply, ToolRequest
from hfr_bench.testing.fakes import FakeAgent, FakeInjector, FakeModel, FakeStrategy, lost, refused
from hfr_bench.testing.rig import Ran, Rig

GO, ACCEPT = Decision(Action.DISPATCH), Decision(Action.ACCEPT)
BUSY = {("tool:add_order", 1, 1): refused(503), ("tool:add_order", 2, 1): lost()}


def plain(event: Any) -> Decision:
    """Dispatch what is proposed, accept the rest."""
    return GO if type(event).__name__ == "Proposed" else ACCEPT


def tool(name: str = "add_order", **arguments: Any) -> ToolRequest:
    return ToolRequest("c", name, arguments)


class Talk:
    """An agent made of a function that returns what it got; `got` keeps it."""

    def __init__(self, act: Any, strategy: Any = plain, **parts: Any) -> None:
        self.got: Any = None

        def run(runtime: Any) -> None:
            self.got = act(runtime)

        self.rig = Rig(FakeStrategy(strategy), agent=FakeAgent(run), **parts)
        self.ran: Ran = self.rig.run()


def reply(seen: Observation) -> ModelReply:
    talk = Talk(
        lambda runtime: runtime.model([{"role": "user", "content": "hi"}], []),
        model=(lambda _: seen),
    )
    assert isinstance(talk.got, ModelReply)
    return talk.got


def test_a_model_reply_is_text_and_tool_requests() -> None:
    got = reply(FakeModel.says("hello", ("look", "{}"), ("add_order", '{"item": "tea"}')))
    assert got.text == "hello"
    assert got.tool_requests == (
        ToolRequest("c0", "look", {}),
        ToolRequest("c1", "add_order", {"item": "tea"}),
    )
    assert got.message["role"] == "assistant"
    assert reply(Observation(answered=True, payload={"content": None})).text == ""


@pytest.mark.parametrize(
    "raw",
    ["{", "[]", '"x"', "nan", '{"n": NaN}', '{"n": 123456789012345678901}', '{"s": "\\ud800"}'],
)
def test_unreadable_arguments_are_said_not_raised(raw: str) -> None:
    (request,) = reply(FakeModel.says("", ("add_order", raw))).tool_requests
    assert request.malformed
    talk = Talk(lambda runtime: runtime.tool(request))
    assert talk.got.content.startswith("Error: the arguments could not be read")
    assert talk.ran.attempts() == 0


def test_arguments_that_are_no_text_at_all_are_unreadable() -> None:
    call = {"id": "1", "function": {"name": "look", "arguments": {"a": 1}}}
    (request,) = reply(Observation(answered=True, payload={"tool_calls": [call]})).tool_requests
    assert request.malformed


def test_an_unknown_tool_is_told_with_what_there_is() -> None:
    talk = Talk(lambda runtime: runtime.tool(tool("fly")))
    assert "unknown tool 'fly'; there are: look, set_address" in talk.got.content
    assert talk.ran.attempts() == 0


def test_a_tool_answer_is_passed_on_as_it_is() -> None:
    talk = Talk(lambda runtime: runtime.tool(tool(item="tea")))
    assert talk.got == ToolReply('{"done": "add_order"}')


def test_a_replanned_step_tells_what_failed() -> None:
    def strategy(event: Any) -> Decision:
        failed = hasattr(event, "observation") and not event.observation.answered
        return Decision(Action.REPLAN) if failed else plain(event)

    talk = Talk(
        lambda runtime: [runtime.tool(tool(item=item)) for item in "ab"],
        strategy,
        injector=FakeInjector(BUSY),
    )
    assert [answer.failed for answer in talk.got] == [True, True]
    messages = [json.loads(answer.content)["error"]["message"] for answer in talk.got]
    assert messages == ["The call failed: HTTP 503", "The call failed: Timeout"]
    assert {body.action for body in talk.rig.sink.of(StepEnded)} == {Action.REPLAN}


def test_a_write_accepted_without_an_answer_is_told_as_committed() -> None:
    talk = Talk(lambda runtime: runtime.tool(tool(item="tea")), injector=FakeInjector(BUSY))
    assert json.loads(talk.got.content)["status"] == "committed"


@pytest.mark.parametrize("channel", ["model", "read"])
def test_a_read_cannot_be_accepted_without_an_answer(channel: str) -> None:
    def act(runtime: Any) -> Any:
        return runtime.model([], []) if channel == "model" else runtime.tool(tool("look"))

    injector = FakeInjector({("tool:look", 1, 1): lost()})
    talk = Talk(act, model=(lambda _: lost()), injector=injector)
    assert talk.ran.end is End.FAILED
    assert "without an answer" in talk.ran.reason


def test_keys_tell_steps_apart_and_intents_do_not() -> None:
    talk = Talk(lambda runtime: [runtime.tool(tool(item=item)) for item in ("a", "a", "b")])
    first, again, other = talk.rig.sink.of(AttemptStarted)
    assert first.key != again.key
    assert first.stepless_key == again.stepless_key != other.stepless_key
    assert first.intent_id == again.intent_id != other.intent_id


def test_there_are_no_more_steps_than_registered() -> None:
    def greedy(runtime: Any) -> None:
        for _ in range(5):
            runtime.tool(tool("look"))

    talk = Talk(greedy, limits=Limits(max_steps=2))
    assert (talk.ran.end, talk.ran.attempts()) == (End.LIMIT, 2)
    assert talk.ran.reason == "more than max_steps = 2 steps"


def test_timeouts_are_the_registered_ones() -> None:
    def both(runtime: Any) -> None:
        runtime.model([], [])
        runtime.tool(tool("look"))

    talk = Talk(both, limits=Limits(model_timeout_s=1.001, tool_timeout_s=1.1))
    timeouts = [body.timeout_us for body in talk.rig.sink.of(AttemptStarted)]
    assert timeouts == [1_001_000, 1_100_000]


def test_talk_is_recorded_by_digest_and_kept_for_the_checker() -> None:
    def act(runtime: Any) -> Any:
        runtime.user_opens()
        return runtime.user_replies("bye ü")

    talk = Talk(act)
    assert talk.got.over
    assert talk.rig.runtime.said == ["bye ü"]
    opened, said, _ = talk.rig.sink.of(Said)
    assert (opened.who, opened.length) == ("user", len("Please serve me."))
    assert (said.who, said.text_digest, said.length) == ("agent", text_digest("bye ü"), 5)
