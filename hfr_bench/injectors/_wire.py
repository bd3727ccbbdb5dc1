"""What every proxy needs: guests that come and go, inferred coordinates, clean headers.

A proxy is started and stopped by synchronous code and lives in a daemon thread. Whatever a
guest's in-flight requests touch is touched in the loop's thread only, so nothing here locks.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from aiohttp import web
from multidict import CIMultiDict

from hfr_bench import passing
from hfr_bench.injectors._trail import Coordinate, Trails
from hfr_bench.passing import UnderWay
from hfr_bench.ports.injector import Scene

PREFIX = "x-hfr-"
BODY_LIMIT = 64 * 1024 * 1024
_DIGITS = 18


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
    return passing.passable(headers, without="" if coordinates else PREFIX)


@dataclass(slots=True)
class Guest:
    """A trial inside a proxy: its scene, its requests in flight, what is inferred of it."""

    scene: Scene
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    _flight: UnderWay = field(default_factory=UnderWay)
    _trails: Trails = field(default_factory=Trails)

    def under_way(self) -> contextlib.AbstractContextManager[None]:
        """Around one request, so that leaving waits for it."""
        return self._flight.one()

    async def drain(self, limit_s: float) -> None:
        """Wake what stalls, wait for what is in flight, cancel what is still there at the end."""
        self.gone.set()
        await self._flight.ended(limit_s)
        for task in (late := set(self._flight.tasks)):
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
