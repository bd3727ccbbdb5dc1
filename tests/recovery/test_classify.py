"""Table 4, provider responses of real shape that it decides, and stated waits.

The long table is in `test_classify_responses`.
"""

import json
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.attempt import Observation
from hfr_bench.model.terms import Channel, FaultClass
from hfr_bench.recovery.classify import classify, retry_after_us
from hfr_bench.testing.fakes import lost, refused

MODEL, TOOL = Channel.MODEL, Channel.TOOL


def openai(message: str, type_: str, code: str | None) -> str:
    return json.dumps({"error": {"message": message, "type": type_, "param": None, "code": code}})


def anthropic(type_: str, message: str) -> str:
    return json.dumps({"type": "error", "error": {"type": type_, "message": message}})


def gemini(code: int, message: str, status: str) -> str:
    return json.dumps({"error": {"code": code, "message": message, "status": status}})


RATE = "Rate limit reached on requests per min: limit 500, used 500. Try again in 120ms."
HTML = "<html><head><title>502 Bad gateway</title></head><body>Error code 502</body></html>"
RECORDED = [
    ("oa-429-rpm", 429, openai(RATE, "requests", "rate_limit_exceeded"), "T2"),
    (
        "oa-429-quota",
        429,
        openai("Current quota exceeded.", "insufficient_quota", "insufficient_quota"),
        "T7",
    ),
    ("oa-429-slowdown", 429, openai("Slow down.", "rate_limit_error", "slow_down"), "T2"),
    (
        "oa-503-overloaded",
        503,
        openai("The server is currently overloaded.", "server_error", None),
        "T4",
    ),
    ("oa-500", 500, openai("The server had an error.", "server_error", None), "T1"),
    ("oa-502-html", 502, HTML, "T1"),
    (
        "oa-400-ctx",
        400,
        openai("Maximum context length is ...", "invalid_request_error", "context_length_exceeded"),
        "T6",
    ),
    (
        "oa-400-badparam",
        400,
        openai("Unknown parameter: 'x'.", "invalid_request_error", "unknown_parameter"),
        "T7",
    ),
    (
        "oa-401",
        401,
        openai("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
        "T7",
    ),
    (
        "oa-404-model",
        404,
        openai("No model gpt-x.", "invalid_request_error", "model_not_found"),
        "T7",
    ),
    ("az-429", 429, gemini(429, "Requests exceeded the call rate limit.", ""), "T2"),
    ("an-529", 529, anthropic("overloaded_error", "Overloaded"), "T4"),
    ("an-429", 429, anthropic("rate_limit_error", "Would exceed the rate limit."), "T2"),
    ("an-500", 500, anthropic("api_error", "Internal server error"), "T1"),
    ("ge-503", 503, gemini(503, "The model is overloaded.", "UNAVAILABLE"), "T4"),
    ("ge-500", 500, gemini(500, "An internal error has occurred.", "INTERNAL"), "T1"),
    ("br-429-throttle", 429, '{"message": "Too many requests."}', "T2"),
    ("br-503", 503, '{"message": "Service temporarily unavailable."}', "T1"),
    ("br-403", 403, '{"message": "No access to the model."}', "T7"),
]


@pytest.mark.parametrize(("name", "status", "body", "wanted"), RECORDED, ids=lambda v: str(v)[:16])
def test_recorded_provider_errors(name: str, status: int, body: str, wanted: str) -> None:
    assert classify(MODEL, refused(status, body)).fault_class == wanted, name


@pytest.mark.parametrize(
    ("channel", "seen", "wanted"),
    [
        *((MODEL, refused(status), "T1") for status in (500, 502, 503, 504)),
        (MODEL, lost("ConnectionClosed"), "T1"),
        (MODEL, lost("ConnectError", sent=False), "T1"),
        (MODEL, refused(429), "T2"),
        (MODEL, refused(408), "T3"),
        (TOOL, lost("Timeout"), "T3"),
        (MODEL, refused(529), "T4"),
        (TOOL, refused(503), "T5"),
        (MODEL, refused(400), "T7"),
        *((channel, refused(status), "T7") for channel in Channel for status in (401, 403)),
        (MODEL, refused(400, '{"error": {"code": "content_policy_violation"}}'), "T8"),
        (MODEL, refused(200, "not json"), "T1"),
    ],
    ids=str,
)
def test_table_4(channel: Channel, seen: Observation, wanted: str) -> None:
    fault = classify(channel, seen)
    assert fault.fault_class == wanted
    assert fault.confidence >= 0.5
    assert fault.evidence


def test_what_no_rule_knows_is_unclassified_and_unsure() -> None:
    for seen in (lost("SomethingNew"), Observation(answered=False), refused(302)):
        fault = classify(TOOL, seen)
        assert (fault.evidence, fault.confidence) == ("unclassified", 0.3)


def test_a_tool_5xx_may_be_a_passing_one() -> None:
    assert classify(TOOL, refused(500)).secondary is FaultClass.TRANSIENT


@pytest.mark.parametrize(
    ("stated", "us"),
    [
        ("2", 2_000_000),
        ("0.5", 500_000),
        ("2.3", 2_300_000),
        ("0", 0),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
    ],
)
def test_retry_after(stated: str, us: int | None) -> None:
    assert retry_after_us(refused(429, retry_after=stated)) == us
    assert classify(MODEL, refused(429, retry_after=stated)).retry_after_us == us


@settings(deadline=None)
@given(st.floats(0, 1e6))
def test_a_stated_wait_is_never_rounded_down(seconds: float) -> None:
    got = retry_after_us(refused(429, retry_after=repr(seconds)))
    assert got is not None
    assert got >= seconds * 1_000_000


bodies = st.sampled_from(
    [
        "",
        "{",
        "[]",
        "null",
        '{"error": []}',
        '{"error": null}',
        '{"error": {"code": 5}}',
        "[" * 9999,
    ]
) | st.text(max_size=20)


@settings(deadline=None)
@given(
    st.sampled_from(Channel),
    st.none() | st.integers(100, 599),
    st.none() | st.text(max_size=8),
    bodies,
    st.text(max_size=8),
)
def test_any_shape_gets_some_class(
    channel: Channel, status: int | None, exception: str | None, body: str, wait: str
) -> None:
    seen = Observation(
        answered=False,
        status=status,
        exception=exception,
        body=body,
        headers={"retry-after": wait},
    )
    fault = classify(channel, seen)
    assert 0 < fault.confidence <= 1
    assert fault.secondary is not fault.fault_class


def test_every_pair_of_channel_and_status_is_decided_alike_twice() -> None:
    for channel, status in product(Channel, range(400, 600)):
        assert classify(channel, refused(status)) == classify(channel, refused(status))
