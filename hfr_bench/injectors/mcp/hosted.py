"""A server that speaks stdio, made to speak streamable HTTP by the official SDK.

A process of it for each session, as each client over stdio would have one; reached through a
socket in a folder of our own, so that nobody passes by the proxy. Sessions need `initialize`: a
client that offers a revision without sessions is told which there are, and falls back.
"""

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvicorn
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.jsonrpc import UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from hfr_bench.errors import InfrastructureError
from hfr_bench.injectors.mcp import messages
from hfr_bench.injectors.mcp.child import Child

_START_S = 60.0
_STOP_S = 3.0
_POLL_S = 0.01


class _Session:
    """One client's session and its process."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.transport = StreamableHTTPServerTransport(uuid4().hex)
        self._open: dict[Any, ServerMessageMetadata] = {}
        self._tokens: dict[Any, Any] = {}

    async def run(self, ready: "asyncio.Future[None]") -> None:
        """Until the process ends, or the client ends the session."""
        try:
            async with self.transport.connect() as (read, write):
                ready.set_result(None)
                pumps = [
                    asyncio.ensure_future(self._to_server(read)),
                    asyncio.ensure_future(self._to_client(write)),
                ]
                try:
                    await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for task in pumps:
                        task.cancel()
                    await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            await self.transport.terminate()
            await self.child.close()

    async def _to_server(self, read: Any) -> None:
        async for item in read:
            if isinstance(item, Exception):
                continue
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            message = json.loads(text)
            number = messages.request_id(message)
            if number is not None:
                self._open[number] = item.metadata
                meta = (message.get("params") or {}).get("_meta") or {}
                self._tokens[meta.get("progressToken", number)] = number
            await self.child.send(text.encode())
            cancelled = messages.cancelled_id(message)
            gone = None if cancelled is None else self._open.pop(cancelled, None)
            if gone is not None and gone.on_request_unanswered is not None:
                await gone.on_request_unanswered()

    async def _to_client(self, write: Any) -> None:
        async for line in self.child.lines():
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError:
                continue  # what a server prints beside the protocol
            said = json.loads(line)
            number = messages.answered_id(said)
            if number is not None:
                self._open.pop(number, None)
                await write.send(SessionMessage(message))
                continue
            related = ServerMessageMetadata(related_request_id=self._about(said))
            await write.send(SessionMessage(message, metadata=related))

    def _about(self, said: dict[str, Any]) -> Any:
        """The request that the server speaks of: by its progress token, else the last one open."""
        params = said.get("params")
        token = params.get("progressToken") if isinstance(params, dict) else None
        if self._tokens.get(token) in self._open:
            return self._tokens[token]
        return next(reversed(self._open), None)


class Hosted:
    """Serves a command over streamable HTTP. `socket`: where; `URL`: what a client asks there."""

    URL = "http://localhost/mcp"

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = tuple(argv)
        self._folder = Path(tempfile.mkdtemp(prefix="hfr-mcp-"))
        self.socket = self._folder / "socket"
        self._sessions: dict[str, tuple[_Session, asyncio.Task[None]]] = {}
        config = uvicorn.Config(
            self._serve,
            uds=str(self.socket),
            log_config=None,
            lifespan="off",
            interface="asgi3",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        self._server = _Quiet(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises InfrastructureError if the socket cannot be served."""
        self._task = asyncio.get_running_loop().create_task(self._server.serve())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_S):
                while not self._server.started and not self._task.done():
                    await asyncio.sleep(_POLL_S)
        if not self._server.started:
            raise InfrastructureError(f"{self.socket}: could not be served")

    async def stop(self) -> None:
        """End every session and its process."""
        running = [task for _, task in self._sessions.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_STOP_S)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        version = request.headers.get("mcp-protocol-version")
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await _unsupported(version)(scope, receive, send)
            return
        name = request.headers.get("mcp-session-id")
        if name is None:
            session = await self._open()
        elif name in self._sessions:
            session = self._sessions[name][0]
        else:
            await _error(404, -32600, "Session not found")(scope, receive, send)
            return
        await session.transport.handle_request(scope, receive, send)

    async def _open(self) -> _Session:
        session = _Session(await Child.start(self._argv))
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        task = loop.create_task(session.run(ready))
        name = session.transport.mcp_session_id or ""
        self._sessions[name] = (session, task)
        task.add_done_callback(lambda _: self._sessions.pop(name, None))
        await ready
        return session


class _Quiet(uvicorn.Server):
    """Leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _error(status: int, code: int, message: str, data: Any = None) -> JSONResponse:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=status)


def _unsupported(version: str) -> JSONResponse:
    there = {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": version}
    return _error(400, UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", there)
