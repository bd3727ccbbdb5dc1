"""The player's socket: recorded responses on loopback, in a daemon thread of its own.

A request names its trial and its place (`x-hfr-tape`, `x-hfr-point`, `x-hfr-occurrence`). What is
not recorded is not answered: the deck hangs up, and the client raises before anybody believes it.
"""

import asyncio
from collections.abc import Mapping

from aiohttp import web

from hfr_bench.llms.cassette.player import Player
from hfr_bench.loopback import Served
from hfr_bench.model.cassette import Heard
from hfr_bench.model.record import text_digest
from hfr_bench.ports.tape import TAPE

_STREAM = "text/event-stream"


class Deck:
    """Serves from construction to `close`. `players` is read, and belongs to its maker.

    Raises OSError if no port can be bound.
    """

    def __init__(self, players: Mapping[str, Player]) -> None:
        self._players = players
        self._served = Served(self._handle, "hfr-cassette")
        self.port = self._served.port

    def close(self) -> None:
        """Hang up and end the thread."""
        self._served.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.content.read()
        player = self._players.get(request.headers.get(TAPE, ""))
        occurrence = request.headers.get("x-hfr-occurrence", "")
        found = None
        if player is not None:
            point = request.headers.get("x-hfr-point", "")
            place = int(occurrence) if occurrence.isdecimal() else 0
            found = player.play(point, place, text_digest(body))
        if found is None:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        return await _send(request, found)


async def _send(request: web.BaseRequest, found: Heard) -> web.StreamResponse:
    """The response as it was recorded; a stream in the pieces in which it came."""
    if not found.headers.get("content-type", "").startswith(_STREAM):
        return web.Response(status=found.status, headers=found.headers, body=b"".join(found.chunks))
    stream = web.StreamResponse(status=found.status, headers=found.headers)
    await stream.prepare(request)
    for chunk in found.chunks:
        await stream.write(chunk)
        await asyncio.sleep(0)  # so that pieces are not glued together more than they were
    await stream.write_eof()
    return stream
