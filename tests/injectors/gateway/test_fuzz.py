"""Whatever comes in over the wire, the gateway answers or hangs up, and serves the next one."""

import contextlib
import json
import random
import socket

import httpx
import pytest

from hfr_bench.faults.dialects import CHAT, MODEL_DIALECTS

from .answers import PATHS, ModelServer, request

ROUNDS = 150
PATIENCE_S = 20


def sent_raw(port, data):
    """What a socket gets for some bytes; whatever it is, it comes to an end."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as wire:
        with contextlib.suppress(OSError):
            wire.sendall(data)
            wire.shutdown(socket.SHUT_WR)
        came = b""
        with contextlib.suppress(ConnectionError):
            while piece := wire.recv(65536):
                came += piece
        return came


@pytest.fixture
def good(stages, upstream):
    """A stage, and a good request of it as bytes."""
    upstream.answer = ModelServer(upstream)
    stage = stages()
    body = json.dumps(request(CHAT)).encode()
    path = stage.url.split("/", 3)[3]
    head = f"POST /{path}/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return stage, head.encode() + body


def test_spoiled_requests_end_and_harm_nobody(good):
    stage, whole = good
    port = int(stage.url.split(":")[2].split("/")[0])
    chance = random.Random(7)
    for _ in range(ROUNDS):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 9)] = chance.randbytes(chance.randint(0, 9))
        came = sent_raw(port, bytes(data[: chance.randint(1, len(data))]))
        assert came == b"" or came.startswith(b"HTTP/1."), came[:80]
    assert stage.attempt(occurrence=10_000).status == 200


def test_any_body_on_any_path_is_answered(good):
    stage, _ = good
    origin = stage.url.removesuffix("/v1")
    chance = random.Random(8)
    with httpx.Client(trust_env=False, timeout=PATIENCE_S) as http:
        for n in range(ROUNDS):
            dialect = MODEL_DIALECTS[n % 4]
            whole = json.dumps(request(dialect)).encode()
            body = bytearray(whole)
            for _ in range(chance.randint(0, 4)):
                body[chance.randrange(len(body))] = chance.randrange(256)
            tail = PATHS[dialect][: chance.randint(3, len(PATHS[dialect]))]
            headers = {"x-hfr-attempt": chance.choice(["1", "-1", "x", "9" * 5000])}
            with contextlib.suppress(httpx.RemoteProtocolError):  # the server beneath gave up
                http.post(f"{origin}/{tail}", content=bytes(body), headers=headers)
    assert stage.attempt(occurrence=10_000).status == 200


@pytest.mark.parametrize("dialect", MODEL_DIALECTS)
@pytest.mark.parametrize("kind", ["model_unknown_tool", "model_stream_cut", "model_refusal"])
def test_any_answer_may_be_spoiled(kind, dialect, stages, event, upstream):
    chance = random.Random(9)

    def odd(handler, body):
        kind = chance.choice(["application/json", "text/event-stream", "text/html"])
        upstream.send(handler, 200, chance.randbytes(chance.randint(1, 90)), content_type=kind)

    upstream.answer = odd
    stage = stages(*(event(kind, n) for n in range(1, 41)))
    origin = stage.url.removesuffix("/v1")
    with httpx.Client(trust_env=False, timeout=PATIENCE_S) as http:
        for n in range(1, 41):
            headers = {
                "x-hfr-point": "model:agent",
                "x-hfr-occurrence": str(n),
                "x-hfr-attempt": "1",
            }
            with contextlib.suppress(httpx.RemoteProtocolError):
                http.post(f"{origin}/{PATHS[dialect]}", json=request(dialect), headers=headers)
    assert [hit.occurrence for hit in stage.hits] == list(range(1, 41))
