"""A live fork's prefix at the gateway: in the model server's place, until a fault is met."""

import time
from dataclasses import replace

import pytest

from hfr_bench.faults.cursor import Cursor
from hfr_bench.model.record import text_digest
from hfr_bench.ports.llm import ABSORBED
from hfr_bench.ports.tape import heard, taped

from .conftest import completion

WAS = completion("recorded")


class Recorded:
    """A prefix that has an answer, or none; `sought`: what it was asked for."""

    def __init__(self, body=WAS, latency_us=0, headers=(), pieces=None):
        self.sought = []
        self.mark = "played" if body is not None else "missed"
        made = pieces or (body or b"",)
        said = heard(200, {"content-type": "application/json", **dict(headers)}, made)
        line = taped(("model:agent", 1, 1), "m", b"", said) if body is not None else None
        self.line = line and line.model_copy(update={"latency_us": latency_us})

    def seek(self, at, request_digest):
        self.sought.append((at, request_digest))
        return self.mark, self.line


@pytest.fixture
def forked(upstream, gateways, stages, wall):
    """A trial with a prefix: its stage, and what was kept."""

    def make(prefix, *events, met=()):
        kept, gateway = [], gateways(upstream.url, forward_coordinates=False)
        stage = stages(*events, gateway=gateway, clock=wall)
        cursor = Cursor(events, stage.scene.cursor.layers, set(met))
        stage.url = gateway.enter(
            replace(stage.scene, trial_id="forked", keep=kept.append, prefix=prefix, cursor=cursor)
        )
        return stage, kept

    return make


def test_until_a_fault_is_met_the_recorded_answer_is_given(forked, upstream):
    prefix = Recorded(headers={ABSORBED: "2"})
    stage, kept = forked(prefix)
    seen = stage.attempt(occurrence=2)
    assert (seen.body, upstream.seen) == (WAS.decode(), [])
    (hit,) = stage.hits
    assert (hit.prefix, hit.forwarded, hit.upstream_status) == ("played", True, 200)
    assert hit.absorbed == 0  # no error of this trial's
    assert prefix.sought == [(("model:agent", 2, 1), hit.request_digest)]
    assert hit.response_digest == text_digest(WAS) == kept[0].response_digest
    assert not any(name.startswith("x-hfr") for name in seen.headers)


def test_a_miss_is_said_and_the_model_server_asked(forked, upstream):
    stage, kept = forked(Recorded(None))
    assert stage.attempt().body == completion().decode()
    assert [hit.prefix for hit in stage.hits] == ["missed"]
    assert len(upstream.seen) == 1
    assert kept[0].response.chunks == (completion(),)


def test_what_meets_the_first_fault_is_of_the_prefix_and_nothing_after_it(forked, upstream, event):
    prefix = Recorded()
    stage, kept = forked(prefix, event("made_close_late"))
    assert not stage.attempt().answered
    assert [hit.prefix for hit in stage.hits] == ["played"]
    assert kept[0].response.chunks == (WAS,)
    assert stage.attempt(attempt=2).body == completion().decode()
    assert [hit.prefix for hit in stage.hits] == ["played", ""]
    assert len(prefix.sought) == len(upstream.seen) == 1


def test_a_fault_that_needs_no_answer_takes_none_from_the_recording(forked, upstream, event):
    prefix = Recorded()
    stage, kept = forked(prefix, event("made_page"))
    stage.attempt()
    assert (len(prefix.sought), upstream.seen, stage.hits[0].prefix) == (1, [], "")
    assert not kept


def test_whose_first_fault_answers_what_is_not_recorded_has_parted(forked, upstream, event):
    stage, kept = forked(Recorded(None), event("made_page"))
    stage.attempt()
    assert ([hit.prefix for hit in stage.hits], upstream.seen, kept) == (["missed"], [], [])


def test_a_fault_of_another_layer_ends_the_prefix_too(forked, upstream):
    prefix = Recorded()
    stage, _ = forked(prefix, met={"a tool's"})
    assert stage.attempt().body == completion().decode()
    assert (prefix.sought, len(upstream.seen)) == ([], 1)


def test_an_answer_takes_the_time_that_it_took(forked):
    stage, _ = forked(Recorded(latency_us=60_000))
    began = time.monotonic()
    stage.attempt()
    assert time.monotonic() - began >= 0.06


def test_but_never_so_long_that_it_comes_too_late(forked):
    stage, _ = forked(Recorded(latency_us=86_400_000_000))
    assert stage.attempt(timeout_us=3_000_000).body == WAS.decode()


def test_a_stream_is_played_in_its_pieces(forked):
    pieces = (b"data: 1\n\n", b"data: [DONE]\n\n")
    prefix = Recorded(pieces=pieces, headers={"content-type": "text/event-stream"})
    stage, kept = forked(prefix)
    stage.attempt()
    assert kept[0].response.chunks == pieces
    assert stage.hits[0].response_digest == text_digest(b"".join(pieces))
