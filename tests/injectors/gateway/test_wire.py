"""What the proxy passes, strips, infers and refuses; trials that come, go and stay apart."""

import threading

import httpx
import pytest

from hfr_bench import content
from hfr_bench.injectors.gateway import GatewayInjector
from hfr_bench.model.record import text_digest

BODY = {"model": "m", "messages": []}
PATIENCE_S = 20


@pytest.fixture
def http():
    with httpx.Client(trust_env=False, timeout=PATIENCE_S) as client:
        yield client


def test_it_answers_for_the_kinds_that_speak_its_dialect():
    kinds = GatewayInjector().kinds()
    assert {"model_429", "model_500", "model_529"} <= kinds
    assert kinds == {name for name, spec in content.kinds().items() if "openai_chat" in spec.wire}


def test_told_coordinates_are_taken(stages, upstream):
    stage = stages()
    stage.attempt(occurrence=4, attempt=3)
    hit, headers = stage.hits[0], upstream.seen[0][1]
    assert (hit.point, hit.occurrence, hit.told) == ("model:agent", 4, True)
    assert headers["x-hfr-attempt"] == "3"
    assert headers["x-hfr-timeout-us"] == "10000000"
    assert (headers["x-hfr-suite"], headers["x-hfr-task"], headers["x-hfr-seed"]) == ("s", "t", "1")


def test_inferred_coordinates_follow_failures(stages, upstream, http):
    stage = stages()
    for status in (200, 500, 503, 200, 400, 200):
        upstream.answer = lambda handler, _, s=status: upstream.send(handler, s)
        http.post(f"{stage.url}/chat/completions", json=BODY)
    places = [(int(h["x-hfr-occurrence"]), int(h["x-hfr-attempt"])) for _, h, _ in upstream.seen]
    assert places == [(1, 1), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2)]
    assert not any(hit.told for hit in stage.hits)
    labels = [upstream.seen[0][1][f"x-hfr-{name}"] for name in ("suite", "task", "seed")]
    assert labels == ["s", "t", "1"]  # the stranger does not know them; the rehearsal needs them


@pytest.mark.parametrize("broken", ["0", "-1", "x", ""])
def test_a_broken_coordinate_is_not_taken_for_told(broken, stages, http):
    stage = stages()
    headers = {"x-hfr-point": "model:agent", "x-hfr-occurrence": broken, "x-hfr-attempt": "1"}
    http.post(f"{stage.url}/chat/completions", json=BODY, headers=headers)
    assert (stage.hits[0].occurrence, stage.hits[0].told) == (1, False)


def test_a_foreign_upstream_never_sees_a_coordinate(stages, upstream, gateways):
    gateway = gateways(upstream.url, forward_coordinates=False)
    stage = stages(gateway=gateway)
    assert stage.attempt().answered
    assert not [name for name in upstream.seen[0][1] if name.startswith("x-hfr")]
    assert stage.hits[0].told


def test_hop_headers_end_here_and_the_rest_goes_through(stages, upstream, http):
    stage = stages()
    headers = {
        "authorization": "Bearer k", "connection": "keep-alive, x-once", "x-once": "1", "te": "x",
    }  # fmt: skip
    upstream.answer = lambda handler, _: upstream.send(handler, keep_alive="9", x_ratelimit="3")
    answer = http.post(f"{stage.url}/chat/completions?a=1", json=BODY, headers=headers)
    path, got, _ = upstream.seen[0]
    assert path == "/v1/chat/completions?a=1"
    assert got["authorization"] == "Bearer k"
    assert not {"x-once", "te", "keep-alive"} & set(got)
    assert answer.headers["x-ratelimit"] == "3"
    assert "keep-alive" not in answer.headers


def test_other_requests_pass_through_unfaulted_and_are_told(stages, event, http):
    stage = stages(event("model_500"))
    assert http.get(f"{stage.url}/models").status_code == 200
    assert stage.hits[0].point == "wire:models"
    assert stage.attempt().status == 500


@pytest.mark.parametrize("path", ["/t/nobody/v1/chat/completions", "/v1/chat/completions", "/"])
def test_an_unknown_trial_is_refused_in_the_providers_shape(path, stages, http):
    origin = stages().url.split("/t/")[0]
    answer = http.post(origin + path, json=BODY)
    assert answer.status_code == 404
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


def test_a_dead_upstream_is_an_organic_502(gateways, stages, upstream):
    stage = stages(gateway=gateways("http://127.0.0.1:9/v1"))
    observation = stage.attempt()
    assert (observation.status, observation.answered) == (502, False)
    hit = stage.hits[0]
    assert (hit.upstream_status, hit.injection_id, hit.forwarded) == (None, None, False)
    assert hit.response_digest == text_digest(observation.body)


@pytest.mark.parametrize(("told", "count"), [("3", 3), ("many", 0), ("-1", 0)])
def test_organic_errors_that_a_relay_absorbed_are_told(stages, upstream, told, count):
    upstream.answer = lambda handler, _: upstream.send(handler, x_hfr_absorbed=told)
    stage = stages()
    assert stage.attempt().status == 200
    hit = stage.hits[0]
    assert (hit.absorbed, hit.organic, hit.injection_id) == (count, False, None)


def test_an_upstream_that_hangs_up_is_an_organic_502(stages, upstream):
    def hang_up(handler, _):
        handler.close_connection = True

    upstream.answer = hang_up
    stage = stages()
    assert stage.attempt().status == 502
    assert (stage.hits[0].upstream_status, stage.hits[0].forwarded) == (None, True)
    assert len(upstream.seen) == 1  # it never retries


def test_a_body_beyond_the_limit_is_refused(stages, upstream, http):
    stage = stages()
    answer = http.post(f"{stage.url}/chat/completions", content=bytes(64 * 1024 * 1024 + 1))
    assert answer.status_code == 413
    assert upstream.seen == []
    assert len(stage.hits) == 1


def test_server_sent_events_arrive_one_by_one(stages, upstream, http):
    first_seen = threading.Event()

    def trickle(handler, _):
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.wfile.write(b"data: 1\n\n")
        handler.wfile.flush()
        assert first_seen.wait(PATIENCE_S)
        handler.wfile.write(b"data: [DONE]\n\n")
        handler.close_connection = True

    upstream.answer = trickle
    stage = stages()
    with http.stream("POST", f"{stage.url}/chat/completions", json=BODY) as answer:
        chunks = answer.iter_bytes()
        assert next(chunks) == b"data: 1\n\n"
        assert stage.hits == []
        first_seen.set()
        rest = b""
        while b"[DONE]" not in rest:
            rest += next(chunks)
        assert stage.hits[0].response_digest == text_digest(b"data: 1\n\n" + rest)
        assert list(chunks) == []
    assert len(stage.hits) == 1


def test_a_stream_that_breaks_is_cut_off_and_told_once(stages, upstream, http):
    def break_off(handler, _):
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("content-length", "1000")
        handler.end_headers()
        handler.wfile.write(b"data: 1\n\n")
        handler.close_connection = True

    upstream.answer = break_off
    stage = stages()
    with pytest.raises(httpx.TransportError):
        http.post(f"{stage.url}/chat/completions", json=BODY)
    assert [hit.response_digest for hit in stage.hits] == [text_digest("data: 1\n\n")]
    upstream.answer = lambda handler, _: upstream.send(handler)
    http.post(f"{stage.url}/chat/completions", json=BODY)
    assert upstream.seen[1][1]["x-hfr-attempt"] == "2"
