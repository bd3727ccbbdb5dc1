"""The proxy between a client and a server that speak JSON lines (stdio).

What is no tool's call passes as the bytes that came, both ways. A call that is in flight is known
by its id: its answer goes to whoever waits for it here, and all else the server says goes on.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hfr_bench.faults.mcp import Surface
from hfr_bench.injectors.mcp import messages
from hfr_bench.injectors.mcp.boundary import Boundary
from hfr_bench.injectors.mcp.child import Lines
from hfr_bench.injectors.mcp.exchange import (
    CANCELLED,
    SERVER_GONE,
    Answer,
    Call,
    Instead,
    Passed,
    Refused,
    Silent,
)
from hfr_bench.injectors.mcp.messages import Id, ToolRequest
from hfr_bench.injectors.mcp.traffic import Traffic

_OK = 200
DRAIN_S = 0.5


@dataclass(slots=True)
class _Wait:
    """Who waits for an answer, and the line that it came as."""

    answer: asyncio.Future[Answer]
    line: bytes = b""


@dataclass(slots=True)
class LinesProxy:
    """One client, one server; `run` lasts until one of them ends. Returns which: see `run`."""

    boundary: Boundary
    traffic: Traffic
    client: Lines
    server: Lines
    _waiting: dict[Id, _Wait] = field(default_factory=dict)
    _calls: dict[Id, Call] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _late: int = 0

    async def run(self) -> bool:
        """Pass messages until the client leaves (True) or the server ends by itself (False).

        What was held back has landed when it returns; neither side is closed.
        """
        sides = [
            asyncio.ensure_future(self._pump(self.client, self._from_client)),
            asyncio.ensure_future(self._pump(self.server, self._from_server)),
            asyncio.ensure_future(self._closing.wait()),
        ]
        try:
            await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
            left = not sides[1].done()
            if left:
                await self.boundary.drain(DRAIN_S)
                if self._tasks:
                    await asyncio.wait(set(self._tasks), timeout=DRAIN_S)
        finally:
            for task in (*sides, *self._tasks):
                task.cancel()
            self._gone()
            await asyncio.gather(*sides, *self._tasks, return_exceptions=True)
        return left

    def end(self) -> None:
        """Let `run` end, as if the client had left."""
        self._closing.set()

    async def _pump(self, side: Lines, take: Callable[[bytes], Awaitable[None]]) -> None:
        with contextlib.suppress(OSError):
            async for line in side.lines():
                await take(line)

    # -- from the client ----------------------------------------------------------------------

    async def _from_client(self, line: bytes) -> None:
        message = messages.parse(line)
        request = messages.tool_request(line, message)
        if request is None:
            await self._pass(line, message)
            return
        link = _Link(self, request)
        call = self.boundary.begin(request, link, Surface(http=False, modern=request.modern))
        self._calls[request.id] = call
        task = asyncio.get_running_loop().create_task(self._serve(call, link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.sleep(0)  # so that nothing that comes later overtakes it

    async def _pass(self, line: bytes, message: object) -> None:
        """Anything but a tool's call. What was silenced cannot be taken back."""
        if (number := messages.request_id(message)) is not None:
            self.traffic.asked(number, line, messages.method_of(message))
        elif isinstance(message, list):
            self.traffic.batches += 1
        cancelled = messages.cancelled_id(message)
        call = None if cancelled is None else self._calls.get(cancelled)
        if call is not None and call.silenced:
            return
        await self.server.send(line)
        if cancelled in self._waiting:  # no answer need come
            self._waiting.pop(cancelled).answer.set_result(Answer(exception=CANCELLED))
            await asyncio.sleep(0)  # the call is over before the next one is placed

    async def _serve(self, call: Call, link: "_Link") -> None:
        """One tool's call, to its end."""
        outcome = await self.boundary.attempt(call)
        number = call.request.id
        match outcome:
            case Passed():
                out = link.line
            case Instead(result):
                out = messages.answer_to(number, {"result": result})
            case Refused(said):
                out = messages.answer_to(number, said.message or {})
            case Silent(stall_s):
                if await self.boundary.pause(stall_s):
                    self._closing.set()  # the stall is over: the connection ends
                return
        if self._calls.get(number) is call:
            del self._calls[number]
        if out:
            with contextlib.suppress(OSError):
                await self.client.send(out)

    # -- from the server ----------------------------------------------------------------------

    async def _from_server(self, line: bytes) -> None:
        message = messages.parse(line)
        number = messages.answered_id(message)
        wait = None if number is None else self._waiting.pop(number, None)
        if wait is not None:
            wait.line = line
            if not wait.answer.done():
                wait.answer.set_result(Answer(message, _OK))
            return
        if number is not None:
            self.traffic.answered(number, message)
        await self.client.send(line)

    async def ask(self, number: Id, line: bytes) -> tuple[Answer, bytes]:
        """Send a request to the server; its answer, and the line that it came as."""
        wait = _Wait(asyncio.get_running_loop().create_future())
        before = self._waiting.pop(number, None)
        if before is not None and not before.answer.done():  # an id that is used twice
            before.answer.set_result(Answer(exception=CANCELLED))
        self._waiting[number] = wait
        try:
            await self.server.send(line)
        except OSError:
            self._waiting.pop(number, None)
            return Answer(exception=SERVER_GONE, sent=False), b""
        answer = await wait.answer
        return answer, wait.line

    async def ask_late(self, request: ToolRequest) -> Answer:
        """Send a copy of a request under an id of ours."""
        self._late += 1
        number = f"hfr-late-{self._late}"
        answer, _ = await self.ask(number, messages.encode({**request.message, "id": number}))
        return answer

    def _gone(self) -> None:
        for wait in self._waiting.values():
            if not wait.answer.done():
                wait.answer.set_result(Answer(exception=SERVER_GONE))
        self._waiting.clear()


@dataclass(slots=True)
class _Link:
    """Implements `exchange.Link`. `line`: the server's answer as it came."""

    proxy: LinesProxy
    request: ToolRequest
    line: bytes = b""

    async def forward(self, *, heard: bool) -> Answer:
        answer, self.line = await self.proxy.ask(self.request.id, self.request.raw)
        return answer

    async def late(self) -> Answer:
        return await self.proxy.ask_late(self.request)
