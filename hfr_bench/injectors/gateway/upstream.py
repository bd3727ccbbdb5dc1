"""The way to the model server: HTTP/1.1 over connections that are kept, and nothing clever.

A general client costs more than all the rest of the gateway. This one reads what a response is made
of (length, chunks, or the end of the connection), hands on its pieces as they come, and retries
nothing.
"""

import asyncio
import ssl
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import cast
from urllib.parse import urlsplit

from hfr_bench.injectors.gateway.framing import (
    Body,
    Headers,
    MalformedError,
    is_chunked,
    length_of,
    says_close,
    split_head,
)

CONNECT_S = 10.0
ANSWER_S = 900.0
_IDLE_S = 30.0  # shorter than any server's patience, so that no request meets a closing socket
_AHEAD_LIMIT = 1024 * 1024


class UnreachedError(ConnectionError):
    """No connection: nothing left us."""


class BrokenAnswerError(ConnectionError):
    """The answer ended before its end, or is no HTTP."""


class Parser:
    """Bytes of a response, in pieces of any size, to its head and the pieces of its body.

    `status` is 0 until the head was read; `done` once the whole response was. Raises
    BrokenAnswerError for what is no HTTP/1.1.
    """

    def __init__(self, *, bodiless: bool = False) -> None:
        self.status = 0
        self.headers = Headers()
        self.keep = True
        self._seen = b""
        self._bodiless = bodiless
        self._body = Body()

    @property
    def pieces(self) -> deque[bytes]:
        """Of the body, what has come and was not taken yet."""
        return self._body.pieces

    @property
    def done(self) -> bool:
        return self._body.done

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        try:
            if self.status == 0:
                data = self._head(data)
            if self.status and (behind := self._body.feed(data)):
                self.keep = self.keep and not behind
        except MalformedError as error:
            raise BrokenAnswerError(str(error)) from error

    def end(self) -> bool:
        """The connection ended; returns whether the response is whole."""
        return self.status != 0 and self._body.end()

    def _head(self, data: bytes) -> bytes:
        """Read the head once it is whole; returns what comes behind it."""
        data = self._seen + data
        while (found := split_head(data)) is not None:
            first, headers, data = found
            version, _, status = first.partition(" ")
            if not version.startswith("HTTP/1.") or not status[:3].isdigit():
                raise MalformedError("not an HTTP/1 response")
            if status[0] != "1":  # 100 Continue and the like
                self._seen = b""
                self._frame(int(status[:3]), version, headers)
                return data
        self._seen = data
        return b""

    def _frame(self, status: int, version: str, headers: Headers) -> None:
        """How the body ends."""
        self.headers = headers
        self.keep = version != "HTTP/1.0" and not says_close(headers)
        if self._bodiless or status in (204, 304):
            self._body = Body(length=0)
        elif is_chunked(headers):
            self._body = Body(chunked=True)
        else:
            self._body = Body(length=length_of(headers))
            self.keep = self.keep and not self._body.endless
        self.status = status


class _Link(asyncio.Protocol):
    """A connection; one response at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.parser: Parser | None = None
        self.error: ConnectionError | None = None
        self.closed = False
        self.since_s = 0.0
        self._waiter: asyncio.Future[None] | None = None
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        parser = self.parser
        if parser is None or parser.done:
            self.close()  # nobody asked
            return
        try:
            parser.feed(data)
        except BrokenAnswerError as error:
            self.error = error
            self.close()
        if len(parser.pieces) > 1 and sum(map(len, parser.pieces)) > _AHEAD_LIMIT:
            self._pause(paused=True)
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self.parser is not None and not self.parser.end() and self.error is None:
            self.error = BrokenAnswerError(str(exc or "the connection ended"))
        self._wake()

    def close(self) -> None:
        self.closed = True
        if self.transport is not None:
            self.transport.abort()

    async def more(self) -> None:
        """Wait until something has come. Raises what the connection ended with, or TimeoutError."""
        if self.error is not None:
            raise self.error
        self._pause(paused=False)
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        patience = loop.call_later(ANSWER_S, self._expire, self._waiter)
        try:
            await self._waiter
        finally:
            patience.cancel()
            self._waiter = None

    @staticmethod
    def _expire(waiter: asyncio.Future[None]) -> None:
        if not waiter.done():
            waiter.set_exception(TimeoutError(f"nothing came for {ANSWER_S:g} s"))

    def _pause(self, *, paused: bool) -> None:
        if paused is not self._paused and self.transport is not None and not self.closed:
            self._paused = paused
            (self.transport.pause_reading if paused else self.transport.resume_reading)()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Response:
    """A response whose head has come. Read it to its end, or leave the `async with` before it."""

    def __init__(self, upstream: "Upstream", link: _Link, parser: Parser) -> None:
        self.status = parser.status
        self.headers = parser.headers
        self.content_type = parser.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._upstream, self._link, self._parser = upstream, link, parser
        encoding = parser.headers.get("content-encoding", "identity").lower()
        if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
            link.close()
            raise BrokenAnswerError(f"an answer in {encoding!r}, which was not asked for")
        packed = encoding not in ("identity", "")
        self._unpack = zlib.decompressobj(wbits=47) if packed else None

    async def __aenter__(self) -> "Response":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._upstream.take_back(self._link)

    async def read(self) -> bytes:
        """The whole body."""
        parser, link = self._parser, self._link
        while not parser.done:
            await link.more()
        if self._unpack is None and len(parser.pieces) == 1:
            return parser.pieces.popleft()
        return b"".join([piece async for piece in self.pieces()])

    async def pieces(self, waiting: Callable[[], None] | None = None) -> AsyncIterator[bytes]:
        """The body as it comes; what has come together is one piece.

        `waiting` is called before each wait for more.
        """
        parser, link = self._parser, self._link
        while True:
            if parser.pieces:
                piece = b"".join(parser.pieces)
                parser.pieces.clear()
                yield self._plain(piece)
            elif parser.done:
                return
            else:
                if waiting is not None:
                    waiting()
                await link.more()

    def _plain(self, piece: bytes) -> bytes:
        if self._unpack is None:
            return piece
        try:
            return self._unpack.decompress(piece)
        except zlib.error as error:
            raise BrokenAnswerError(f"an answer that cannot be unpacked: {error}") from error


class Upstream:
    """The model server behind a base URL (`http` or `https`), for the loop that uses it.

    Raises ValueError for another URL.
    """

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"the base URL of a model server is http(s)://..., not {base_url!r}")
        secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if secure else 80)
        self._secure = secure
        self._context: ssl.SSLContext | None = None
        self._first = f"Host: {parts.netloc.rpartition('@')[2]}\r\n"
        self.path = parts.path.rstrip("/")
        self._idle: list[_Link] = []
        self._busy: set[_Link] = set()

    async def ask(
        self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes
    ) -> Response:
        """Send a request; returns once the head of its answer has come.

        `target`: path and query. Raises UnreachedError, BrokenAnswerError or TimeoutError.
        """
        link = self._kept() or await self._connect()
        self._busy.add(link)
        try:
            parser = link.parser = Parser(bodiless=method == "HEAD")
            assert link.transport is not None
            link.transport.write(self._request(method, target, headers, body))
            while not parser.status:
                await link.more()
            return Response(self, link, parser)
        except BaseException:
            self._drop(link)
            raise

    def take_back(self, link: _Link) -> None:
        """Keep a connection whose response was read to its end; else it is closed."""
        parser, link.parser = link.parser, None
        if link.closed or parser is None or not (parser.done and parser.keep):
            self._drop(link)
            return
        self._busy.discard(link)
        link.since_s = asyncio.get_running_loop().time()
        self._idle.append(link)

    def close(self) -> None:
        """Close every connection. Idempotent."""
        for link in [*self._idle, *self._busy]:
            self._drop(link)
        self._idle.clear()

    def _kept(self) -> _Link | None:
        """The connection that was used last, if it still is one; older ones go with the dead."""
        if not self._idle:
            return None
        now_s = asyncio.get_running_loop().time()
        while self._idle:
            link = self._idle.pop()
            if not link.closed and now_s - link.since_s < _IDLE_S:
                return link
            link.close()
        return None

    def _drop(self, link: _Link) -> None:
        self._busy.discard(link)
        link.close()

    async def _connect(self) -> _Link:
        loop = asyncio.get_running_loop()
        if self._secure and self._context is None:
            self._context = ssl.create_default_context()
        try:
            async with asyncio.timeout(CONNECT_S):
                _, link = await loop.create_connection(
                    _Link, self._host, self._port, ssl=self._context
                )
        except (OSError, TimeoutError) as error:
            raise UnreachedError(f"{self._host}:{self._port}: {error}") from error
        return link

    def _request(
        self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes
    ) -> bytes:
        lines = [f"{method} {target} HTTP/1.1\r\n", self._first]
        lines += [f"{name}: {value}\r\n" for name, value in headers]
        if body or method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}\r\n")
        lines.append("\r\n")
        return "".join(lines).encode(errors="surrogateescape") + body
