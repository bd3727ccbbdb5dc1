"""What every proxy needs: guests that come and go, inferred coordinates, clean headers.

A proxy is started and stopped by synchronous code and lives in a daemon thread. Whatever a
guest's in-flight requests touch is touched in the loop's thread only, so nothing here locks.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from hfr_bench.injectors._trail import Coordinate, Trails
from hfr_bench.ports.injector import Scene

PREFIX = "x-hfr-"
BODY_LIMIT = 64 * 1024 * 1024
_DIGITS = 18

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


async def read_body(request: web.BaseRequest) -> bytes | None:
    """The raw body, or None if it is larger than `BODY_LIMIT`."""
    chunks, size = [], 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > BODY_LIMIT:
            return None
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def passable(headers: Mapping[str, str], *, coordinates: bool) -> CIMultiDict[str]:
    """The headers that a proxy may pass on; `x-hfr-*` only where they belong."""
    named = headers.get("connection", "").lower()
    once = {name.strip() for name in named.split(",")} if named else ()
    kept = []
    for name, value in headers.items():
        low = name.lower()
        if low in _HOP or low in once or (not coordinates and low.startswith(PREFIX)):
            continue
        kept.append((name, value))
    return CIMultiDict(kept)


def hang_up(request: web.BaseRequest) -> web.Response:
    """Really close the socket, without an answer; what is returned is never sent."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


@dataclass(slots=True)
class Guest:
    """A trial inside a proxy: its scene, its requests in flight, what is inferred of it."""

    scene: Scene
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _trails: Trails = field(default_factory=Trails)

    @contextlib.contextmanager
    def under_way(self) -> Iterator[None]:
        """Around one request, so that leaving waits for it."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    async def drain(self, limit_s: float) -> None:
        """Wake what stalls, wait for what is in flight, cancel what is still there at the end."""
        self.gone.set()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=limit_s)
        for task in (late := set(self._tasks)):
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def wake(self) -> None:
        """No stall is waited for any more."""
        self.gone.set()

    async def pause(self, us: int) -> None:
        """Really wait, or until the trial leaves."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(us / 1e6):
                await self.gone.wait()

    def coordinate(self, headers: Mapping[str, str], point: str) -> Coordinate:
        """The coordinate that the caller names, or else what its past suggests.

        A request after a failed one of the same trial is the next attempt of the same step; any
        other is the next step.
        """
        named = headers.get("x-hfr-point")
        occurrence, attempt = headers.get("x-hfr-occurrence"), headers.get("x-hfr-attempt")
        if named and _counts(occurrence) and _counts(attempt):
            return Coordinate(named, int(occurrence or 0), int(attempt or 0), told=True)
        return self._trails.next(point)

    def settle(self, at: Coordinate, *, failed: bool) -> None:
        """Remember how a request ended, for the inference of the next one."""
        self._trails.settle(at, failed=failed)


def _counts(text: str | None) -> bool:
    if text is None or len(text) > _DIGITS or not (text.isascii() and text.isdigit()):
        return False
    return int(text) > 0
