"""What an event looks like on the wire, and what the client must report of it."""

import pytest

from hfr_bench.faults.shape import CLOSED, TIMEOUT, Shape, answers, declared, lands, wire
from hfr_bench.model.effects import Alter, Forget, Late, Stale
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import (
    Close,
    Cut,
    Drip,
    FaultEvent,
    KindSpec,
    Respond,
    Rewrite,
    Stall,
    Wire,
)
from hfr_bench.model.terms import Layer

TIMEOUT_US = 10_000_000


def event(lands: bool | None = None, **params: int | str) -> FaultEvent:
    return FaultEvent(
        injection_id="i",
        layer=Layer.TOOL,
        kind="k",
        point="p",
        occurrence=1,
        effect_lands=lands,
        params=params,
    )


def kind(effect: Wire) -> KindSpec:
    return KindSpec(kind="k", layer=Layer.TOOL, wire={"tool": effect})


def test_parameters_fill_headers_and_body_and_leave_other_braces() -> None:
    spec = kind(Respond(status=429, headers={"retry-after": "{s}"}, body='{"wait": {s}, "x": {}}'))
    effect = wire(event(s=5), spec, "tool")
    assert isinstance(effect, Respond)
    assert (effect.headers, effect.body) == ({"retry-after": "5"}, '{"wait": 5, "x": {}}')
    wanted = Shape(429, text_digest(effect.body), retry_after="5", latency_us=0)
    assert declared(event(s=5), spec, "tool", TIMEOUT_US) == wanted
    assert declared(event(s=6), spec, "tool", TIMEOUT_US) != wanted


@pytest.mark.parametrize("lands", [True, False])
def test_the_event_decides_whether_a_lost_outcome_lands(lands: bool) -> None:
    for effect in (Close(forward=not lands), Stall(stall_s=1, forward=not lands)):
        played = wire(event(lands), kind(effect), "tool")
        assert not isinstance(played, Respond)
        assert played.forward is lands
        kept = wire(event(None), kind(effect), "tool")
        assert not isinstance(kept, Respond)
        assert kept.forward is not lands


def test_a_stall_is_a_timeout_only_where_it_outlasts_the_timeout() -> None:
    for stall_s, seen in ((10, TIMEOUT), (11, TIMEOUT), (9.999, CLOSED)):
        shape = declared(event(), kind(Stall(stall_s=stall_s)), "tool", TIMEOUT_US)
        latency_us = min(round(stall_s * 1e6), TIMEOUT_US)
        assert shape == Shape(exception=seen, latency_us=latency_us)
    assert declared(event(), kind(Close()), "tool", TIMEOUT_US) == Shape(exception=CLOSED)


def test_a_dialect_the_kind_does_not_speak_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        wire(event(), kind(Close()), "openai_chat")


def test_a_request_id_is_the_events_own() -> None:
    spec = kind(Respond(status=500, headers={"request-id": "{request_id}"}, body="{request_id}"))
    first, again = (wire(event(), spec, "tool") for _ in range(2))
    assert isinstance(first, Respond)
    assert first == again
    assert first.headers["request-id"] == first.body
    assert first.body.startswith("req_")
    other = wire(event().model_copy(update={"injection_id": "j"}), spec, "tool")
    assert isinstance(other, Respond)
    assert other.body != first.body


@pytest.mark.parametrize(
    ("effect", "shape", "landing", "answering"),
    [
        (Drip(stall_s=60), Shape(exception=TIMEOUT, latency_us=TIMEOUT_US), True, False),
        (Drip(stall_s=1), Shape(exception=CLOSED, latency_us=1_000_000), True, False),
        (Cut(), Shape(exception=CLOSED), True, False),
        (Rewrite(edits=("refuse",)), Shape(200, None), True, True),
        (Rewrite(edits=("x",), answered=False), Shape(200, None), True, False),
        (Alter(edit="number"), Shape(response_digest=None), True, True),
        (Stale(), Shape(response_digest=None), True, True),
        (Late(stall_s=60), Shape(exception=TIMEOUT, latency_us=TIMEOUT_US), False, False),
        (Forget(stall_s=60), Shape(exception=TIMEOUT, latency_us=TIMEOUT_US), True, False),
        (Respond(status=500), Shape(500, text_digest(""), latency_us=0), False, False),
        (Close(forward=True), Shape(exception=CLOSED), True, False),
    ],
)
def test_what_is_declared_of_each_effect(
    effect: Wire, shape: Shape, landing: bool, answering: bool
) -> None:
    assert declared(event(), kind(effect), "tool", TIMEOUT_US) == shape
    assert (lands(effect), answers(effect)) == (landing, answering)
    assert wire(event(), kind(effect), "tool") == effect
