"""What is wrong with an answer that came (paper §5.4, hook 2), and what is not."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.attempt import Observation
from hfr_bench.model.terms import Channel, FaultClass
from hfr_bench.recovery.classify import classify, flaw
from hfr_bench.testing.fakes import FakeModel, fine, lost, refused

MODEL, TOOL = Channel.MODEL, Channel.TOOL


def chat(finish: str | None = "stop", content: Any = "Done.", **message: Any) -> Observation:
    """As our client hands it over: the message as payload, the whole response as body."""
    said = {"role": "assistant", "content": content, **message}
    body = json.dumps({"choices": [{"message": said, "finish_reason": finish}]})
    return Observation(answered=True, status=200, body=body, payload=said, finish_reason=finish)


def calls(*arguments: str, name: str = "refund") -> list[Any]:
    return [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": text}}
        for n, text in enumerate(arguments)
    ]


ORDINARY = [
    chat(),
    chat("end_turn"),
    chat(None),
    chat("tool_calls", None, tool_calls=calls("{}")),
    chat("tool_calls", "", tool_calls=calls('{"a": [1, {"b": null}]}', ' {"c": 1}\n')),
    chat("stop", "hi", refusal=None, tool_calls=[]),
    chat("a_word_that_nobody_knows", "hi"),
    chat("stop", [{"type": "text", "text": "hi"}]),
    FakeModel.says("hello"),
    FakeModel.says("", ("refund", "{}")),
    fine(),
]


@pytest.mark.parametrize("seen", ORDINARY, ids=range(len(ORDINARY)))
@pytest.mark.parametrize("after_write", [False, True])
def test_nothing_is_wrong(seen: Observation, after_write: bool) -> None:
    assert flaw(MODEL, seen, after_write=after_write) is None


@pytest.mark.parametrize(
    ("seen", "wanted", "evidence"),
    [
        (chat("content_filter", ""), "T8", "ended by contentfilter"),
        (chat("content_filter", "half of it"), "T8", "ended by contentfilter"),
        (chat("refusal", None), "T8", "ended by refusal"),
        (chat("stop", None, refusal="I cannot."), "T8", "refusal"),
        (chat("length", "half"), "T6", "ended by length"),
        (chat("model_context_window_exceeded", "half"), "T6", None),
        (chat("stop", ""), "V1", "empty answer"),
        (chat("stop", None), "V1", "empty answer"),
        (chat("stop", " \n"), "V1", "empty answer"),
        (chat("tool_calls", None, tool_calls=[]), "V1", "empty answer"),
        (chat("tool_calls", None, tool_calls=calls("{}", '{"a": ')), "V1", "malformed tool call"),
        (chat("tool_calls", None, tool_calls=calls("[]")), "V1", "malformed tool call"),
        (chat("tool_calls", None, tool_calls=calls("{} {}")), "V1", "malformed tool call"),
        (chat("tool_calls", None, tool_calls=calls("{}", name="")), "V1", "malformed tool call"),
    ],
    ids=lambda v: str(v)[:60],
)
def test_what_is_wrong(seen: Observation, wanted: str, evidence: str | None) -> None:
    fault = flaw(MODEL, seen)
    assert fault is not None
    assert fault.fault_class == wanted
    assert evidence in (None, fault.evidence)
    assert fault.repairable == (fault.evidence == "malformed tool call")


def test_a_silent_end_right_after_a_write_is_no_failure() -> None:
    for seen in (chat("end_turn", ""), chat("stop", None), chat("stop", " ")):
        assert flaw(MODEL, seen) is not None
        assert flaw(MODEL, seen, after_write=True) is None


def test_a_write_excuses_no_refusal_and_no_broken_call() -> None:
    assert flaw(MODEL, chat("content_filter", ""), after_write=True) is not None
    assert flaw(MODEL, chat("length", ""), after_write=True) is not None
    broken = chat("tool_calls", None, tool_calls=calls("{"))
    assert flaw(MODEL, broken, after_write=True) is not None


def test_an_error_inside_a_200_has_its_own_class_and_wait() -> None:
    error = {"code": 429, "message": "Rate limited. Try again in 3s."}
    inside = [{"error": error, "finish_reason": "error", "message": {"content": ""}}]
    said = {"content": ""}
    for body in ({"error": error}, {"choices": inside}):
        seen = Observation(
            answered=True,
            status=200,
            body=json.dumps(body),
            payload=said,
            finish_reason="error" if "choices" in body else "stop",
        )
        fault = flaw(MODEL, seen)
        assert fault is not None
        assert (fault.fault_class, fault.retry_after_us) == (FaultClass.RATE_LIMIT, 3_000_000)


def test_a_schema_that_does_not_fit() -> None:
    seen = Observation(answered=True, status=200, payload="x", body="x", schema_error="no total")
    model, tool = flaw(MODEL, seen), flaw(TOOL, seen)
    assert model is not None
    assert tool is not None
    assert (model.fault_class, tool.fault_class) == (FaultClass.SEMANTIC, "T5")
    assert model.repairable
    assert tool.repairable


def tool(body: str, **more: Any) -> Observation:
    return Observation(answered=True, status=200, body=body, payload=body, **more)


def test_a_tools_own_errors_are_answers() -> None:
    for seen in (
        tool("Error: payment method not found"),
        tool('{"error": "order not found"}'),
        tool('{"error": {"message": "refund above what was paid"}}'),
        tool('{"isError": true, "content": []}', domain_error=True),
        tool('{"errors": []}'),
        tool(""),
        tool('{"log": "rate limit error"}'),
    ):
        assert flaw(TOOL, seen) is None


@pytest.mark.parametrize(
    ("seen", "wanted", "repairable"),
    [
        (tool('{"jsonrpc": "2.0", "error": {"code": -32601, "message": "no"}}'), "T5", False),
        (tool('{"jsonrpc": "2.0", "error": {"code": -32602, "message": "no"}}'), "T5", True),
        (tool("x", rpc_code=-32603), "T5", False),
        (tool('{"error": "rate limit exceeded"}'), "T2", False),
        (tool('{"error": {"code": 503, "message": "down"}}'), "T5", False),
        (tool("1 failed", exit_code=1), "V1", False),
        (tool("", exit_code=124), "T3", False),
        (tool('{"isError": true, "content": [{"type": "text", "text": "hm"}]}'), "T5", False),
    ],
    ids=str,
)
def test_a_tools_broken_contract_and_hidden_errors(
    seen: Observation, wanted: str, repairable: bool
) -> None:
    fault = flaw(TOOL, seen)
    assert fault is not None
    assert (fault.fault_class, fault.repairable) == (wanted, repairable)


def test_an_empty_body_after_a_long_wait_is_a_timeout_in_disguise() -> None:
    quick = classify(MODEL, Observation(answered=False, status=200, latency_us=900_000))
    slow = classify(MODEL, Observation(answered=False, status=200, latency_us=60_000_000))
    assert (quick.fault_class, slow.fault_class) == ("T1", "T3")
    server = classify(MODEL, Observation(answered=False, status=500, latency_us=60_000_000))
    assert (server.fault_class, server.secondary) == ("T1", "T3")


def test_nothing_can_have_happened_if_nothing_was_sent() -> None:
    for seen in (
        lost("Timeout", sent=False),
        Observation(answered=False, exception="Timeout", phase="connect"),
        lost("ConnectTimeout"),
    ):
        fault = classify(TOOL, seen)
        assert (fault.fault_class, fault.evidence) == ("T1", "never connected")
    assert classify(TOOL, lost("Timeout")).fault_class == "T3"
    assert classify(TOOL, lost("ReadTimeout")).fault_class == "T3"


@pytest.mark.parametrize(
    ("body", "status", "primary", "secondary"),
    [
        ('{"error": {"message": "rate limit; the prompt is too long"}}', 429, "T6", "T2"),
        ('{"error": {"code": "rate_limit_exceeded", "message": "overloaded"}}', 429, "T2", "T4"),
        ('{"error": {"code": "insufficient_quota", "message": "rate limit"}}', 429, "T7", "T2"),
        ('{"error": {"code": "content_filter", "message": "timed out"}}', 500, "T8", "T3"),
        ('{"error": {"message": "overloaded: request timed out"}}', 503, "T3", "T4"),
    ],
)
def test_of_two_classes_the_riskier_is_the_primary(
    body: str, status: int, primary: str, secondary: str
) -> None:
    fault = classify(MODEL, refused(status, body))
    assert (fault.fault_class, fault.secondary) == (primary, secondary)
    assert fault.confidence <= 0.9


KEYS = (
    "error message code type choices content tool_calls parts function arguments candidates output"
    " result isError metadata"
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS.split()) | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
bodies = st.text(max_size=60) | json_values.map(json.dumps)


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(Channel),
    bodies,
    st.none() | json_values,
    st.none() | st.sampled_from(["stop", "length", "error", "weird", ""]),
    st.none() | st.integers(-40_000, 700),
    st.booleans(),
)
def test_no_answer_makes_it_stumble(
    channel: Channel, body: str, payload: Any, finish: str | None, code: int | None, wrote: bool
) -> None:
    seen = Observation(
        answered=True,
        status=200,
        body=body,
        payload=payload,
        finish_reason=finish,
        rpc_code=code if channel is TOOL else None,
    )
    for fault in (flaw(channel, seen, after_write=wrote), classify(channel, seen)):
        if fault is not None:
            assert 0 < fault.confidence <= 1
            assert fault.evidence
            assert fault.secondary is not fault.fault_class


@settings(deadline=None)
@given(st.text(min_size=1).filter(str.strip))
def test_what_a_model_says_is_never_a_failure(text: str) -> None:
    """An answer may speak of errors, policies and limits as it likes."""
    assert flaw(MODEL, chat("stop", text)) is None
    assert flaw(MODEL, chat("stop", text + " content policy; rate limit; 429")) is None
