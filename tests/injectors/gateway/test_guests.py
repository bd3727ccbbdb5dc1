"""Trials come, go and stay apart; nothing is told of a trial that has left."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from hfr_bench.errors import InfrastructureError
from hfr_bench.injectors.gateway import GatewayInjector

BODY = {"model": "m", "messages": []}
PATIENCE_S = 20


def post(stage):
    """One request of a stranger, on a connection of its own."""
    with httpx.Client(trust_env=False, timeout=PATIENCE_S) as http:
        return http.post(f"{stage.url}/chat/completions", json=BODY)


def test_leaving_wakes_a_real_stall(upstream, stages, gateways, event, wall):
    gateway = gateways(upstream.url)
    stage = stages(event("made_hang"), clock=wall, gateway=gateway)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(post, stage)
        assert stage.told.wait(PATIENCE_S)
        assert not answer.done()
        gateway.leave(stage.trial_id)
        with pytest.raises(httpx.TransportError):
            answer.result(PATIENCE_S)
    assert [hit.stall_us for hit in stage.hits] == [86_400_000_000]


def test_stopping_wakes_a_real_stall(upstream, stages, gateways, event, wall):
    gateway = gateways(upstream.url)
    stage = stages(event("made_hang"), clock=wall, gateway=gateway)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(post, stage)
        assert stage.told.wait(PATIENCE_S)
        gateway.stop()
        with pytest.raises(httpx.TransportError):
            answer.result(PATIENCE_S)


def test_leaving_waits_for_the_request_in_flight(upstream, stages, gateways):
    asked, go_on = threading.Event(), threading.Event()

    def slow(handler, _):
        asked.set()
        assert go_on.wait(PATIENCE_S)
        upstream.send(handler)

    upstream.answer = slow
    gateway = gateways(upstream.url, drain_s=PATIENCE_S)
    stage = stages(gateway=gateway)
    with ThreadPoolExecutor(2) as pool:
        answer = pool.submit(post, stage)
        assert asked.wait(PATIENCE_S)
        left = pool.submit(gateway.leave, stage.trial_id)
        assert not left.done()
        go_on.set()
        left.result(PATIENCE_S)
        assert len(stage.hits) == 1
        assert answer.result(PATIENCE_S).status_code == 200


def test_a_request_that_never_ends_is_cut_off_and_told(upstream, stages, gateways):
    asked, go_on = threading.Event(), threading.Event()

    def stuck(handler, _):
        asked.set()
        go_on.wait(PATIENCE_S)
        handler.close_connection = True

    upstream.answer = stuck
    gateway = gateways(upstream.url, drain_s=0.05)
    stage = stages(gateway=gateway)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(post, stage)
        assert asked.wait(PATIENCE_S)
        gateway.leave(stage.trial_id)
        assert [hit.response_digest for hit in stage.hits] == [""]
        with pytest.raises(httpx.TransportError):
            answer.result(PATIENCE_S)
    go_on.set()
    assert len(stage.hits) == 1


def test_a_trial_that_left_is_unknown(upstream, stages, gateways):
    gateway = gateways(upstream.url)
    stage = stages(gateway=gateway)
    assert post(stage).status_code == 200
    gateway.leave(stage.trial_id)
    gateway.leave(stage.trial_id)
    assert post(stage).status_code == 404
    assert len(stage.hits) == 1


def test_eight_threads_of_fifty_requests_stay_apart(stages, event, upstream):
    crowd = [
        stages(
            *(event("model_500", k, injection_id=f"{n}/{k}") for k in range(1, 51) if k % 8 == n)
        )
        for n in range(8)
    ]

    def play(stage):
        return [stage.attempt(k, target=stage.trial_id).status for k in range(1, 51)]

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(play, crowd))
    for n, (stage, got) in enumerate(zip(crowd, statuses, strict=True)):
        assert got == [500 if k % 8 == n else 200 for k in range(1, 51)]
        assert [hit.occurrence for hit in stage.hits] == list(range(1, 51))
        assert {hit.target for hit in stage.hits} == {stage.trial_id}
        expected = [f"{n}/{k}" if k % 8 == n else None for k in range(1, 51)]
        assert [hit.injection_id for hit in stage.hits] == expected
    assert len(upstream.seen) == 8 * 50 - sum(got.count(500) for got in statuses)


def test_parallel_strangers_get_a_step_each(stages, upstream):
    stage = stages()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: post(stage).status_code, range(20)))
    assert answers == [200] * 20
    assert sorted(hit.occurrence for hit in stage.hits) == list(range(1, 21))


def test_misuse_is_named(upstream, stages, gateways):
    with pytest.raises(InfrastructureError, match="not running"):
        GatewayInjector().enter(stages().scene)
    gateway = gateways(upstream.url)
    with pytest.raises(InfrastructureError, match="runs already"):
        gateway.start(upstream.url)
    stage = stages(gateway=gateway)
    with pytest.raises(InfrastructureError, match="in the gateway already"):
        gateway.enter(stage.scene)


def test_no_thread_is_left(upstream, gateways):
    gateway = gateways(upstream.url)
    gateway.stop()
    gateway.stop()
    assert "hfr-gateway" not in [thread.name for thread in threading.enumerate()]
