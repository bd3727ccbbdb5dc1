"""What a kind says in a dialect that it does not state."""

import json

import pytest

from hfr_bench.faults.dialects import (
    CHAT,
    GEMINI,
    MESSAGES,
    MODEL_DIALECTS,
    RESPONSES,
    effect_in,
    error_body,
    speaks,
)
from hfr_bench.model.schedule import Close, Cut, Drip, KindSpec, Respond, Rewrite, Stall
from hfr_bench.model.terms import Layer

ERROR = '{"error": {"message": "Wait {s}s.", "type": "requests", "param": null, "code": "c"}}'


def kind(effect, dialect=CHAT):
    return KindSpec(kind="k", layer=Layer.MODEL, wire={dialect: effect})


@pytest.mark.parametrize("dialect", MODEL_DIALECTS)
@pytest.mark.parametrize(
    "effect", [Close(), Stall(stall_s=1), Drip(stall_s=1), Cut(), Rewrite(edits=("refuse",))]
)
def test_what_is_not_said_in_words_is_the_same_everywhere(effect, dialect):
    assert effect_in(kind(effect), dialect) == effect


def test_an_error_is_told_in_the_providers_words():
    spec = kind(Respond(status=429, headers={"Retry-After": "{s}", "x-o": "1"}, body=ERROR))
    assert effect_in(spec, RESPONSES) == spec.wire[CHAT]
    limited = effect_in(spec, MESSAGES)
    assert limited.headers["retry-after"] == "{s}"
    assert limited.headers["request-id"] == "{request_id}"
    assert json.loads(limited.body) == {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "Wait {s}s."},
        "request_id": "{request_id}",
    }
    limited = effect_in(spec, GEMINI)
    assert "retry-after" not in limited.headers
    error = json.loads(limited.body)["error"]
    assert (error["code"], error["status"], error["message"]) == (
        429,
        "RESOURCE_EXHAUSTED",
        "Wait {s}s.",
    )
    assert error["details"][0]["retryDelay"] == "{s}s"


def test_google_has_no_529():
    busy = effect_in(kind(Respond(status=529, body=ERROR)), GEMINI)
    assert (busy.status, json.loads(busy.body)["error"]["code"]) == (503, 503)
    assert effect_in(kind(Respond(status=529, body=ERROR)), MESSAGES).status == 529


@pytest.mark.parametrize("body", ["", "<html>", "[]", '{"error": "x"}', '{"detail": 1}'])
def test_what_is_no_openai_error_stays_as_it_is(body):
    spec = kind(Respond(status=502, headers={"content-type": "text/html"}, body=body))
    for dialect in MODEL_DIALECTS:
        assert effect_in(spec, dialect) == spec.wire[CHAT]


def test_what_is_stated_counts():
    other = Respond(status=418)
    spec = KindSpec(kind="k", layer=Layer.MODEL, wire={CHAT: Close(), GEMINI: other})
    assert effect_in(spec, GEMINI) == other


@pytest.mark.parametrize(
    ("spec", "dialect"),
    [
        (kind(Respond(status=200)), GEMINI),
        (kind(Close(), MESSAGES), CHAT),
        (kind(Close()), "tool"),
        (kind(Close(), "tool"), CHAT),
    ],
)
def test_what_cannot_be_said_is_told(spec, dialect):
    assert not speaks(spec, dialect)
    there = next(iter(spec.wire))
    with pytest.raises(KeyError, match=f"no wire for {dialect!r}; it has: {there}"):
        effect_in(spec, dialect)


@pytest.mark.parametrize("status", [400, 401, 404, 418, 429, 500, 503, 529])
def test_our_own_errors_have_the_providers_shape(status):
    assert set(error_body(CHAT, status, "m", "c")["error"]) == {"message", "type", "param", "code"}
    assert error_body(MESSAGES, status, "m")["error"]["message"] == "m"
    assert error_body(GEMINI, status, "m")["error"]["code"] == {529: 503}.get(status, status)
