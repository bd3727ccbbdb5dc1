"""The side of the gateway that clients talk to: HTTP/1.1, and no more of it than a proxy needs.

A web framework's server costs more than all the rest of the gateway. This one reads a request to
its end, has it handled, and writes the answer: head and what there is of the body in one piece.
What is no HTTP is answered 400 and hung up on; what dawdles is hung up on.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import NamedTuple, cast

from hfr_bench.injectors._wire import BODY_LIMIT
from hfr_bench.injectors.gateway.framing import (
    Body,
    Headers,
    MalformedError,
    is_chunked,
    length_of,
    says_close,
    split_head,
)

HEAD_LIMIT = 64 * 1024
_AHEAD_LIMIT = 1024 * 1024
_BODILESS = frozenset({204, 304})
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_REQUEST = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP/1\.([01])")
_NAMES = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]*")
_BAD_VALUE = re.compile(r"[\x00\r\n]")


class Patience(NamedTuple):
    """How long a client is waited for: until its request is whole, and for another one."""

    request_s: float = 60.0
    idle_s: float = 75.0
    sweep_s: float = 5.0


class Request:
    """One request, read to its end. `body`: None if it was larger than a proxy takes."""

    __slots__ = ("_link", "body", "headers", "keep", "method", "path_qs", "version")

    def __init__(
        self, link: "Connection", method: str, target: str, version: str, headers: Headers
    ) -> None:
        self.method, self.path_qs, self.version, self.headers = method, target, version, headers
        self.body: bytes | None = b""
        tokens = headers.get("connection", "").lower()
        self.keep = not says_close(headers) if version == "1" else "keep-alive" in tokens
        self._link = link

    @property
    def transport(self) -> asyncio.Transport | None:
        """The client's connection; None once it is gone."""
        return self._link.transport

    def begin(self, status: int, headers: Mapping[str, str], length: int | None) -> "Sending":
        """Begin to answer. `length`: of the body; None = it ends when `Sending.end` says so."""
        return Sending(self._link, self, status, headers, length)


class Reply:
    """A whole answer."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.status, self.headers, self.body = status, headers, body


Handler = Callable[[Request], Awaitable[Reply | None]]
"""Answers with a whole Reply; None where it answered by itself, or hung up."""


class Sending:
    """An answer on its way. Its head goes out with the first piece, or by `flush`.

    Every method raises ConnectionResetError once the client is gone.
    """

    __slots__ = ("_chunked", "_head", "_link")

    def __init__(
        self,
        link: "Connection",
        request: Request,
        status: int,
        headers: Mapping[str, str],
        length: int | None,
    ) -> None:
        self._link = link
        self._chunked = length is None and request.version == "1"
        if length is None and not self._chunked:
            request.keep = False  # an old client takes the connection's end for the body's
        framing = "Transfer-Encoding: chunked\r\n" if length is None else None
        if not self._chunked:
            framing = "" if length is None else f"Content-Length: {length}\r\n"
        self._head = head(request, status, headers, framing or "")

    def flush(self) -> None:
        """Send the head now, though nothing of the body is there."""
        if self._head:
            sent, self._head = self._head, b""
            self._link.write(sent)

    async def send(self, data: bytes) -> None:
        """The next piece; waits while the client does not keep up."""
        sent, self._head = self._head, b""
        if data and self._chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self._link.write(sent + data)
        await self._link.drained()

    def end(self, data: bytes = b"") -> None:
        """The last piece."""
        sent, self._head = self._head, b""
        if self._chunked:
            data = (b"%x\r\n%b\r\n" % (len(data), data) if data else b"") + b"0\r\n\r\n"
        if sent or data:
            self._link.write(sent + data)


class Connection(asyncio.Protocol):
    """One client's connection: requests one after the other."""

    def __init__(self, server: "Server") -> None:
        self.transport: asyncio.Transport | None = None
        self.since_s = 0.0
        self._server = server
        self._seen = b""
        self._request: Request | None = None
        self._body = Body(length=0)
        self._came = bytearray()
        self._size = 0
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        self._blocked: asyncio.Future[None] | None = None

    # -- what the loop calls ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.since_s = time.monotonic()
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._server.connections.discard(self)
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._task is not None:  # sent ahead: its turn comes
            self._seen += data
            if len(self._seen) > _AHEAD_LIMIT and self.transport is not None:
                self.transport.pause_reading()
            return
        self._read(data)

    def eof_received(self) -> bool:
        """A client may have said all it will, and still wait for the answer."""
        self._ended = True
        return self._task is not None

    def pause_writing(self) -> None:
        self._blocked = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        blocked, self._blocked = self._blocked, None
        if blocked is not None and not blocked.done():
            blocked.set_result(None)

    # -- reading ----------------------------------------------------------------------------------

    def late(self, now_s: float) -> bool:
        """Whether it dawdles: over a request that has begun, or between two."""
        begun = self._request is not None or bool(self._seen)
        patience = self._server.patience
        limit_s = patience.request_s if begun else patience.idle_s
        return self._task is None and now_s - self.since_s > limit_s

    def _read(self, data: bytes) -> None:
        """The next bytes of the request at hand, and its handling once it is whole."""
        try:
            if self._request is None:
                if not self._seen:
                    self.since_s = time.monotonic()
                found = split_head((self._seen + data).lstrip(b"\r\n"), HEAD_LIMIT)
                if found is None:
                    self._seen += data
                    return
                first, headers, data = found
                self._seen = b""
                self._open(first, headers)
            behind = self._body.feed(data)
        except MalformedError as error:
            self._refuse(str(error))
            return
        self._size += len(data) - len(behind)
        if self._body.done or self._too_much():
            self._seen = behind
            self._handle()

    def _open(self, first: str, headers: Headers) -> None:
        """A request's head. Raises MalformedError for what no client of ours sends."""
        line = _REQUEST.fullmatch(first)
        if line is None:
            raise MalformedError("not an HTTP/1 request")
        if not _NAMES.fullmatch("".join(headers)) or _BAD_VALUE.search("".join(headers.values())):
            raise MalformedError("a header that is none")
        method, target, version = line[1], line[2], line[3]
        if len(headers.getall("content-length", ())) > 1:
            raise MalformedError("two lengths")
        coding, length = headers.get("transfer-encoding"), length_of(headers)
        if coding is not None and (coding.strip().lower() != "chunked" or length is not None):
            raise MalformedError("a body whose end cannot be told")
        chunked = is_chunked(headers)
        self._body = Body(length=None if chunked else length or 0, chunked=chunked)
        self._size = 0
        self._came.clear()
        self._request = Request(self, method, target, version, headers)
        if headers.get("expect", "").lower() == "100-continue" and not self._body.done:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _too_much(self) -> bool:
        """Put aside what came; of a body too large nothing is kept, far beyond that none is read.

        Until then it is read: a client that is still sending does not hear an answer.
        """
        assert self._request is not None
        pieces = self._body.pieces
        if self._size > BODY_LIMIT:
            self._request.body = None
            self._came.clear()
        else:
            for piece in pieces:
                self._came += piece
        pieces.clear()
        if self._size > 2 * BODY_LIMIT:
            self._request.keep = False
            return True
        return False

    # -- answering --------------------------------------------------------------------------------

    def _handle(self) -> None:
        request, self._request = self._request, None
        assert request is not None
        pieces = self._body.pieces
        if self._size > BODY_LIMIT:
            request.body = None
        elif self._came or len(pieces) != 1:
            request.body = bytes(self._came) + b"".join(pieces)
        else:
            request.body = pieces.popleft()
        self._came.clear()
        pieces.clear()
        self._task = asyncio.get_running_loop().create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        """Have a request handled; then the next one, or the end."""
        try:
            reply = await self._server.handler(request)
            if reply is not None and self.transport is not None:
                self._write_reply(request, reply)
        except ConnectionError:
            request.keep = False  # the client is gone
        except asyncio.CancelledError:
            request.keep = False
            raise
        except Exception as error:  # noqa: BLE001 - a defect of ours must not end the gateway
            self._defect(request, error)
        finally:
            self._task = None
            self._next(request)

    def _next(self, request: Request) -> None:
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        ahead = self._seen
        if not request.keep or (self._ended and not ahead):
            transport.close()
            return
        self.since_s = time.monotonic()
        if ahead:
            self._seen = b""
            transport.resume_reading()
            self._read(ahead)
            if self._ended and self._task is None:
                transport.close()

    def _write_reply(self, request: Request, reply: Reply) -> None:
        none = reply.status in _BODILESS
        framing = "" if none else f"Content-Length: {len(reply.body)}\r\n"
        body = b"" if none or request.method == "HEAD" else reply.body
        self.write(head(request, reply.status, reply.headers, framing) + body)

    def _defect(self, request: Request, error: Exception) -> None:
        asyncio.get_running_loop().call_exception_handler(
            {"message": "the gateway failed at a request", "exception": error}
        )
        request.keep = False
        if self.transport is not None and not self.transport.is_closing():
            self._write_reply(request, Reply(500, {"content-type": "text/plain"}, b"gateway"))

    def _refuse(self, why: str) -> None:
        """Answer what is no request, and hang up."""
        request = Request(self, "GET", "/", "1", Headers())
        request.keep = False
        self._request, self._seen = None, b""
        if self.transport is not None and not self.transport.is_closing():
            text = f"{why}\n".encode(errors="replace")
            self._write_reply(request, Reply(400, {"content-type": "text/plain"}, text))
            self.transport.close()

    def write(self, data: bytes) -> None:
        """Send. Raises ConnectionResetError if the client is gone."""
        transport = self.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client is gone")
        transport.write(data)

    async def drained(self) -> None:
        """Wait until the client has taken enough of what was sent."""
        if self._blocked is not None:
            await self._blocked
            if self.transport is None:
                raise ConnectionResetError("the client is gone")


class Server:
    """Listens on a free loopback port, in the loop that runs `start`."""

    def __init__(self, handler: Handler, patience: Patience | None = None) -> None:
        self.handler = handler
        self.patience = patience or Patience()
        self.connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.TimerHandle | None = None

    async def start(self, port: int = 0) -> int:
        """Begin to listen on a loopback port (0: a free one); returns it. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), "127.0.0.1", port)
        self._sweep()
        return int(self._server.sockets[0].getsockname()[1])

    def stop(self) -> None:
        """Close every socket. Idempotent."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self._server is not None:
            self._server.close()
        for connection in tuple(self.connections):
            if connection.transport is not None:
                connection.transport.abort()

    def _sweep(self) -> None:
        now_s = time.monotonic()
        for connection in tuple(self.connections):
            if connection.late(now_s) and connection.transport is not None:
                connection.transport.abort()
        self._sweeper = asyncio.get_running_loop().call_later(self.patience.sweep_s, self._sweep)


def head(request: Request, status: int, headers: Mapping[str, str], framing: str) -> bytes:
    """The head of an answer. `framing`: the line that says how its body ends."""
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n"]
    fields = list(headers.items())
    if _BAD_VALUE.search("".join(headers.values())):
        fields = [(name, _BAD_VALUE.sub(" ", value)) for name, value in fields]
    lines += [f"{name}: {value}\r\n" for name, value in fields]
    lines += (framing, f"Date: {_date(int(time.time()))}\r\n")
    if not request.keep:
        lines.append("Connection: close\r\n")
    elif request.version == "0":
        lines.append("Connection: keep-alive\r\n")
    lines.append("\r\n")
    return "".join(lines).encode(errors="surrogateescape")


_DATES: dict[int, str] = {}


def _date(now_s: int) -> str:
    """The date as HTTP writes it, made once a second."""
    if now_s not in _DATES:
        _DATES.clear()
        _DATES[now_s] = formatdate(now_s, usegmt=True)
    return _DATES[now_s]
