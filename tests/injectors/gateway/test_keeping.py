"""What the gateway hands to whoever records a trial: the upstream's own answers, before faults."""

from dataclasses import replace

import httpx
import pytest

from hfr_bench.model.record import text_digest

from .conftest import completion

STREAM = (b"data: 1\n\n", b"data: [DONE]\n\n")


@pytest.fixture
def recorded(upstream, gateways, stages):
    """A trial whose answers are kept: its stage, and what was kept."""

    def make(*events):
        kept, gateway = [], gateways(upstream.url)
        stage = stages(*events, gateway=gateway)
        scene = replace(stage.scene, trial_id="kept", keep=kept.append)
        stage.url = gateway.enter(scene)
        return stage, kept

    return make


def test_an_answer_is_kept_with_its_request_and_place(recorded, upstream):
    stage, kept = recorded()
    stage.attempt(occurrence=2)
    (line,) = kept
    assert (line.point, line.occurrence, line.attempt, line.target) == ("model:agent", 2, 1, "m")
    assert line.request_digest == text_digest(upstream.seen[0][2]) == stage.hits[0].request_digest
    assert line.response.chunks == (completion(),)
    assert line.response_digest == stage.hits[0].response_digest
    assert line.response.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("kind", "landed"),
    [
        ("made_close_late", True),
        ("made_hang_late", True),
        ("made_drip", True),
        ("made_close", False),
        ("made_page", False),
    ],
)
def test_what_a_fault_takes_away_is_kept_if_the_server_said_it(recorded, event, kind, landed):
    stage, kept = recorded(event(kind))
    stage.attempt()
    assert [line.response.chunks for line in kept] == ([(completion(),)] if landed else [])


def test_a_stream_is_kept_in_the_pieces_in_which_it_came(recorded, upstream):
    def stream(handler, _):
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        for piece in STREAM:
            handler.wfile.write(piece)
            handler.wfile.flush()
        handler.close_connection = True

    upstream.answer = stream
    stage, kept = recorded()
    httpx.post(f"{stage.url}/chat/completions", json={"model": "m", "messages": []})
    (line,) = kept
    assert b"".join(line.response.chunks) == b"".join(STREAM)
    assert line.response_digest == stage.hits[0].response_digest


def test_what_is_no_model_call_is_not_kept(recorded):
    stage, kept = recorded()
    httpx.get(f"{stage.url}/models")
    assert len(stage.hits) == 1
    assert kept == []
