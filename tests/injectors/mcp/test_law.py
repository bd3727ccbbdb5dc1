"""The same effects mean the same at the tool boundary and in the proxy; and very many of them.

No strategy and no wire: a walker that goes to every step and tries each until it is answered.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench import content
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.generate import ATTEMPTS_MAX, Draw, generate
from hfr_bench.faults.mcp import LAYERS, Surface, audit_proxy
from hfr_bench.injectors.mcp import McpProxy
from hfr_bench.injectors.mcp.boundary import Boundary
from hfr_bench.injectors.mcp.exchange import Answer, Instead, Passed, Refused
from hfr_bench.injectors.mcp.messages import encode, tool_request
from hfr_bench.injectors.mcp.record import Record
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.lab.clock import VirtualClock
from hfr_bench.model.attempt import Call, Intent, Observation
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.record import json_digest
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.task import FaultPoint
from hfr_bench.model.terms import Channel, Layer, SideEffect
from hfr_bench.ports.injector import Scene

KINDS = {name: content.kinds()[name] for name in sorted(McpProxy().kinds())}
LEVELS = {"look": SideEffect.READ, "add": SideEffect.QUERYABLE}
POINTS = [
    FaultPoint(point=point, layer=Layer.TOOL, target=tool, level=LEVELS[tool])
    for point in ("tool:look", "tool:add", "reconcile:look")
    for tool in [point.partition(":")[2]]
]
PATIENCE_US = 10_000_000
GAP_US = 6_000_000


def drawn(seed: int, horizon: int, rate: float = 0.7) -> FaultSchedule:
    tools = dict.fromkeys((n for n in KINDS if not n.startswith("reconcile")), 1.0)
    asked = dict.fromkeys((n for n in KINDS if n.startswith("reconcile")), 1.0)
    mixes = (Mix(points=("tool:*",), kinds=tools), Mix(points=("reconcile:*",), kinds=asked))
    draw = Draw("mcp", "law", seed, "all", rate)
    return generate(draw, POINTS, FaultMatrix(name="all", mixes=mixes), KINDS, horizon)


class World:
    """Two tools: one adds, one tells how much there is."""

    def __init__(self) -> None:
        self.added: list[str] = []

    def run(self, tool: str, arguments: Mapping[str, Any]) -> str:
        if tool == "add":
            self.added.append(str(arguments["item"]))
        return json.dumps({"n": len(self.added), "note": f"so far {len(self.added)}"})

    def attempt(self, call: Call) -> Observation:
        body = self.run(call.target, call.payload)
        return Observation(answered=True, status=200, body=body, payload=json.loads(body))


class InProcess:
    """The tool boundary between recorders."""

    def __init__(self, schedule: FaultSchedule) -> None:
        self.clock, self.world = VirtualClock(), World()
        cursor = Cursor(schedule.events, LAYERS)
        scene = Scene("t", cursor, KINDS, self.clock, lambda _body: None)
        self.injector = ToolCallInjector(KINDS)
        self.port = self.injector.wrap(self.world, scene)

    async def attempt(self, point: str, occurrence: int, attempt: int, arguments: Any) -> Any:
        tool = point.partition(":")[2]
        digest = json_digest(arguments)
        key = json_digest([tool, digest])
        intent = Intent("i", Channel.TOOL, tool, LEVELS[tool], digest, key, key)
        call = Call(
            *(1, point, occurrence, attempt, Channel.TOOL, tool, PATIENCE_US, arguments),
            operation_id=f"{point}/{occurrence}/{attempt}",
            intent=intent,
        )
        seen = self.port.attempt(call)
        return seen.body if seen.answered else seen.status or "nothing"

    async def end(self) -> None:
        self.injector.heal()


class Proxied:
    """The proxy's core, with the world behind it."""

    def __init__(self, schedule: FaultSchedule) -> None:
        self.clock, self.world = VirtualClock(), World()
        cursor = Cursor(schedule.events, LAYERS)
        scene = Scene("t", cursor, KINDS, self.clock, lambda _body: None)
        self.boundary = Boundary(scene, Record("t", self.clock))

    async def attempt(self, point: str, occurrence: int, attempt: int, arguments: Any) -> Any:
        meta = {"occurrence": occurrence, "attempt": attempt, "point": point}
        told = {f"hfr-bench/{name}": value for name, value in meta.items()}
        params = {"name": point.partition(":")[2], "arguments": arguments, "_meta": told}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        request = tool_request(encode(message), message)
        assert request is not None
        assert b"hfr-bench" not in request.raw
        link = WorldLink(self.world, request.tool, arguments)
        call = self.boundary.begin(request, link, Surface(http=True))
        match await self.boundary.attempt(call):
            case Passed(answer):
                return answer.result["content"][0]["text"]
            case Instead(result):
                return result["content"][0]["text"]
            case Refused(_, event):
                return KINDS[event.kind].wire["tool"].status
        self.clock.wait(PATIENCE_US)  # the client's
        return "nothing"

    async def end(self) -> None:
        await self.boundary.drain(5)


class WorldLink:
    """Implements `exchange.Link`."""

    def __init__(self, world: World, tool: str, arguments: Any) -> None:
        self.world, self.tool, self.arguments = world, tool, arguments

    async def forward(self, *, heard: bool) -> Answer:
        text = self.world.run(self.tool, self.arguments)
        return Answer({"result": {"content": [{"type": "text", "text": text}]}}, 200)

    async def late(self) -> Answer:
        return await self.forward(heard=False)


async def walk(place: InProcess | Proxied, horizon: int) -> list[Any]:
    """Every occurrence of every tool, each tried until it is answered."""
    seen = []
    for occurrence in range(1, horizon + 1):
        for point in (one.point for one in POINTS):
            arguments = {"item": f"i{occurrence % 3}"} if point.endswith("add") else {}
            for attempt in range(1, ATTEMPTS_MAX + 1):
                got = await place.attempt(point, occurrence, attempt, arguments)
                seen.append((point, occurrence, attempt, got))
                place.clock.wait(GAP_US)
                if isinstance(got, str) and got != "nothing":
                    break
    await place.end()
    return seen


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_the_same_effects_mean_the_same_at_both_places(seed):
    async def scenario() -> None:
        schedule = drawn(seed, 5)
        here, there = InProcess(schedule), Proxied(schedule)
        assert await walk(here, 5) == await walk(there, 5)
        assert here.world.added == there.world.added
        found = audit_proxy(there.boundary.record.events, schedule, KINDS)
        assert [one.mismatch for one in found.deliveries if not one.delivered] == []
        assert (found.failed, found.untrue) == ((), ())

    asyncio.run(scenario())


def counted(least: int) -> None:
    """So many planned events, and delivered = reached, of every kind."""
    planned = 0
    reached: dict[str, int] = dict.fromkeys(KINDS, 0)
    for seed in range(10_000):
        schedule = drawn(seed, 12)
        place = Proxied(schedule)
        asyncio.run(walk(place, 12))
        found = audit_proxy(place.boundary.record.events, schedule, KINDS)
        assert [one.mismatch for one in found.deliveries if not one.delivered] == []
        assert (found.failed, found.untrue) == ((), ())
        planned += len(schedule.events)
        for one in found.deliveries:
            reached[one.event.kind] += 1
        if planned >= least:
            break
    assert planned >= least
    missing = {name for name, count in reached.items() if not count}
    seldom = {
        f"reconcile_stale_{percent}" for percent in ("00", "01", "05")
    }  # of 100 that are drawn
    assert missing <= seldom


def test_delivered_is_reached():
    counted(2_000)


@pytest.mark.slow
def test_delivered_is_reached_ten_thousand_times():
    counted(10_000)
