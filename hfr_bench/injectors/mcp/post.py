"""One tool's call over HTTP: its way to the server, and the answer on its way back.

The server answers with one JSON body, or with a stream of events of which one is the answer. What
comes before that one goes on as it comes; the answer waits until it is decided what goes out.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from hfr_bench.injectors._wire import passable
from hfr_bench.injectors.mcp import messages
from hfr_bench.injectors.mcp.exchange import SERVER_GONE, Answer
from hfr_bench.injectors.mcp.messages import Events, ToolRequest
from hfr_bench.passing import hang_up

Ask = Callable[[web.BaseRequest, bytes], AbstractAsyncContextManager[aiohttp.ClientResponse]]
"""Sends a client's request to the server, with another body."""

STREAM = "text/event-stream"
_ERRORS = (aiohttp.ClientError, OSError, TimeoutError)
_HEAD = (aiohttp.ClientConnectorError, aiohttp.InvalidURL)


@dataclass(slots=True)
class Post:
    """Implements `exchange.Link`. `held`: what is left to be sent, the answer first."""

    ask: Ask
    request: web.BaseRequest
    called: ToolRequest
    response: web.StreamResponse | None = None
    held: bytes = b""
    behind: bytes = b""
    status: int = 200
    reason: str | None = None
    headers: Mapping[str, str] | None = None
    streamed: bool = False

    async def forward(self, *, heard: bool) -> Answer:
        """The request with its coordinate taken out; its answer is kept for `finish`."""
        try:
            async with self.ask(self.request, self.called.raw) as got:
                return await self._read(got, heard=heard)
        except _HEAD:
            return Answer(exception=SERVER_GONE, sent=False)
        except _ERRORS:
            return Answer(exception=SERVER_GONE)

    async def late(self) -> Answer:
        """The request once more; what is answered stays here."""
        silent = Post(self.ask, self.request, self.called)
        return await silent.forward(heard=False)

    async def finish(self, message: Mapping[str, Any] | None = None) -> web.StreamResponse:
        """Send the answer: the server's own as it came, or another in its place."""
        out = self.held
        if message is not None:
            data = messages.answer_to(self.called.id, message)
            out = messages.with_data(out, data) if self.streamed else data
        if self.streamed:
            with suppress(*_ERRORS):
                response = await self._begun()
                await response.write(out + self.behind)
                await response.write_eof()
                return response
            return hang_up(self.request)
        return web.Response(status=self.status, reason=self.reason, headers=self.headers, body=out)

    async def _read(self, got: aiohttp.ClientResponse, *, heard: bool) -> Answer:
        self.status, self.reason = got.status, got.reason
        self.headers = passable(got.headers, coordinates=False)
        self.streamed = got.content_type == STREAM
        if not self.streamed:
            self.held = await got.read()
            message = messages.parse(self.held)
            if messages.answered_id(message) == self.called.id:
                return Answer(message, got.status)
            return Answer(None, got.status, self.held.decode(errors="replace"))
        events = Events()
        async for piece in got.content.iter_any():
            for event in events.feed(piece):
                if self.held:
                    self.behind += event
                    continue
                message = messages.parse(messages.data_of(event))
                if messages.answered_id(message) == self.called.id:
                    self.held = event
                    found = Answer(message, got.status)
                elif heard:
                    await (await self._begun()).write(event)
            if self.held:
                return found
        self.behind += events.rest()
        return Answer(None, got.status)  # the stream ended without an answer: it may be resumed

    async def _begun(self) -> web.StreamResponse:
        if self.response is None:
            self.response = web.StreamResponse(
                status=self.status, reason=self.reason, headers=self.headers
            )
            await self.response.prepare(self.request)
        return self.response
