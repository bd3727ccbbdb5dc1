"""From recorded responses to kinds: each kind's own shape leads back to it, strangers are named."""

import pytest

from hfr_bench import content
from hfr_bench.cli.classify import judge
from hfr_bench.faults.dialects import MODEL_DIALECTS, speaks
from hfr_bench.faults.shape import wire
from hfr_bench.lab.logs import LAYERS, POINTS, Kinds, Logged, mixed
from hfr_bench.model.mix import FaultMix
from hfr_bench.model.schedule import FaultEvent, Respond
from hfr_bench.model.terms import Channel, SideEffect

MODEL, TOOL = Channel.MODEL, Channel.TOOL
KINDS = content.kinds()
KNOWN = Kinds(KINDS, judge)
OF_THE_RECOVERY = {"reconcile_read_fails"}


def logged(channel, level=None, **row):
    return Logged(channel, row, judge(channel, row), level)


def answers():
    """Every answer that an agent's call may get from a kind, in each dialect."""
    for channel, layer in LAYERS.items():
        for name, kind in KINDS.items():
            if kind.layer is not layer or kind.silent or name in OF_THE_RECOVERY:
                continue
            params = {key: values[-1] for key, values in kind.params.items()}
            event = FaultEvent(
                injection_id="x", layer=layer, kind=name, point=POINTS[channel], occurrence=1,
                params=params,
            )  # fmt: skip
            for dialect in MODEL_DIALECTS if channel is MODEL else ("tool",):
                if speaks(kind, dialect) and isinstance(wire(event, kind, dialect), Respond):
                    yield pytest.param(channel, name, wire(event, kind, dialect),
                                       id=f"{name}-{dialect}")  # fmt: skip


@pytest.mark.parametrize(("channel", "name", "effect"), list(answers()))
def test_an_answer_leads_back_to_its_kind(channel, name, effect):
    one = logged(channel, status=effect.status, headers=effect.headers, body=effect.body)
    assert KNOWN.nearest(one) == (name,)


@pytest.mark.parametrize(
    ("one", "near"),
    [
        (logged(MODEL, exception="APITimeoutError"), ("model_slow_drip", "model_timeout")),
        (logged(MODEL, exception="ConnectionResetError"), ("model_closed", "model_stream_cut")),
        (
            logged(TOOL, exception="ReadTimeout"),
            ("tool_delayed_duplicate", "tool_late_completion", "tool_outcome_unknown"),
        ),
        (logged(TOOL, SideEffect.READ, exception="ReadTimeout"), ("tool_outcome_unknown",)),
        (logged(TOOL, exception="ConnectionResetError"), ("tool_connection_lost",)),
        (logged(TOOL, exception="ConnectError", sent=False), ()),
        (logged(TOOL, status=503, body="x"), ("tool_5xx", "tool_unavailable")),
        (logged(MODEL, status=404, body="{}"), ()),
        (logged(MODEL, status=200, body=""), ("model_200_empty",)),
        (logged(MODEL, status=401, body='{"error": {"message": "Invalid key"}}'), ()),
    ],
)
def test_what_a_log_cannot_tell_apart_stays_together(one, near):
    assert KNOWN.nearest(one) == near


FINE = {"status": 200, "body": '{"choices": [{"message": {"content": "hi"}}]}'}
BUSY = {"status": 429, "headers": {"retry-after": "2"}, "body": '{"error": {"message": "slow"}}'}
LOST = {"exception": "ReadTimeout"}


def made(*rows, calls=None):
    found = mixed(list(rows), KINDS, judge, calls or {}, "m", "log.jsonl")
    return FaultMix.model_validate(found)


def test_rates_where_calls_are_known_and_shares_where_not():
    rows = [logged(MODEL, **BUSY)] * 3 + [logged(TOOL, SideEffect.READ, **LOST)]
    counted = made(*rows, calls={MODEL: 1500, TOOL: 400})
    assert [(one.of, one.per_1000) for one in counted.faults] == [
        ("model_calls", (2.0, 2.0)), ("tool_calls", (2.5, 2.5)),
    ]  # fmt: skip
    assert counted.faults[1].landed == (0.0, 1.0)
    shares = made(*rows, calls={MODEL: 1500})  # of the tools nobody says
    assert [one.share for one in shares.faults] == [(0.75, 0.75), (0.25, 0.25)]
    assert any("shares of the failures" in text for text in shares.not_known)
    assert any("had landed" in text for text in shares.not_known)
    assert any("silent" in text for text in shares.not_known)


def test_what_is_like_nothing_is_named_each_by_itself():
    strangers = [logged(MODEL, status=404, body="{}"), logged(MODEL, status=410, body="{}")]
    mix = made(*strangers, logged(MODEL, **BUSY), calls={MODEL: 10})
    unlike = [one.what for one in mix.faults if not one.kinds]
    assert len(unlike) == 2
    assert any("404" in what for what in unlike)
    assert any("410" in what for what in unlike)


def test_too_few_calls_and_no_failure_are_told():
    with pytest.raises(ValueError, match="1 model calls are fewer than the 2"):
        made(logged(MODEL, **BUSY), logged(MODEL, **FINE), calls={MODEL: 1})
    with pytest.raises(ValueError, match="no failure among 1 responses"):
        made(logged(MODEL, **FINE))
