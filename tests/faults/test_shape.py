"""What an event looks like on the wire, and what the client must report of it."""

import pytest

from hfr_bench.faults.shape import CLOSED, TIMEOUT, Shape, declared, wire
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import Close, FaultEvent, KindSpec, Respond, Stall, Wire
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
