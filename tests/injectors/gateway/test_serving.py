"""The server end: HTTP/1.1 as clients speak it, well or badly, over real sockets."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from hfr_bench.injectors._wire import BODY_LIMIT
from hfr_bench.injectors.gateway.serving import HEAD_LIMIT, Patience, Reply, Request, Server
from hfr_bench.loopback import LoopThread

PATIENCE_S = 20


class Echo:
    """Answers with what it was asked; `hold` keeps it from answering."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, bytes | None]] = []
        self.hold: asyncio.Event | None = None
        self.asked = threading.Event()

    async def __call__(self, request: Request) -> Reply | None:
        self.seen.append((request.method, request.path_qs, request.body))
        self.asked.set()
        if request.path_qs == "/stream":
            sending = request.begin(200, {"content-type": "text/plain"}, None)
            for piece in (b"one", b"", b"two"):
                await sending.send(piece)
            sending.end(b"!")
            return None
        if request.path_qs == "/defect":
            raise KeyError("ours")
        if request.path_qs == "/gone":
            raise ConnectionResetError
        if request.path_qs == "/nothing":
            return Reply(204, {}, b"")
        if self.hold is not None:
            await self.hold.wait()
        body = b"too much" if request.body is None else request.body
        return Reply(413 if request.body is None else 200, {"x-a": "1\r\n2"}, body)


class Stand:
    """An echo behind a server of its own."""

    def __init__(self, patience: Patience | None = None) -> None:
        self.echo = Echo()
        self.loop = LoopThread("serving")
        self.server = Server(self.echo, patience)
        self.port = self.loop.call(self.server.start())

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def say(self, data: bytes, *, close: bool = True) -> bytes:
        """Everything that comes back for some bytes, until the connection ends."""
        with self.socket() as wire:
            wire.sendall(data)
            if close:
                wire.shutdown(socket.SHUT_WR)
            return rest(wire)

    def close(self) -> None:
        async def stop() -> None:
            self.server.stop()

        self.loop.call(stop())
        self.loop.close()


def rest(wire: socket.socket) -> bytes:
    came = b""
    with contextlib.suppress(ConnectionError):
        while piece := wire.recv(65536):
            came += piece
    return came


def until(wire: socket.socket, end: bytes) -> bytes:
    came = b""
    while end not in came:
        piece = wire.recv(65536)
        assert piece, came
        came += piece
    return came


@pytest.fixture
def stand() -> Iterator[Stand]:
    made = Stand()
    yield made
    made.close()


HEAD = b"POST /x HTTP/1.1\r\nHost: h\r\n"


def post(body: bytes = b"hi", path: bytes = b"/x", extra: bytes = b"") -> bytes:
    head = b"POST %b HTTP/1.1\r\nHost: h\r\n%bContent-Length: %d\r\n\r\n"
    return head % (path, extra, len(body)) + body


def test_one_connection_serves_many_requests(stand):
    with stand.socket() as wire:
        for n in range(5):
            wire.sendall(post(b"body %d" % n))
            assert until(wire, b"body %d" % n).startswith(b"HTTP/1.1 200 OK\r\n")
    assert len(stand.echo.seen) == 5


def test_requests_sent_ahead_are_answered_in_turn(stand):
    came = stand.say(post(b"one") + post(b"two") + post(b"three", extra=b"Connection: close\r\n"))
    assert [came.find(word) for word in (b"one", b"two", b"three")] == sorted(
        came.find(word) for word in (b"one", b"two", b"three")
    )
    assert came.count(b"HTTP/1.1 200") == 3
    assert came.count(b"Connection: close") == 1


def test_a_great_deal_sent_ahead_waits_for_its_turn(stand):
    big = bytes(400_000)
    came = stand.say(b"".join(post(big) for _ in range(12)))
    assert came.count(b"HTTP/1.1 200") == 12
    assert [len(body) for *_, body in stand.echo.seen] == [400_000] * 12


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_request_may_come_in_pieces(stand, size):
    data = (
        b"\r\n"
        + HEAD
        + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\nT: 1\r\n\r\n"
    )
    with stand.socket() as wire:
        for at in range(0, len(data), size):
            wire.sendall(data[at : at + size])
        assert until(wire, b"abcde")
    assert stand.echo.seen == [("POST", "/x", b"abcde")]


def test_a_client_that_waits_to_be_asked_is(stand):
    with stand.socket() as wire:
        wire.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert until(wire, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.sendall(b"hi")
        assert until(wire, b"hi")


def test_old_clients_get_an_end_they_understand(stand):
    came = stand.say(b"GET /stream HTTP/1.0\r\n\r\n", close=False)
    assert came.endswith(b"\r\n\r\nonetwo!")
    assert b"chunked" not in came
    with stand.socket() as wire:
        for _ in range(2):
            wire.sendall(
                b"POST /x HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi"
            )
            assert b"Connection: keep-alive" in until(wire, b"\r\n\r\nhi")


def test_a_stream_is_chunked_and_its_head_comes_with_the_first_piece(stand):
    with stand.socket() as wire:
        wire.sendall(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
        came = until(wire, b"0\r\n\r\n")
    assert came.partition(b"\r\n\r\n")[2] == b"3\r\none\r\n3\r\ntwo\r\n1\r\n!\r\n0\r\n\r\n"


def test_answers_that_have_no_body(stand):
    came = stand.say(b"HEAD /x HTTP/1.1\r\n\r\nGET /nothing HTTP/1.1\r\n\r\n")
    first, second, end = came.split(b"\r\n\r\n")
    assert b"Content-Length: 0" in first
    assert b"204 No Content" in second
    assert b"Content-Length" not in second
    assert end == b""


def test_no_header_can_smuggle_a_line(stand):
    assert b"x-a: 1  2\r\n" in stand.say(post())


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"G\xc3\xa9T / HTTP/1.1\r\n\r\n",
        HEAD + b"no colon\r\n\r\n",
        HEAD + b"Na me: 1\r\n\r\n",
        HEAD + b" folded: 1\r\n\r\n",
        HEAD + b"X: a\x00b\r\n\r\n",
        HEAD + b"X: a\nY: b\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 1e1\r\n\r\n",
        HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        HEAD + b"X: " + b"a" * HEAD_LIMIT + b"\r\n\r\n",
        b"a" * (HEAD_LIMIT + 1),
    ],
)
def test_what_is_no_request_is_told_so_and_hung_up_on(stand, data):
    came = stand.say(data, close=False)
    assert came == b"" or came.startswith(b"HTTP/1.1 400 Bad Request\r\n"), came
    assert stand.echo.seen == []
    assert stand.say(post()).endswith(b"hi")


def test_a_request_that_breaks_off_is_no_request(stand):
    whole = post(b"body")
    for at in range(1, len(whole), 7):
        assert stand.say(whole[:at]) == b""
    assert stand.echo.seen == []


def test_a_client_that_is_gone_harms_nobody(stand):
    with stand.socket() as wire:
        wire.sendall(post())
        assert stand.echo.asked.wait(PATIENCE_S)
    assert stand.say(b"GET /gone HTTP/1.1\r\n\r\n", close=False) == b""
    assert stand.say(post()).endswith(b"hi")


def test_a_body_that_is_too_large_is_told_by_none(stand):
    with httpx.Client(trust_env=False, timeout=PATIENCE_S) as http:
        answer = http.post(f"http://127.0.0.1:{stand.port}/x", content=bytes(BODY_LIMIT + 1))
    assert answer.status_code == 413
    assert stand.echo.seen == [("POST", "/x", None)]


def test_who_dawdles_is_hung_up_on():
    made = Stand(Patience(request_s=0.01, idle_s=0.01, sweep_s=0.01))
    try:
        for begun in (b"", b"POST /x HT", HEAD + b"Content-Length: 9\r\n\r\nhi"):
            assert made.say(begun, close=False) == b""
        assert made.echo.seen == []
    finally:
        made.close()


def test_who_is_waited_for_is_not():
    """An answer may take as long as it takes."""
    made = Stand(Patience(request_s=0.01, idle_s=60, sweep_s=0.01))
    try:
        made.echo.hold = asyncio.Event()
        with made.socket() as wire:
            wire.sendall(post())
            assert made.echo.asked.wait(PATIENCE_S)
            assert made.say(HEAD, close=False) == b""  # swept meanwhile
            made.loop.call(_set(made.echo.hold))
            assert until(wire, b"hi")
    finally:
        made.close()


async def _set(event: asyncio.Event) -> None:
    event.set()


def test_a_defect_of_ours_is_a_500_and_told_to_the_loop(stand, caplog):
    came = stand.say(b"GET /defect HTTP/1.1\r\n\r\n", close=False)
    assert came.startswith(b"HTTP/1.1 500 ")
    assert "the gateway failed at a request" in caplog.text
    assert stand.say(post()).endswith(b"hi")


def test_a_client_that_does_not_read_holds_up_nobody_but_itself(stand):
    big = bytes(20_000_000)
    with stand.socket() as wire:
        wire.sendall(post(big))
        assert stand.echo.asked.wait(PATIENCE_S)
        assert stand.say(post()).endswith(b"hi")
        assert len(until(wire, big[:1_000_000])) > 0
