"""The proxy in front of a server that speaks streamable HTTP: a reverse proxy of its origin.

Whatever is no tool's call goes through as it came: status, headers, body, streams. Of a tool's call
the answer is read, and what the server says before it goes on as it comes. A session that a fault
ended stays dead: whatever names it gets 404, until the client initializes a new one.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from hfr_bench.faults.mcp import Reply, Surface
from hfr_bench.injectors._wire import BODY_LIMIT, passable, read_body
from hfr_bench.injectors.mcp import messages
from hfr_bench.injectors.mcp.boundary import Boundary
from hfr_bench.injectors.mcp.exchange import Call, Instead, Passed, Refused
from hfr_bench.injectors.mcp.messages import ToolRequest
from hfr_bench.injectors.mcp.post import STREAM, Post
from hfr_bench.injectors.mcp.traffic import Traffic
from hfr_bench.passing import hang_up

SESSION = "mcp-session-id"
_OURS = {"server": "hfr-bench"}
_ERRORS = (aiohttp.ClientError, OSError, TimeoutError)


@dataclass(slots=True)
class HttpProxy:
    """Serves one trial for any number of clients. `upstream`: the server's URL, with its path."""

    boundary: Boundary
    traffic: Traffic
    upstream: str
    client: aiohttp.ClientSession
    _runner: web.ServerRunner | None = None
    _dead: dict[str, tuple[Reply, str]] = field(default_factory=dict)
    _open: dict[str, dict[int, web.BaseRequest]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[object]] = field(default_factory=set)

    async def start(self, host: str, port: int) -> str:
        """Listen; returns the URL that takes the place of the server's. Raises OSError."""
        handler = web.Server(self._handle, access_log=None, handler_cancellation=True)
        self._runner = web.ServerRunner(handler, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        name = f"[{host}]" if ":" in host else host
        return f"http://{name}:{self._runner.addresses[0][1]}{urlsplit(self.upstream).path}"

    async def stop(self, limit_s: float) -> None:
        """Let what is held back land, then end every connection."""
        await self.boundary.drain(limit_s)
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=limit_s)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if not _is_local(request.host):  # a page of a stranger's, which reached us by a false name
            return web.Response(status=403, text="this proxy is for clients of this machine")
        body = await read_body(request)
        if body is None:
            return web.Response(status=413, text=f"limit: {BODY_LIMIT} bytes")
        message = messages.parse(body) if request.method == "POST" else None
        dead = self._dead.get(request.headers.get(SESSION, ""))
        if dead is not None:
            method = messages.method_of(message) or request.method
            self.traffic.exchanged(method, body, None, dead[0].digest, dead[1])
            return _plain(dead[0])
        if request.method == "DELETE":  # the end of the session: what it still held back lands
            await self.boundary.flush(request.headers.get(SESSION, ""))
        called = messages.tool_request(body, message)
        if called is None:
            self.traffic.batches += isinstance(message, list)
            return await self._pass(request, body, messages.method_of(message))
        return await self._call(request, called)

    # -- all but tools' calls -----------------------------------------------------------------

    async def _pass(self, request: web.BaseRequest, body: bytes, method: str) -> web.StreamResponse:
        """On to the server and back, piece by piece."""
        status, sent, response = None, hashlib.sha256(), None
        try:
            with self._within(request):
                async with self.ask(request, body) as answer:
                    status = answer.status
                    response = await _begin(request, answer)
                    async for piece in answer.content.iter_any():
                        sent.update(piece)
                        await response.write(piece)
                    await response.write_eof()
            return response
        except _ERRORS as error:
            if response is not None:
                return hang_up(request)
            return _unreachable(error)
        finally:
            if method:
                self.traffic.exchanged(method, body, status, sent.hexdigest())

    def ask(self, request: web.BaseRequest, body: bytes) -> "aiohttp.client._RequestContextManager":
        """The request to the server, with what the client sent."""
        headers = passable(request.headers, coordinates=False)
        headers["accept-encoding"] = "identity"  # digests are of the text
        origin = urlsplit(self.upstream)
        url = f"{origin.scheme}://{origin.netloc}{request.path_qs}"
        return self.client.request(
            request.method, url, data=body or None, headers=headers, allow_redirects=False
        )

    @contextlib.contextmanager
    def _within(self, request: web.BaseRequest) -> Iterator[None]:
        """Around what ends when its session does."""
        name = request.headers.get(SESSION, "")
        if request.method != "GET" or not name:
            yield
            return
        self._open.setdefault(name, {})[id(request)] = request
        try:
            yield
        finally:
            del self._open[name][id(request)]

    # -- tools' calls -------------------------------------------------------------------------

    async def _call(self, request: web.BaseRequest, called: ToolRequest) -> web.StreamResponse:
        session = request.headers.get(SESSION, "")
        post = Post(self.ask, request, called)
        surface = Surface(http=True, session=bool(session), modern=called.modern)
        call = self.boundary.begin(called, post, surface, session)
        task = asyncio.get_running_loop().create_task(self.boundary.attempt(call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            outcome = await asyncio.shield(task)
        except asyncio.CancelledError:  # the client has gone; what must land goes on
            if not call.silenced:
                task.cancel()
            raise
        except _ERRORS:
            return hang_up(request)
        match outcome:
            case Passed(answer):
                if answer.exception is not None:
                    return _unreachable(ConnectionError(answer.exception))
                return await post.finish()
            case Instead(result):
                return await post.finish({"result": result})
            case Refused(said):
                return self._refuse(request, call, said)
        if outcome.stall_s:
            await self.boundary.pause(outcome.stall_s)
        return hang_up(request)

    def _refuse(self, request: web.BaseRequest, call: Call, said: Reply) -> web.Response:
        if said.ends_session and call.event is not None:
            name = request.headers[SESSION]
            self._dead[name] = (said, call.event.injection_id)
            for stream in self._open.get(name, {}).values():
                hang_up(stream)
        if said.message is None:
            return _plain(said)
        body = messages.answer_to(call.request.id, said.message)
        return web.Response(status=said.status or 200, body=body, content_type="application/json")


async def _begin(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    """The head of the server's answer, sent."""
    headers: CIMultiDict[str] = passable(answer.headers, coordinates=False)
    response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
    if answer.content_type != STREAM and answer.content_length is not None:
        response.content_length = answer.content_length
    await response.prepare(request)
    return response


def _plain(said: Reply) -> web.Response:
    return web.Response(status=said.status or 200, headers=dict(said.headers), text=said.text)


def _unreachable(error: BaseException) -> web.Response:
    what = f"the MCP server does not answer ({type(error).__name__}: {error})"
    return web.Response(status=502, text=f"hfr-bench mcp: {what}", headers=_OURS)


def _is_local(host: str) -> bool:
    """Whether a Host header names this machine."""
    name = urlsplit(f"//{host}").hostname or ""
    with contextlib.suppress(ValueError):
        return name == "localhost" or ip_address(name).is_loopback
    return False
