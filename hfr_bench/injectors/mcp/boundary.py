"""The core of the proxy: each tool call meets its planned event, or goes on to the server.

What the effects mean is what they mean at the tool boundary in-process (`injectors/tool_calls`); a
property test holds the two together. Here calls are many at a time, and time is the wall's: a call
that is held back lands when it is due, whoever looks. It never retries and never decides.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hfr_bench.errors import InfrastructureError
from hfr_bench.faults.mcp import DIALECT, PATIENCE_US, Surface, reply
from hfr_bench.faults.shape import wire
from hfr_bench.injectors._trail import Trails
from hfr_bench.injectors.mcp.altering import alter
from hfr_bench.injectors.mcp.exchange import (
    GONE,
    Answer,
    Call,
    Instead,
    Link,
    Outcome,
    Passed,
    Refused,
    Silent,
    seen_of,
)
from hfr_bench.injectors.mcp.messages import ToolRequest
from hfr_bench.injectors.mcp.record import Block, Record
from hfr_bench.model.effects import Alter, Late, Stale
from hfr_bench.model.record import json_digest, text_digest
from hfr_bench.model.schedule import Close, FaultEvent, Respond, Stall
from hfr_bench.model.terms import Channel, ClockKind, SideEffect
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    EffectExecuted,
    FaultInjected,
    UpstreamHit,
)
from hfr_bench.ports.injector import Scene

Json = dict[str, Any]


class _Memory(NamedTuple):
    result: Json
    digest: str


@dataclass(slots=True, eq=False)
class _Held:
    """A call on its way. `due_us` None: it lands behind the next attempt of its write."""

    call: Call
    due_us: int | None


@dataclass(slots=True)
class Boundary:
    """One trial's tool calls. Only one event loop uses it.

    `levels`: side-effect levels of tools, where they are known, for the log.
    """

    scene: Scene
    record: Record
    levels: Mapping[str, SideEffect] = field(default_factory=dict)
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    _trails: Trails = field(default_factory=Trails)
    _held: list[_Held] = field(default_factory=list)
    _answers: dict[tuple[str, str], list[_Memory]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def begin(self, request: ToolRequest, link: Link, surface: Surface, session: str = "") -> Call:
        """A call came in: where it is, and what is live there. In the order of the wire."""
        at = request.told or self._trails.next(f"tool:{request.tool}", request.args_digest)
        event = self.scene.cursor.at(*at[:3], target=request.tool, now_us=self.scene.clock.now_us())
        started = AttemptStarted(
            point=at.point,
            occurrence=at.occurrence,
            channel=Channel.TOOL,
            target=request.tool,
            timeout_us=PATIENCE_US,
            stepless_key=json_digest([request.tool, request.args_digest]),
            level=self._level(request.tool),
            request_digest=request.args_digest,
            operation_id=f"call-{self.record.calls + 1}",
            told=at.told,
        )
        block = self.record.block(started, at.attempt)
        call = Call(request, link, surface, at, block, event, session)
        effect = self.scene.kinds[event.kind].wire.get(DIALECT) if event else None
        if isinstance(effect, Respond | Close | Stall | Late):
            call.doomed = True
            self._trails.settle(at, request.args_digest, failed=True)
        return call

    async def attempt(self, call: Call) -> Outcome:
        """What goes out for a call; its lines are written before it does."""
        if self.scene.clock.kind is ClockKind.VIRTUAL:
            await self._land(self.scene.clock.now_us(), call.block)
        waiting = [one for one in self._held if one.due_us is None and one.call.asked == call.asked]
        try:
            outcome = await self._meet(call)
            for held in waiting:
                if held in self._held:
                    await self._let(held, call.block)
        except asyncio.CancelledError:
            self._settle(call, AttemptEnded(answered=False, exception=GONE), failed=True)
            raise
        seen, failed = seen_of(call, outcome)
        self._settle(call, seen, failed=failed)
        return outcome

    def heal(self) -> None:
        """No fault any more (the kill switch): stalls end, and what is held back is not sent."""
        self._held.clear()
        self.ending.set()

    async def flush(self, session: str) -> None:
        """A session ends: what its calls still hold back lands before."""
        for held in [one for one in self._held if one.call.session == session]:
            if held in self._held:
                await self._let(held, None)

    async def drain(self, limit_s: float) -> None:
        """The trial is over: what is still held back lands, in the order in which it was sent."""
        self.ending.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self._held:
                    await self._let(self._held[0], None)
                if self._tasks:
                    await asyncio.wait(set(self._tasks))

    async def pause(self, seconds: float) -> bool:
        """Wait; False if the trial or the injection ended meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                await self.ending.wait()
        except TimeoutError:
            return True
        return False

    # -- what an event does -------------------------------------------------------------------

    async def _meet(self, call: Call) -> Outcome:
        """The kind's effect in place of, around or (where it lands) after the real call."""
        event = call.event
        if event is None:
            return Passed(await self._run(call, heard=True))
        kind = self.scene.kinds[event.kind]
        effect = wire(event, kind, DIALECT)
        match effect:
            case Respond():
                self._tell(call, event)
                await self._take(kind.latency_ms / 1000)
                return Refused(reply(effect, call.request.tool, call.surface), event)
            case Close() | Stall():
                call.silenced = True
                self._tell(call, event)
                if effect.forward:
                    await self._run(call, heard=False)
                return Silent(effect.stall_s if isinstance(effect, Stall) else 0)
            case Alter():
                self._tell(call, event)
                answer = await self._run(call, heard=True)
                if answer.result is None:
                    return Passed(answer)
                text = effect.text
                for name, value in event.params.items():
                    text = text.replace("{" + name + "}", str(value))
                wrong = alter(effect.edit, answer.result, event.injection_id, text)
                return Instead(wrong, answer)
            case Stale():
                return await self._stale(call, event)
            case Late():
                call.silenced = True
                self._tell(call, event, lands=True)
                self._hold(call, effect)
                return Silent(effect.stall_s)
        raise InfrastructureError(
            f"kind {event.kind}: {effect.type} is no effect that MCP can express; see docs/mcp.md"
        )

    async def _stale(self, call: Call, event: FaultEvent) -> Outcome:
        """The last earlier answer to this read that was another; without one, the true answer."""
        earlier = tuple(self._answers.get(call.asked, ()))
        answer = await self._run(call, heard=True)
        if event.effect_lands is not False and answer.result is not None:
            for old in reversed(earlier):
                if old.digest != answer.digest:
                    self._tell(call, event)
                    return Instead(old.result, answer)
        call.event = None  # not met
        return Passed(answer)

    def _hold(self, call: Call, effect: Late) -> None:
        due_us = None
        if effect.after_s is not None:
            due_us = self.scene.clock.now_us() + round(effect.after_s * 1_000_000)
        held = _Held(call, due_us)
        self._held.append(held)
        if effect.after_s is not None and self.scene.clock.kind is ClockKind.WALL:
            task = asyncio.get_running_loop().create_task(self._later(held, effect.after_s))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _later(self, held: _Held, seconds: float) -> None:
        if await self.pause(seconds) and held in self._held:
            await self._let(held, None)

    # -- the server ---------------------------------------------------------------------------

    async def _run(self, call: Call, *, heard: bool) -> Answer:
        answer = await call.link.forward(heard=heard)
        call.forwarded, call.answer = answer.sent, answer
        if answer.result is not None:
            self.record.add(call.block, self._executed(call, answer))
        self._remember(call, answer)
        return answer

    async def _let(self, held: _Held, block: Block | None) -> None:
        """A held call lands, in the lines of another call or outside all of them."""
        self._held.remove(held)
        answer = await held.call.link.late()
        if answer.result is None:
            return
        done = self._executed(held.call, answer)
        if block is None:
            self.record.outside(done, kept=True)
            return
        self.record.add(block, done)
        self._remember(held.call, answer)

    async def _land(self, now_us: int, block: Block) -> None:
        """What is due lands: on a virtual clock nothing happens but when somebody looks."""
        for held in [one for one in self._held if one.due_us is not None]:
            if held.due_us is not None and held.due_us <= now_us and held in self._held:
                await self._let(held, block)

    def _remember(self, call: Call, answer: Answer) -> None:
        if answer.result is not None:
            memory = _Memory(answer.result, answer.digest)
            self._answers.setdefault(call.asked, []).append(memory)

    async def _take(self, seconds: float) -> None:
        """So long takes a failing answer."""
        if self.scene.clock.kind is ClockKind.VIRTUAL:
            self.scene.clock.wait(round(seconds * 1_000_000))
        else:
            await self.pause(seconds)

    # -- the log ------------------------------------------------------------------------------

    def _level(self, tool: str) -> SideEffect:
        return self.levels.get(tool, SideEffect.QUERYABLE)

    def _executed(self, call: Call, answer: Answer) -> EffectExecuted:
        request, result = call.request, answer.result
        return EffectExecuted(
            operation_id=call.operation,
            point=call.at.point,
            tool=request.tool,
            actor="agent",
            level=self._level(request.tool),
            natural_key=json_digest([request.tool, request.args_digest]),
            args_digest=request.args_digest,
            domain_error=result is not None and result.get("isError") is True,
            response_digest=answer.digest,
        )

    def _tell(self, call: Call, event: FaultEvent, *, lands: bool | None = None) -> None:
        told = FaultInjected(
            injection_id=event.injection_id,
            kind=event.kind,
            effect_lands=event.effect_lands if lands is None else lands,
        )
        self.scene.tell(told)
        self.record.add(call.block, told)

    def _settle(self, call: Call, seen: AttemptEnded, *, failed: bool) -> None:
        """The call is over, for the log and for the inference of the next one."""
        if not call.doomed:
            self._trails.settle(call.at, call.request.args_digest, failed=failed)
        event, answer = call.event, call.answer
        hit = UpstreamHit(
            point=call.at.point,
            occurrence=call.at.occurrence,
            attempt=call.at.attempt,
            target=call.request.tool,
            told=call.at.told,
            forwarded=call.forwarded,
            upstream_status=answer.status,
            injection_id=event.injection_id if event else None,
            kind=event.kind if event else None,
            request_digest=text_digest(call.request.raw),
            response_digest=seen.response_digest,
            upstream_digest=answer.digest if answer.status is not None else "",
        )
        self.record.add(call.block, hit)
        self.record.add(call.block, seen)
        self.record.close(call.block)
