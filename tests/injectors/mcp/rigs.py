"""A real client and a real server of the official SDK in one loop, and the proxy between them.

Over lines the proxy stands between two pairs of streams, over HTTP between two sockets.
"""

import pytest

pytest.importorskip("mcp", reason="needs the MCP SDK: pip install 'hfr-bench[mcp]'")

import asyncio
import contextlib
import socket
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn
from mcp import Client, MCPError
from mcp.client._memory import InMemoryTransport
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from hfr_bench import content
from hfr_bench.faults.audit import TrialAudit
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.mcp import LAYERS, audit_proxy
from hfr_bench.injectors.mcp.boundary import Boundary
from hfr_bench.injectors.mcp.http import HttpProxy
from hfr_bench.injectors.mcp.lines import LinesProxy
from hfr_bench.injectors.mcp.record import Record
from hfr_bench.injectors.mcp.traffic import Traffic
from hfr_bench.lab.clock import WallClock
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec, Lasts
from hfr_bench.ports.injector import Scene

from . import server as shop

SOON_S = 0.3
"""The patience of a client that is left without an answer."""
PATIENT_S = 30.0
"""That of one that will be answered; a busy machine takes its time."""


@dataclass
class Rig:
    """A trial under way. `connect` makes a client; `world` is the server's file."""

    boundary: Boundary
    schedule: FaultSchedule
    kinds: Mapping[str, KindSpec]
    world: Path
    transport: Callable[[], Any]
    url: str = ""

    def client(self, mode: str, **options: Any) -> Client:
        return Client(self.transport(), mode=mode, **options)

    def audit(self) -> TrialAudit:
        return audit_proxy(self.boundary.record.events, self.schedule, self.kinds)

    @property
    def writes(self) -> int:
        return shop.count(self.world)


def event(
    kind: str,
    tool: str,
    occurrence: int = 1,
    attempt: int = 1,
    *,
    lands: bool | None = None,
    lasts: Lasts | None = None,
    **params: str,
) -> FaultEvent:
    spec = content.kinds()[kind]
    point = tool if ":" in tool else f"tool:{tool}"
    return FaultEvent(
        injection_id=f"x/{kind}/{point}/{occurrence}.{attempt}",
        layer=spec.layer,
        kind=kind,
        point=point,
        occurrence=occurrence,
        attempt=attempt,
        lasts=lasts or Lasts(),
        effect_lands=lands,
        params=dict(params),
    )


def schedule_of(events: Iterable[FaultEvent]) -> FaultSchedule:
    return FaultSchedule(
        schedule_id="s",
        suite="mcp",
        task_id="shop",
        seed=1,
        profile="test",
        rate=1,
        generator="test",
        horizon=60,
        events=tuple(events),
    )


def boundary_of(
    events: Iterable[FaultEvent], kinds: Mapping[str, KindSpec] | None = None, clock: Any = None
) -> tuple[Boundary, FaultSchedule]:
    schedule, clock = schedule_of(events), clock or WallClock()
    kinds = kinds or content.kinds()
    scene = Scene("t", Cursor(schedule.events, LAYERS), kinds, clock, lambda _body: None)
    return Boundary(scene, Record("t", clock)), schedule


class Wires:
    """Lines out of a pair of the SDK's streams."""

    def __init__(self, streams: Any) -> None:
        self.read, self.write = streams

    async def lines(self) -> AsyncIterator[bytes]:
        async for item in self.read:
            yield item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()

    async def send(self, line: bytes) -> None:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        await self.write.send(SessionMessage(message))

    async def close(self) -> None:
        await self.write.aclose()


@contextlib.asynccontextmanager
async def over_lines(
    tmp: Path, *events: FaultEvent, kinds: Mapping[str, KindSpec] | None = None
) -> AsyncIterator[Rig]:
    """Client, proxy and server on lines; the proxy ends when the client has left."""
    boundary, schedule = boundary_of(events, kinds)
    world = tmp / "world"

    @contextlib.asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        async with (
            InMemoryTransport(shop.make(world)) as behind,
            create_client_server_memory_streams() as (client, before),
        ):
            traffic = Traffic(boundary.record)
            proxy = LinesProxy(boundary, traffic, Wires(before), Wires(behind))
            running = asyncio.ensure_future(to_its_end(proxy))
            yield client
            await client[1].aclose()
            await asyncio.wait_for(running, PATIENT_S)

    yield Rig(boundary, schedule, boundary.scene.kinds, world, transport)


async def to_its_end(proxy: LinesProxy) -> bool:
    """Run a proxy and close the client's side, as its process does."""
    left = await proxy.run()
    await proxy.client.close()
    return left


class QuietServer(uvicorn.Server):
    """Leaves signals alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def served(tmp: Path, **options: Any) -> AsyncIterator[str]:
    """The shop over streamable HTTP; gives its URL."""
    app = shop.make(tmp / "world").streamable_http_app(**options)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1)
        server = QuietServer(config)
        running = asyncio.ensure_future(server.serve([listening]))
        while not server.started:
            await asyncio.sleep(0)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        server.should_exit = True
        await running


@contextlib.asynccontextmanager
async def over_http(
    tmp: Path,
    *events: FaultEvent,
    kinds: Mapping[str, KindSpec] | None = None,
    json: bool = False,
) -> AsyncIterator[Rig]:
    """Client, proxy and server on sockets."""
    boundary, schedule = boundary_of(events, kinds)
    async with (
        served(tmp, json_response=json) as url,
        aiohttp.ClientSession(auto_decompress=False) as session,
    ):
        proxy = HttpProxy(boundary, Traffic(boundary.record), url, session)
        ours = await proxy.start("127.0.0.1", 0)
        try:
            yield Rig(
                boundary, schedule, boundary.scene.kinds, tmp / "world", lambda: ours, url=ours
            )
        finally:
            await proxy.stop(1.0)


async def ask(client: Client, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    """A call's result, or the code of its error; None where no answer came in time."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return await client.call_tool(tool, arguments or {}, read_timeout_seconds=PATIENT_S)
        except MCPError as error:
            return error


async def wait_in_vain(client: Client, tool: str, arguments: dict[str, Any]) -> bool:
    """Whether a call was not answered at all."""
    try:
        await client.call_tool(tool, arguments, read_timeout_seconds=SOON_S)
    except MCPError as error:
        return error.code in (-32001, -32000)
    return False
