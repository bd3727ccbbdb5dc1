"""Taking a response apart: forms, codes, words, numbers; and answers of every dialect."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.attempt import Observation
from hfr_bench.model.terms import Channel
from hfr_bench.recovery.classifier.dialects import (
    ANSWERS,
    DIALECTS,
    DIALECTS_VERSION,
    FINISH,
    ORDINARY,
)
from hfr_bench.recovery.classifier.replies import Reply, judge, reply_of_body
from hfr_bench.recovery.classifier.signals import parse, plain, signal
from hfr_bench.testing.fakes import refused


@pytest.mark.parametrize(
    ("body", "form"),
    [
        ("", ""),
        (" \n\ufeff", ""),
        ('{"a": 1}', "json"),
        ("\ufeff[1]", "json"),
        ("null", "json"),
        ('{"a": ', "cut"),
        ("[" * 100_000, "cut"),
        ('"words"', "text"),
        ('"wor', "cut"),
        ("Service Unavailable", "text"),
        ("<!DOCTYPE html><html>", "html"),
        ("  <html>", "html"),
        ("data: {}\n\ndata: [DONE]\n\n", "events"),
        ('data: {"a": 1}\n\ndata: {"b', "cut"),
        ('data: {"a": 1}\n\n', "cut"),
        ('event: x\ndata: {"error": {"code": 500}}\n\n', "events"),
    ],
)
def test_forms(body: str, form: str) -> None:
    assert parse(body)[0] == form


def test_codes_are_compared_without_case_and_punctuation() -> None:
    spellings = (
        "insufficient_quota",
        "InsufficientQuota",
        "INSUFFICIENT-QUOTA",
        "insufficient quota",
    )
    assert {plain(code) for code in spellings} == {"insufficientquota"}


def take(body: Any, status: int = 500, **headers: str) -> Any:
    text = body if isinstance(body, str) else json.dumps(body)
    return signal(Channel.MODEL, refused(status, text, **headers))


def test_codes_are_found_wherever_a_dialect_keeps_them() -> None:
    for body in (
        {"error": {"code": "rate_limit"}},
        {"error": {"type": "rate_limit"}},
        {"error": {"innererror": {"code": "rate_limit"}}},
        {"error": {"details": [{"reason": "RATE_LIMIT"}]}},
        {"error": {"metadata": {"raw": '{"error": {"type": "rate_limit"}}'}}},
        {"errors": [{"code": "rate_limit"}]},
        {"__type": "com.amazon#RateLimit", "message": "x"},
        {"error": "rate_limit"},
        {"choices": [{"error": {"code": "rate_limit"}}]},
        [{"error": {"status": "RATE_LIMIT"}}],
        "Error code: 429 - {'error': {'code': 'rate_limit'}}",
    ):
        assert "ratelimit" in take(body).codes, body
    assert "ratelimitexception" in take("", x_amzn_errortype="RateLimitException:http://x/").codes


def test_what_quotes_the_request_is_not_read() -> None:
    found = take({"error": {"message": "bad", "input": {"message": "rate limit"}}}, 422)
    assert found.words == "bad"


def test_the_status_inside_counts_where_the_transport_says_nothing() -> None:
    assert take({"error": {"code": 429}}, 200).status == 429
    assert take({"error": {"code": "429"}}, 200).status == 429
    assert take({"error": {"code": 429}}, 500).status == 500
    assert take("Error code: 529 - overloaded", 200).status == 529


def test_only_an_error_is_one() -> None:
    assert take({"error": {"message": "x"}}, 200).failed
    assert not take({"error": None, "output": []}, 200).failed
    assert not take({"message": "all is well"}, 200).failed
    assert take({"result": {"isError": True, "content": []}}, 200).failed
    assert not take({"result": {"isError": False}}, 200).failed


def test_rows_of_data() -> None:
    assert DIALECTS_VERSION
    for dialect in DIALECTS:
        assert dialect.shapes
        assert all(code == plain(code) for code in dialect.codes), dialect.name
    assert all(end == plain(end) for end in FINISH)
    assert not {plain(end) for end in ORDINARY if end} & FINISH.keys()
    assert len({shape.name for shape in ANSWERS}) == len(ANSWERS)


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        (
            {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]},
            Reply(text=True, finish="stop"),
        ),
        (
            {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"},
            Reply(text=True, finish="end_turn"),
        ),
        (
            {"content": [{"type": "thinking", "thinking": "hm"}], "stop_reason": "end_turn"},
            Reply(finish="end_turn"),
        ),
        (
            {"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]},
            Reply(text=True, finish="STOP"),
        ),
        ({"promptFeedback": {"blockReason": "OTHER"}}, Reply(refused=True)),
        (
            {"output": {"message": {"content": [{"text": "hi"}]}}, "stopReason": "end_turn"},
            Reply(text=True, finish="end_turn"),
        ),
        (
            {
                "output": [{"type": "function_call", "name": "f", "arguments": "{"}],
                "status": "completed",
            },
            Reply(calls=True, broken=True, finish="completed"),
        ),
        (
            {"message": {"role": "assistant", "content": "hi"}, "done_reason": "stop"},
            Reply(text=True, finish="stop"),
        ),
        ({"message": "text"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_answers_of_every_dialect(body: Any, reply: Reply | None) -> None:
    assert reply_of_body(body) == reply


def test_every_known_ending_is_a_flaw_of_an_empty_answer() -> None:
    for ending in FINISH:
        assert judge(Reply(finish=ending), after_write=True) is not None
    for ending in ORDINARY:
        assert judge(Reply(text=True, finish=ending)) is None


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(Channel), st.text(max_size=200), st.none() | st.integers(-(10**6), 10**6))
def test_no_body_makes_it_stumble(channel: Channel, body: str, status: int | None) -> None:
    found = signal(channel, Observation(answered=False, status=status, body=body))
    assert found.words == found.words.lower()
    assert all(code == plain(code) for code in found.codes)


def test_endless_errors_are_read_in_part() -> None:
    deep: Any = {"message": "bottom"}
    for _ in range(200):
        deep = {"error": deep}
    assert take(deep).words == ""
    wide = {"error": [{"message": "x" * 1000, "code": "c"}] * 10_000}
    assert len(take(wide).words) <= 1500
