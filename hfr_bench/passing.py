"""Passing requests on: what the fault proxies and the relay before sites have in common.

    client ──→ ours ──→ the server behind

Nothing is sent twice: one connection a request, ended by it. Headers that are meant for one
connection stay there.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

ERRORS = (aiohttp.ClientError, TimeoutError, OSError)
"""What `ask` raises where there is no whole answer."""

_CONNECT_S = 10.0

# RFC 9110 §7.6.1: meant for one connection only. The lengths and encodings are set anew for the
# body that is really sent; `server` and `date` are the proxy's own, so that a served fault
# cannot be told from a forwarded answer by them.
_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
        "content-length",
        "content-encoding",
        "server",
        "date",
    }
)


@dataclass(slots=True)
class UnderWay:
    """The requests in flight of one server. Touched in its loop's thread only."""

    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Around one request."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            yield
        finally:
            self.tasks.discard(task)

    async def ended(self, limit_s: float) -> set[asyncio.Task[Any]]:
        """Wait for those that are in flight now; returns the ones that are still there then."""
        if not self.tasks:
            return set()
        _, late = await asyncio.wait(set(self.tasks), timeout=limit_s)
        return late


@dataclass(frozen=True, slots=True)
class Said:
    """What the server behind answered, read to its end, its own headers included."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def passable(headers: Mapping[str, str], *, without: str = "") -> CIMultiDict[str]:
    """The headers that may be passed on: none that is meant for one connection only.

    `without`: the prefix, in small letters, of others that are not passed; "" = all are.
    """
    named = headers.get("connection", "").lower()
    once = {name.strip() for name in named.split(",")} if named else ()
    kept = []
    for name, value in headers.items():
        low = name.lower()
        if low in _HOP or low in once or (without and low.startswith(without)):
            continue
        kept.append((name, value))
    return CIMultiDict(kept)


def hang_up(request: web.BaseRequest) -> web.Response:
    """Really close the socket, without an answer; what is returned is never sent."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def site_client() -> aiohttp.ClientSession:
    """Who asks sites. One connection a request: none is sent again because a kept one was stale."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("user-agent", "accept", "content-type", "accept-encoding"),
    )


async def ask(
    client: aiohttp.ClientSession,
    request: web.BaseRequest,
    body: bytes,
    headers: CIMultiDict[str],
    *,
    origin: str,
    ours: str,
) -> Said:
    """The same request of a site at `origin`, told of it where it was told of `ours`.

    `headers`: those to pass, changed here. Redirects are not followed. Raises `ERRORS`.
    """
    for name in ("referer", "origin"):
        if name in headers:
            headers[name] = headers[name].replace(ours, origin, 1)
    headers["accept-encoding"] = "identity"
    url = URL(f"{origin}{request.raw_path}", encoded=True)
    async with client.request(
        request.method, url, data=body or None, headers=headers, allow_redirects=False
    ) as found:
        return Said(found.status, found.headers, await found.read())
