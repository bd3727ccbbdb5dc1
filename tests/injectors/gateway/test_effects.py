"""Every wire effect reaches a real client as the real thing, once, and as it was declared."""

import httpx
import pytest

from hfr_bench.faults.shape import CLOSED, TIMEOUT, Shape, declared
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import Lasts

TIMEOUT_US = 10_000_000


def seen(observation):
    digest = text_digest(observation.body) if observation.status is not None else ""
    retry_after = observation.headers.get("retry-after")
    return Shape(
        observation.status, digest, observation.exception, retry_after, observation.latency_us
    )


def test_without_an_event_the_answer_is_the_upstreams(stages, upstream):
    stage = stages()
    observation = stage.attempt()
    assert (observation.answered, observation.status) == (True, 200)
    assert observation.payload == {"role": "assistant", "content": "hello"}
    assert [hit.forwarded for hit in stage.hits] == [True]
    assert stage.hits[0].upstream_status == 200
    assert stage.hits[0].injection_id is None
    assert stage.hits[0].request_digest == text_digest(upstream.seen[0][2])
    assert stage.hits[0].response_digest == text_digest(observation.body)


def test_a_rate_limit_names_its_wait(stages, event, upstream):
    stage = stages(event("model_429", params={"retry_after_s": 5}))
    observation = stage.attempt()
    assert (observation.answered, observation.status) == (False, 429)
    assert observation.headers["retry-after"] == "5"
    assert "try again in 5s" in observation.body
    assert observation.latency_us == stage.clock.us == 50_000
    assert not any(name.startswith("x-hfr") for name in observation.headers)
    assert upstream.seen == []
    assert stage.hits[0].kind == "model_429"
    assert not stage.hits[0].forwarded


@pytest.mark.parametrize(("kind", "status"), [("model_500", 500), ("model_529", 529)])
def test_a_server_error_is_a_server_error(kind, status, stages, event):
    stage = stages(event(kind))
    assert stage.attempt().status == status
    assert stage.attempt(attempt=2).status == 200


def test_under_the_wall_clock_nothing_is_announced(stages, event, wall):
    stage = stages(event("model_429", params={"retry_after_s": 1}), clock=wall)
    with httpx.Client(trust_env=False) as http:
        answer = http.post(f"{stage.url}/chat/completions", json={"model": "m"})
    assert answer.status_code == 429
    assert not any(name.startswith("x-hfr") for name in answer.headers)
    assert answer.elapsed.total_seconds() >= 0.05  # the kind's latency, really waited


@pytest.mark.parametrize("forward", [False, True])
def test_a_closed_connection_is_closed(forward, stages, event, upstream):
    stage = stages(event("made_close_late" if forward else "made_close"))
    observation = stage.attempt()
    assert (observation.exception, observation.sent) == (CLOSED, True)
    assert observation.status is None
    assert observation.cost_microusd == 7
    assert len(upstream.seen) == int(forward)
    hit = stage.hits[0]
    assert (hit.forwarded, hit.response_digest) == (forward, "")
    assert hit.upstream_status == (200 if forward else None)
    assert observation.latency_us == 40_000


@pytest.mark.parametrize("forward", [False, True])
def test_a_hang_ends_at_the_deadline_of_the_attempt(forward, stages, event, upstream):
    stage = stages(event("made_hang_late" if forward else "made_hang"))
    observation = stage.attempt()
    assert observation.exception == TIMEOUT
    assert observation.latency_us == stage.clock.us == TIMEOUT_US
    assert stage.hits[0].stall_us == 86_400_000_000
    assert len(upstream.seen) == int(forward)


def test_effect_lands_decides_whether_the_upstream_gets_it(stages, event, upstream):
    assert stages(event("made_close", effect_lands=True)).attempt().exception == CLOSED
    assert len(upstream.seen) == 1
    assert stages(event("made_close_late", effect_lands=False)).attempt().exception == CLOSED
    assert len(upstream.seen) == 1


def test_a_short_stall_is_a_closed_connection_after_its_time(stages, event):
    stage = stages(event("made_stall"))
    assert stage.attempt().exception == CLOSED
    assert stage.clock.us == 2_000_000


def test_a_target_event_clears_when_the_model_changes(stages, event):
    stage = stages(event("model_529", lasts=Lasts(unit="target")))
    assert [stage.attempt(attempt=n).status for n in (1, 2, 3)] == [529, 529, 529]
    assert stage.attempt(attempt=4, target="other").status == 200
    assert stage.attempt(attempt=5).status == 200
    assert [hit.target for hit in stage.hits] == ["m"] * 3 + ["other", "m"]


def test_a_served_fault_looks_like_a_forwarded_answer(stages, event, upstream):
    upstream.answer = lambda handler, _: upstream.send(handler, x_request_id="r1")
    stage = stages(event("model_500"))
    fault, real = stage.attempt(), stage.attempt(occurrence=2)
    assert set(real.headers) - set(fault.headers) == {"x-request-id"}
    assert "date" in fault.headers
    assert "server" not in real.headers  # the upstream's own would give it away


@pytest.mark.parametrize("kind", ["model_429", "model_500", "model_529", "made_close", "made_hang"])
def test_a_hundred_events_are_delivered_as_declared(kind, stages, event):
    params = {"retry_after_s": 2} if kind == "model_429" else {}
    events = [event(kind, n, params=params) for n in range(1, 101)]
    stage = stages(*events)
    spec = stage.scene.kinds[kind]
    for planned in events:
        got = seen(stage.attempt(planned.occurrence))
        wanted = declared(planned, spec, "openai_chat", TIMEOUT_US)
        if wanted.latency_us is None:  # a connection that just ends declares no time
            got = got._replace(latency_us=None)
        assert got == wanted
        assert len(stage.hits) == planned.occurrence  # told once, and before the answer
        assert stage.hits[-1].injection_id == planned.injection_id


def test_a_stranger_meets_the_same_faults(stages, event):
    stage = stages(event("model_429", params={"retry_after_s": 1}), event("made_close", 2))
    url = f"{stage.url}/chat/completions"
    with httpx.Client(trust_env=False) as http:
        assert http.post(url, json={"model": "m", "messages": []}).status_code == 429
        assert http.post(url, json={"model": "m", "messages": []}).status_code == 200
        with pytest.raises(httpx.TransportError):
            http.post(url, json={"model": "m", "messages": []})
        assert http.post(url, json={"model": "m", "messages": []}).status_code == 200
    coordinates = [(hit.occurrence, hit.told) for hit in stage.hits]
    assert coordinates == [(1, False), (1, False), (2, False), (2, False)]
