"""What the official SDK does for us as a client: a server's tools, and a server behind a URL.

Faults are played before a message comes here, so nothing here can tell them from anything else.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import PROTOCOL_VERSION_META_KEY, jsonrpc_message_adapter
from pydantic import ValidationError

from hfr_bench.errors import BadInputError, InfrastructureError

_CONNECT_S = 10.0
_LIST_S = 60.0
_PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'


class ListedTool(NamedTuple):
    """A tool as its server lists it. Hints are None where it does not state them."""

    name: str
    read_only: bool | None
    idempotent: bool | None
    destructive: bool | None


class Listed(NamedTuple):
    """A server's name, and its tools in its order."""

    server: str
    tools: tuple[ListedTool, ...]


def listed(command: Sequence[str], url: str) -> Listed:
    """Ask a server for its tools, in a session (or a process) of its own.

    Raises BadInputError if it does not answer.
    """
    try:
        return asyncio.run(_listed(command, url))
    except (MCPError, OSError, TimeoutError, httpx2.HTTPError, ExceptionGroup) as error:
        where = url or " ".join(command)
        raise BadInputError(f"{where}: the server does not list its tools: {error}") from error


async def _listed(command: Sequence[str], url: str) -> Listed:
    if url:
        async with _http() as http:
            return await _tools_of(streamable_http_client(url, http_client=http))
    env = dict(os.environ)
    return await _tools_of(
        StdioServerParameters(command=command[0], args=list(command[1:]), env=env)
    )


async def _tools_of(server: Any) -> Listed:
    async with asyncio.timeout(_LIST_S), Client(server) as client:
        tools, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                hints = tool.annotations
                tools.append(
                    ListedTool(
                        tool.name,
                        hints.read_only_hint if hints else None,
                        hints.idempotent_hint if hints else None,
                        hints.destructive_hint if hints else None,
                    )
                )
            cursor = page.next_cursor
            if not cursor:
                info = client.server_info
                return Listed(info.name if info else "mcp", tuple(tools))


def _http() -> httpx2.AsyncClient:
    """A client for loopback: no proxy of the environment, and answers may take their time."""
    return httpx2.AsyncClient(trust_env=False, timeout=httpx2.Timeout(_CONNECT_S, read=None))


class HttpLines:
    """A server behind a URL, as lines: implements `child.Lines`. The SDK keeps its session.

    `start` first. A message that is no JSON-RPC is answered with a parse error, as a server does.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._write: Any = None
        self._version = ""

    async def start(self) -> None:
        """Make the transport; the client's own `initialize` opens the session."""
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        self._task = loop.create_task(self._serve())
        self._write = await self._ready

    async def lines(self) -> AsyncIterator[bytes]:
        while (line := await self._queue.get()) is not None:
            yield line

    async def send(self, line: bytes) -> None:
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            await self._queue.put(_PARSE_ERROR)
            return
        if self._task is None or self._task.done():
            raise InfrastructureError(f"{self._url}: the connection to the MCP server has ended")
        await self._write.send(SessionMessage(message, metadata=self._metadata(message)))

    async def close(self) -> None:
        self._closing.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=1.0)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _metadata(self, message: Any) -> ClientMessageMetadata:
        """The headers that a client of streamable HTTP states beside its message."""
        params = getattr(message, "params", None) or {}
        method = getattr(message, "method", "")
        meta = params.get("_meta") or {}
        modern = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
        headers: dict[str, str] = {}
        if isinstance(modern, str):
            headers = {MCP_PROTOCOL_VERSION_HEADER: modern, MCP_METHOD_HEADER: method}
            name = params.get(NAME_BEARING_METHODS.get(method, ""))
            if isinstance(name, str):
                headers[MCP_NAME_HEADER] = encode_header_value(name)
        elif self._version and method != "initialize":
            headers = {MCP_PROTOCOL_VERSION_HEADER: self._version}
        return ClientMessageMetadata(headers=headers)

    async def _serve(self) -> None:
        assert self._ready is not None
        try:
            async with _http() as http, _transport(self._url, http) as (read, write):
                self._ready.set_result(write)
                reading = asyncio.ensure_future(self._read(read))
                closing = asyncio.ensure_future(self._closing.wait())
                await asyncio.wait([reading, closing], return_when=asyncio.FIRST_COMPLETED)
                for task in (reading, closing):
                    task.cancel()
                await asyncio.gather(reading, closing, return_exceptions=True)
        finally:
            await self._queue.put(None)

    async def _read(self, stream: Any) -> None:
        async for item in stream:
            if isinstance(item, Exception):
                continue  # what the server said was no JSON-RPC
            result = getattr(item.message, "result", None)
            if isinstance(result, dict) and isinstance(result.get("protocolVersion"), str):
                self._version = result["protocolVersion"]
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await self._queue.put(text.encode())


def _transport(url: str, http: httpx2.AsyncClient) -> AbstractAsyncContextManager[Any]:
    return streamable_http_client(url, http_client=http, max_sse_event_size=None)
