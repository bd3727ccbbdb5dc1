"""The thin client: what it sends, what it reports, and how long it says that it took."""

import json
import socket
import threading

import pytest

from hfr_bench.faults.shape import CLOSED, TIMEOUT
from hfr_bench.llms.openai_wire import UNREACHED
from hfr_bench.model.terms import ClockKind
from hfr_bench.ports.llm import request_body

MESSAGE = {"role": "assistant", "content": "yes"}
GOOD = {
    "model": "m-2026",
    "choices": [{"message": MESSAGE, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 2},
}


def reply(body, status=200, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"Content-Type": "application/json"} | named, content


def test_a_good_answer(service, client, call, clock):
    service.reply = reply(GOOD, X_Hfr_Latency_Us="250000", X_Request_Id="r")
    seen = client().attempt(call())
    assert (seen.answered, seen.status, seen.exception, seen.sent) == (True, 200, None, True)
    assert seen.payload == MESSAGE
    assert (seen.returned_model, seen.finish_reason) == ("m-2026", "stop")
    assert (seen.tokens_in, seen.tokens_out, seen.cost_microusd) == (5, 2, 10)
    assert seen.headers["x-request-id"] == "r"
    assert not any(name.startswith("x-hfr") for name in seen.headers)
    assert seen.body == json.dumps(GOOD)
    assert seen.latency_us == clock.us == 250_000


def test_what_it_sends(service, client, call):
    service.reply = reply(GOOD)
    asked = call(payload={"tools": [], "messages": [{"content": "ü", "role": "user"}]})
    client().attempt(asked)
    headers, body = service.seen[0]
    told = {name: value for name, value in headers.items() if name.startswith("x-hfr")}
    assert told == {
        "x-hfr-point": "model:agent",
        "x-hfr-occurrence": "2",
        "x-hfr-attempt": "1",
        "x-hfr-timeout-us": "1000000",
        "x-hfr-suite": "suite",
        "x-hfr-task": "task",
        "x-hfr-seed": "3",
    }
    assert body == request_body(asked)
    assert body.decode() == '{"model":"m","messages":[{"content":"ü","role":"user"}],"tools":[]}'


def test_the_same_request_is_the_same_bytes_whatever_the_order(call):
    one = call(payload={"a": 1, "b": {"c": 2, "d": 3}})
    two = call(payload={"b": {"d": 3, "c": 2}, "a": 1})
    assert request_body(one) == request_body(two)
    assert request_body(call(payload={})) == b'{"model":"m"}'
    assert json.loads(request_body(call(payload={"model": "other"}))) == {"model": "m"}


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", {}, {"choices": []}, {"choices": [{}]}, {"choices": {"0": 1}},
     {"choices": [{"message": None}]}, b"\xff\xfe"],
)  # fmt: skip
def test_an_unparsable_answer_is_no_answer(body, service, client, call):
    service.reply = reply(body)
    seen = client().attempt(call())
    assert (seen.answered, seen.status, seen.payload) == (False, 200, None)
    assert seen.cost_microusd == 10


def test_odd_figures_in_a_good_answer_do_no_harm(service, client, call):
    service.reply = reply({"model": 3, "choices": GOOD["choices"], "usage": {"prompt_tokens": "x"}})
    seen = client().attempt(call())
    assert seen.answered
    assert (seen.returned_model, seen.tokens_in, seen.tokens_out) == (None, 0, 0)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
def test_an_error_status_is_no_answer(status, service, client, call):
    service.reply = reply(GOOD, status)
    seen = client().attempt(call())
    assert (seen.answered, seen.status, seen.body) == (False, status, json.dumps(GOOD))
    assert len(service.seen) == 1  # no retry of its own


def test_an_unknown_price_is_null(service, client, call):
    service.reply = reply(GOOD)
    assert client().attempt(call(target="unknown")).cost_microusd is None


def test_a_closed_connection_takes_what_was_announced(service, client, call, clock):
    seen = client(announced=70_000).attempt(call())
    assert (seen.exception, seen.sent, seen.status) == (CLOSED, True, None)
    assert seen.latency_us == clock.us == 70_000


def test_a_long_announced_stall_is_a_timeout(service, client, call, clock):
    seen = client(announced=1_000_000).attempt(call())
    assert (seen.exception, seen.latency_us, clock.us) == (TIMEOUT, 1_000_000, 1_000_000)


def test_an_answer_past_the_deadline_is_a_timeout_whatever_the_socket_said(
    service, client, call, clock
):
    service.reply = reply(GOOD, X_Hfr_Latency_Us="1000001")
    seen = client().attempt(call())
    assert (seen.answered, seen.exception, seen.status) == (False, TIMEOUT, None)
    assert (seen.body, seen.latency_us, clock.us) == ("", 1_000_000, 1_000_000)
    assert seen.cost_microusd == 10


def test_nobody_there(client, call, clock):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        seen = client(url=url).attempt(call())
    assert (seen.exception, seen.sent, clock.us) == (UNREACHED, False, 0)


def test_the_wall_clock_really_times_out(service, client, call, clock):
    clock.kind = ClockKind.WALL
    service.hold, service.reply = threading.Event(), reply(GOOD)
    seen = client(announced=5).attempt(call(timeout_us=200_000))
    assert (seen.exception, seen.sent) == (TIMEOUT, True)
    assert seen.latency_us >= 200_000
    assert clock.us == 0  # real time needs no pushing


def test_an_answer_that_trickles_in_has_no_more_time_than_another(service, client, call, clock):
    clock.kind = ClockKind.WALL
    service.reply = 200, {}, b" " * 1000
    service.drip = 0.02, threading.Event()  # 20 s in all; between two bytes there is no long wait
    seen = client().attempt(call(timeout_us=100_000))
    service.drip[1].set()
    assert (seen.answered, seen.exception, seen.sent) == (False, TIMEOUT, True)
    assert 100_000 <= seen.latency_us < 10_000_000


def test_the_wall_clock_measures(service, client, call, clock):
    clock.kind = ClockKind.WALL
    service.reply = reply(GOOD, X_Hfr_Latency_Us="999999999")
    seen = client().attempt(call(timeout_us=20_000_000))
    assert seen.answered
    assert 0 < seen.latency_us < 20_000_000


def test_a_connection_outlives_the_trial(service, client, call, pool):
    service.reply = reply(GOOD)
    for _ in range(3):
        assert client().attempt(call()).answered
    assert len(pool._all) == 1
    pool.close()
    pool.close()
    assert client().attempt(call()).answered  # a closed pool opens anew
