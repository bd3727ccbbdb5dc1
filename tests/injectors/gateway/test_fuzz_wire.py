"""Hypothesis on both ends of the gateway, over real sockets.

Whatever a client sends and whatever a model server answers: every exchange comes to an end, nothing
is thrown in the gateway's loop, a request is told at most once, and the next good one is served.
"""

import gzip
import json
import logging
import socket
import threading
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.dialects import CHAT, MODEL_DIALECTS
from hfr_bench.injectors.gateway import GatewayInjector, sse
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.terms import Layer
from hfr_bench.ports.injector import Scene
from hfr_bench.testing.fakes import FakeClock

from .answers import PATHS, ModelServer, answer, request
from .conftest import Stage, Upstream, made_up_kinds
from .raw import BODY, RawServer, talk

KINDS = ("", "model_unknown_tool", "model_stream_cut", "model_refusal", "model_slow_drip")
FAR = 10_000

fuzzed = settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Heard(logging.Handler):
    """What a loop says of exceptions that nobody caught."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def heard() -> Iterator[Heard]:
    """Nothing may be said, whatever was sent."""
    handler = Heard()
    logger = logging.getLogger("asyncio")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    assert handler.lines == []


class Field:
    """Trials in one gateway. Without a repr: what an example shows must be short."""

    def __init__(self, server: RawServer | None, **stages: Stage) -> None:
        self.server, self.stages = server, stages
        self.good = stages[""]
        self.far = FAR

    def next(self) -> int:
        """A step of the good trial that nobody else comes to."""
        self.far += 1
        return self.far

    def close(self) -> None:
        for stage in self.stages.values():
            stage.pool.close()


def entered(gateway: GatewayInjector, kind: str = "") -> Stage:
    """A trial; with a kind, all of its first steps are faulty."""
    events = [
        FaultEvent(
            injection_id=str(n), layer=Layer.MODEL, kind=kind, point="model:agent", occurrence=n
        )
        for n in range(1, 2000 if kind else 1)
    ]
    clock, hits = FakeClock(), []
    scene = Scene(kind or "trial", Cursor(events), made_up_kinds(), clock, hits.append, {})
    return Stage(scene.trial_id, gateway.enter(scene), scene, clock, hits, threading.Event())


# -- what a client may send -----------------------------------------------------------------------

DEEP, LONG = b"@DEEP@", b"@LONG@"
GREAT = {DEEP: b"[" * 60_000 + b"]" * 60_000, LONG: b"a" * 70_000}
"""What is sent for these words; examples that are shown must be short."""


def filled(data: bytes) -> bytes:
    for word, great in GREAT.items():
        data = data.replace(word, great)
    return data


bodies = st.one_of(
    st.just(BODY),
    st.integers(0, len(BODY)).map(lambda n: BODY[:n]),
    st.just(DEEP),
    st.just(b'{"model": "m", "messages": ' + DEEP + b"}"),
    st.binary(max_size=40),
    st.just(b'{"model": "\xff\xfe\xed\xa0\x80", "messages": []}'),
    st.sampled_from([b"null", b"[]", b"{}", b'{"model": {"a": 1}}', b'{"model": 1e999}', b"NaN"]),
)
lines = st.one_of(
    st.just(b"Content-Type: application/json"),
    st.just(b"x-hfr-point: model:agent"),
    st.sampled_from([b"x-hfr-occurrence: ", b"x-hfr-attempt: "]).flatmap(
        lambda name: st.sampled_from([b"1", b"0", b"-1", b"x", b"", b"9" * 400, b"\xff"]).map(
            lambda value: name + value
        )
    ),
    st.just(b"Expect: 100-continue"),
    st.just(b"Connection: keep-alive, te"),
    st.just(b"Upgrade: websocket"),
    st.just(b"X: " + LONG),
    st.just(b"Accept-Encoding: br, zstd"),
    st.binary(max_size=12).map(lambda b: b"X-B: " + b),
    st.binary(max_size=12),
)
methods = st.sampled_from([b"POST", b"POST", b"POST", b"GET", b"HEAD", b"PUT", b"OPTIONS", b"P T"])
tails = st.one_of(
    st.sampled_from([path.encode() for path in PATHS.values()]),
    st.sampled_from([b"v1/chat/completions?stream=1", b"v1/models", b"v1/../../x", b"v1/%00", b""]),
    st.binary(max_size=8),
)
versions = st.sampled_from([b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/3", b"http/1.1", b""])


def in_chunks(body: bytes, size: int, end: bytes) -> bytes:
    cut = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in cut) + end


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """A request, well or badly made, without its first line's prefix."""
    body = draw(bodies)
    how = draw(st.sampled_from(["right", "short", "long", "none", "chunks", "odd", "both"]))
    off = {"right": 0, "short": -3, "long": 7}.get(how)
    framing = b"" if off is None else b"Content-Length: %d\r\n" % (len(filled(body)) + off)
    if how in ("chunks", "odd", "both"):
        framing = b"Transfer-Encoding: chunked\r\n"
        framing += b"Content-Length: 3\r\n" if how == "both" else b""
        ends = [b"0\r\n\r\n"] if how == "chunks" else [b"", b"0\r\n", b"-1\r\n", b"zz\r\n\r\n"]
        body = in_chunks(body, draw(st.sampled_from([1000, 9000])), draw(st.sampled_from(ends)))
    head = b"".join(line + b"\r\n" for line in draw(st.lists(lines, max_size=4)))
    first = b"%b /t/%%b/%b %b\r\n" % (
        draw(methods), draw(tails).replace(b"%", b"%%"), draw(versions),
    )  # fmt: skip
    return first + (b"Host: x\r\n" + head + framing + b"\r\n" + body).replace(b"%", b"%%")


@given(
    st.lists(requests(), min_size=1, max_size=3),
    st.lists(st.integers(0, 3000), max_size=4),
    st.one_of(st.none(), st.integers(0, 4)),
    st.sampled_from([b"trial", b"trial", b"model_refusal", b"nobody"]),
)
@fuzzed
def test_whatever_a_client_sends(both, heard, asked, cuts, leave_at, trial):
    good = both.good
    data = filled(b"".join(one % trial for one in asked))
    places = sorted({min(cut, len(data)) for cut in cuts})
    pieces = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    came = talk(good.url, pieces, leave_at=leave_at)
    assert came == b"" or came.startswith(b"HTTP/1.1 "), came[:80]
    assert good.attempt(occurrence=both.next()).status == 200
    assert [hit.occurrence for hit in good.hits].count(both.far) == 1


@pytest.fixture
def both(upstream: Upstream, gateways) -> Iterator[Field]:
    """A trial without and one with faults, before a model server that answers what it can read."""
    known = ModelServer(upstream)

    def answer_if_readable(handler, body):
        try:
            known(handler, body)
        except (ValueError, AttributeError, RecursionError):
            upstream.send(handler, 400, b"{}")

    upstream.answer = answer_if_readable
    gateway = gateways(upstream.url)
    made = Field(None, **{kind: entered(gateway, kind) for kind in ("", "model_refusal")})
    yield made
    made.close()


# -- what a model server may answer ---------------------------------------------------------------

WHOLE = json.dumps(answer(CHAT)).encode()
STREAM = sse.stream_of(CHAT, answer(CHAT))
contents = st.one_of(
    st.sampled_from([WHOLE, STREAM, b"", DEEP, b"data: [DONE]\n\n", b"data: {\n\ndata: }\n\n"]),
    st.integers(0, len(STREAM)).map(lambda n: STREAM[n:] + STREAM[: n // 2]),
    st.integers(0, len(WHOLE)).map(lambda n: WHOLE[:n]),
    st.binary(max_size=60),
    st.binary(max_size=20).map(lambda b: b"data: " + b + b"\n\n" + STREAM),
)
types = st.sampled_from([b"application/json", b"text/event-stream", b"TEXT/HTML; x", b"", b"\xff"])
statuses = st.sampled_from([b"200 OK", b"200", b"204 No", b"304 N", b"429 x", b"503 x", b"999 x",
                            b"100 C\r\n\r\nHTTP/1.1 200 OK", b"20x", b""])  # fmt: skip


@st.composite
def answers(draw: st.DrawFn) -> list[bytes]:
    """A response, well or badly made, in pieces."""
    body = draw(contents)
    packing = draw(st.sampled_from(["", "", "gzip", "deflate", "br", "zstd", "gzip?", "x, gzip"]))
    if packing == "gzip":
        body = gzip.compress(body)
    elif packing == "deflate":
        body = zlib.compress(body)
    head = b"HTTP/1.1 " + draw(statuses) + b"\r\nContent-Type: " + draw(types) + b"\r\n"
    head += f"Content-Encoding: {packing.strip('?')}\r\n".encode() if packing else b""
    how = draw(st.sampled_from(["right", "short", "long", "none", "chunks", "odd", "wild"]))
    if how in ("right", "short", "long"):
        head += b"Content-Length: %d\r\n" % max(
            0, len(filled(body)) + {"short": -5, "long": 9}.get(how, 0)
        )
    elif how in ("chunks", "odd"):
        head += b"Transfer-Encoding: chunked\r\n"
        end = b"0\r\n\r\n" if how == "chunks" else draw(st.sampled_from([b"", b"0\r\n", b"x\r\n"]))
        body = in_chunks(body, 700, end)
    elif how == "wild":
        head += draw(st.binary(max_size=30)) + b"\r\n"
    data = head + b"\r\n" + body
    cut = draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))
    step = draw(st.sampled_from([len(data) + 1, 50, 997]))
    return [data[at : min(at + step, cut)] for at in range(0, cut, step)][:200]


@pytest.fixture
def wild(gateways) -> Iterator[Field]:
    """A model server of which anything may come, and a trial for each of some kinds."""
    server = RawServer(lambda _: [])
    gateway = gateways(server.url, dialects=MODEL_DIALECTS)
    made = Field(server, **{kind: entered(gateway, kind) for kind in KINDS})
    yield made
    made.close()
    server.close()


@given(answers(), st.sampled_from(KINDS), st.sampled_from(MODEL_DIALECTS), st.booleans())
@fuzzed
def test_whatever_a_model_server_answers(wild, heard, pieces, kind, dialect, streamed):
    server, stage, good = wild.server, wild.stages[kind], wild.good
    server.answer = lambda _: [filled(piece) for piece in pieces]
    body = json.dumps(request(dialect, streamed=streamed)).encode()
    path = stage.url.removesuffix("/v1").split("/", 3)[3]
    head = f"POST /{path}/{PATHS[dialect]} HTTP/1.1\r\nHost: x\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    before = len(stage.hits)
    came = talk(stage.url, [head.encode() + body])
    assert came == b"" or came.startswith(b"HTTP/1.1 "), came[:80]
    assert len(stage.hits) == before + 1
    server.answer = lambda _: [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(WHOLE), WHOLE]
    assert good.attempt(occurrence=FAR).status == 200


def test_many_who_dawdle_keep_nobody_from_being_served(both):
    """Slow loris: hundreds of requests that have begun and do not go on."""
    good = both.good
    port = int(good.url.split(":")[2].partition("/")[0])
    crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
    try:
        for wire in crowd:
            wire.sendall(b"POST /t/trial/v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-")
        assert good.attempt(occurrence=FAR).status == 200
    finally:
        for wire in crowd:
            wire.close()
    assert good.attempt(occurrence=FAR + 1).status == 200
    assert len(good.hits) == 2
