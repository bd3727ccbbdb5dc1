"""The wording of errors in MCP, and what the audit of a proxy's log does not let pass."""

import json

import pytest

from hfr_bench import content
from hfr_bench.faults.mcp import (
    Surface,
    audit_proxy,
    calls_in,
    message_digest,
    playable,
    reply,
    trials,
    unplayable,
)
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, Respond
from hfr_bench.model.terms import Channel, Layer
from hfr_bench.model.trace import AttemptEnded, AttemptStarted, EffectExecuted, TraceEvent

KINDS = content.kinds()
STDIO, SESSION, MODERN = (
    Surface(http=False),
    Surface(True, session=True),
    Surface(True, modern=True),
)
RIGHT, WRONG = {"result": {"content": []}}, {"result": {"content": [1]}}


def effect(name: str) -> Respond:
    found = KINDS[name].wire["tool"]
    assert isinstance(found, Respond)
    return found


def test_a_session_that_ran_out_is_404_only_where_there_is_one():
    gone = reply(effect("tool_session_expired"), "buy", SESSION)
    assert (gone.status, gone.ends_session) == (404, True)
    assert json.loads(gone.text)["error"]["code"] == -32600
    token = reply(effect("tool_session_expired"), "buy", MODERN)
    assert (token.status, token.ends_session) == (401, False)
    assert token.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    refused = reply(effect("tool_unauthorized"), "buy", SESSION)
    assert (refused.status, refused.ends_session) == (401, False)


def test_over_stdio_a_status_is_a_result_that_a_model_can_read():
    said = reply(effect("tool_forbidden"), "buy", STDIO)
    assert said.status is None
    assert said.message == {
        "result": {
            "content": [
                {
                    "type": "text",
                    "text": "Error executing tool buy: HTTP 403: You are not allowed to do this.",
                }
            ],
            "isError": True,
        }
    }


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "no details"),
        ("<h1>Bad gateway</h1>", "<h1>Bad gateway</h1>"),
        ('{"error": "busy"}', "busy"),
        ("[1]", "[1]"),
    ],
)
def test_words_of_any_body(body, words):
    said = reply(Respond(status=502, body=body), "buy", STDIO)
    assert said.message is not None
    assert said.message["result"]["content"][0]["text"].endswith(f"HTTP 502: {words}")


def test_revisions_without_sessions_say_errors_by_status_too():
    assert reply(effect("tool_unknown"), "buy", MODERN).status == 400
    assert reply(effect("tool_unknown"), "buy", SESSION).status == 200
    mended = reply(effect("tool_schema_mismatch"), "buy", MODERN)
    assert mended.status == 200
    assert mended.message is not None
    assert mended.message["result"]["resultType"] == "complete"


def fault(kind: str, layer: Layer = Layer.TOOL, **more: object) -> FaultEvent:
    base = {"injection_id": f"x/{kind}", "layer": layer, "kind": kind, "point": "tool:buy"}
    return FaultEvent.model_validate({**base, "occurrence": 1, **more})


def plan(*events: FaultEvent) -> FaultSchedule:
    return FaultSchedule(
        schedule_id="s",
        suite="mcp",
        task_id="t",
        seed=1,
        profile="p",
        rate=1,
        generator="g",
        horizon=9,
        events=events,
    )


def log(ended: AttemptEnded, *, ran: int) -> list[TraceEvent]:
    started = AttemptStarted(
        point="tool:buy",
        occurrence=1,
        channel=Channel.TOOL,
        target="buy",
        timeout_us=86_400_000_000,
        request_digest="a",
        operation_id="call-1",
    )
    done = EffectExecuted(
        operation_id="call-1",
        point="tool:buy",
        tool="buy",
        actor="agent",
        level="R2",
        natural_key="k",
        args_digest="a",
        response_digest=message_digest(RIGHT),
    )
    return [
        TraceEvent(trial_id="t", seq=n, t_us=n, step=1, attempt=1, body=body)
        for n, body in enumerate([started, *[done] * ran, ended])
    ]


def problem(kind: str, ended: AttemptEnded, ran: int, **more: object) -> str:
    found = audit_proxy(log(ended, ran=ran), plan(fault(kind, **more)), KINDS)
    (one,) = found.deliveries
    return one.mismatch


BODY = effect("tool_5xx").body
DOWN = AttemptEnded(answered=False, status=503, response_digest=text_digest(BODY))
ANSWER = AttemptEnded(answered=True, status=200, response_digest=message_digest(RIGHT))
SILENCE = AttemptEnded(answered=False, exception="Timeout")


def test_delivered_as_declared():
    assert problem("tool_5xx", DOWN, 0) == ""
    assert problem("tool_outcome_unknown", SILENCE, 1, effect_lands=True) == ""
    assert problem("tool_outcome_unknown", SILENCE, 0, effect_lands=False) == ""
    wrong = ANSWER.model_copy(update={"response_digest": message_digest(WRONG)})
    assert problem("semantic_wrong_number", wrong, 1, layer="semantic") == ""


@pytest.mark.parametrize(
    ("found", "part"),
    [
        (problem("tool_5xx", ANSWER, 0), "declared status 503"),
        (problem("tool_5xx", DOWN, 1), "should have been lost, but the tool ran"),
        (problem("tool_5xx", DOWN.model_copy(update={"response_digest": "x"}), 0), "declared"),
        (problem("tool_5xx", DOWN.model_copy(update={"status": 500}), 0), "declared"),
        (problem("tool_outcome_unknown", SILENCE, 0, effect_lands=True), "did not run"),
        (problem("tool_outcome_unknown", SILENCE, 1, effect_lands=False), "the tool ran"),
        (problem("tool_outcome_unknown", ANSWER, 1, effect_lands=True), "declared Timeout"),
        (problem("semantic_wrong_number", ANSWER, 1, layer="semantic"), "should be another"),
        (problem("tool_late_completion", SILENCE, 0), "ran 0 times"),
    ],
)
def test_not_delivered(found, part):
    assert part in found


def test_without_a_fault_the_answer_is_the_servers():
    good = audit_proxy(log(ANSWER, ran=1), plan(), KINDS)
    assert (good.deliveries, good.failed, good.untrue) == ((), (), ())
    lie = ANSWER.model_copy(update={"response_digest": message_digest(WRONG)})
    assert "the true answer is" in audit_proxy(log(lie, ran=1), plan(), KINDS).untrue[0]
    assert len(audit_proxy(log(SILENCE, ran=0), plan(), KINDS).failed) == 1


def test_what_is_another_injectors_is_left_out_and_what_is_nobodys_is_named():
    model = fault("model_500", Layer.MODEL)
    foreign = fault("ledger_key_ignored")
    schedule = plan(model, foreign, fault("nonsense"), fault("tool_5xx"))
    assert [event.kind for event in playable(schedule).events] == [
        "ledger_key_ignored",
        "nonsense",
        "tool_5xx",
    ]
    first, second = unplayable(schedule, KINDS)
    assert first.startswith("ledger_key_ignored (")
    assert second == "nonsense (there is no such kind)"


def test_a_log_of_several_trials():
    lines = log(ANSWER, ran=1)
    other = [line.model_copy(update={"trial_id": "u"}) for line in lines]
    assert {name: calls_in(found) for name, found in trials([*lines, *other]).items()} == {
        "t": 1,
        "u": 1,
    }
