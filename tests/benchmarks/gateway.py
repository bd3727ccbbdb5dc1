"""The gateway as a process of its own, beside no proxy at all and a bare aiohttp pass-through.

Prints, for each road, as JSON: the median and 99th percentile of a call (ms) on one connection and
on 16, calls a second, the first streamed byte (ms), CPU of the proxy a call (ms), and its memory
(MiB) before and after. Roads take turns in short rounds, and what is printed are medians of rounds:
the machine may be shared. Further proxies in front of the same server can be named:

    python gateway.py [ROUNDS [CALLS]] [NAME=URL:PID ...]
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import aiohttp
import uvloop
from aiohttp import web

from hfr_bench import content
from hfr_bench.faults.cursor import Cursor
from hfr_bench.injectors.gateway import GatewayInjector
from hfr_bench.loopback import listen
from hfr_bench.model.schedule import FaultEvent, Lasts
from hfr_bench.model.terms import Layer
from hfr_bench.ports.injector import Scene
from hfr_bench.testing.fakes import FakeClock

MANY = 16
PATH = "/v1/chat/completions"
ASK = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 500}]}).encode()
ASK_STREAM = ASK[:-1] + b', "stream": true}'
ANSWER = json.dumps({"model": "m", "choices": [{"message": {"content": "y" * 300}}]}).encode()
EVENT = b'data: {"choices": [{"delta": {"content": "yyyyyyyy"}}]}\n\n'
LAST = b"data: [DONE]\n\n"
PAUSE_S = 0.005
PLANNED = 40
"""Faults in the trial's schedule, all behind the last call: looked up, never met."""


class Road(NamedTuple):
    """A way to the model server: where it begins, and the process that is in between."""

    name: str
    host: str
    port: int
    prefix: str = ""
    pid: int | None = None

    def request(self, body: bytes) -> bytes:
        """One request of a client that does as little as possible."""
        head = f"POST {self.prefix}{PATH} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
        head += "Content-Type: application/json\r\nAuthorization: Bearer k\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


# -- the processes --------------------------------------------------------------------------------


class ModelServer(asyncio.Protocol):
    """As fast as Python's sockets are: one answer, or a stream of three events."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport, self.seen = transport, b""

    def data_received(self, data: bytes) -> None:
        self.seen += data
        head, found, body = self.seen.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if not found or len(body) < int(length or 0):
            return
        self.seen = b""
        if b'"stream": true' in body:
            asyncio.get_running_loop().create_task(self.trickle())
            return
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
        self.transport.write(head + str(len(ANSWER)).encode() + b"\r\n\r\n" + ANSWER)

    async def trickle(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        self.transport.write(head + b"Transfer-Encoding: chunked\r\n\r\n" + _chunk(EVENT))
        await asyncio.sleep(PAUSE_S)
        self.transport.write(_chunk(EVENT) + _chunk(LAST) + b"0\r\n\r\n")


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def serve_model() -> int:
    """Start the model server; returns its port."""
    server = await asyncio.get_running_loop().create_server(ModelServer, "127.0.0.1", 0)
    return int(server.sockets[0].getsockname()[1])


async def serve_relay(upstream: str) -> int:
    """The least that an aiohttp proxy can do: no rules, no record, streams as they come."""
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def relay(request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        headers = {"content-type": request.headers.get("content-type", "")}
        async with session.post(upstream + request.path, data=body, headers=headers) as answer:
            if answer.content_type != "text/event-stream":
                whole = await answer.read()
                return web.Response(status=answer.status, body=whole)
            response = web.StreamResponse(headers={"content-type": answer.content_type})
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response

    return (await listen(relay))[1]


def serve_gateway(upstream: str) -> str:
    """The gateway with one trial, and a schedule that is never met; returns its base URL."""
    far = 10**9
    plan = [
        FaultEvent(
            injection_id=str(n), layer=Layer.MODEL, kind="model_500", point="model:agent",
            occurrence=far + n, lasts=Lasts(),
        )
        for n in range(PLANNED)
    ]  # fmt: skip
    gateway = GatewayInjector(forward_coordinates=False)
    gateway.start(f"{upstream}/v1")
    scene = Scene("trial", Cursor(plan), content.kinds(), FakeClock(), lambda _: None)
    return gateway.enter(scene).removesuffix("/v1")


def serve(what: str, upstream: str) -> None:
    """A process of its own: prints where it listens, and ends with its stdin."""

    async def forever(start: Callable[[], Awaitable[int]]) -> None:
        print(f"http://127.0.0.1:{await start()}", flush=True)
        await asyncio.Event().wait()

    if what == "gateway":
        print(serve_gateway(upstream), flush=True)
        sys.stdin.read()
        os._exit(0)
    uvloop.install()
    asyncio.run(forever(serve_model if what == "model" else lambda: serve_relay(upstream)))


def started(what: str, upstream: str = "") -> tuple[subprocess.Popen, Road]:
    argv = [sys.executable, __file__, "serve", what, upstream]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = process.stdout.readline().strip()
    return process, road_of(what, url, process.pid)


def road_of(name: str, url: str, pid: int | None) -> Road:
    host, _, rest = url.removeprefix("http://").partition(":")
    port, slash, path = rest.partition("/")
    return Road(name, host, int(port), slash + path, pid)


# -- the client -----------------------------------------------------------------------------------


async def calls(road: Road, count: int, body: bytes, *, first_only: bool = False) -> list[float]:
    """Seconds of each of `count` calls on one connection, or until the first streamed byte."""
    reader, writer = await asyncio.open_connection(road.host, road.port)
    request, took = road.request(body), []
    for _ in range(count):
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if length:
            await reader.readexactly(int(length))
        else:
            first = await reader.readuntil(b"\n\n")
            if first_only:
                took.append(time.perf_counter() - began)
            assert EVENT in first
            await reader.readuntil(b"0\r\n\r\n")
        if not first_only:
            took.append(time.perf_counter() - began)
    writer.close()
    return took


async def one_round(road: Road, count: int) -> dict[str, float]:
    """All measures of a road once."""
    cpu_s = _cpu_s(road.pid)
    alone = await calls(road, count, ASK)
    cpu_s = _cpu_s(road.pid) - cpu_s
    began = time.perf_counter()
    crowd = await asyncio.gather(*(calls(road, count // 4, ASK) for _ in range(MANY)))
    took = time.perf_counter() - began
    together = [one for each in crowd for one in each]
    first = await calls(road, max(20, count // 10), ASK_STREAM, first_only=True)
    return {
        "p50_ms": 1e3 * statistics.median(alone),
        "p99_ms": 1e3 * statistics.quantiles(alone, n=100)[98],
        "cpu_ms": 1e3 * cpu_s / count,
        "p50_ms_of_16": 1e3 * statistics.median(together),
        "per_s_of_16": len(together) / took,
        "first_byte_ms": 1e3 * statistics.median(first),
    }


def _cpu_s(pid: int | None) -> float:
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mib(pid: int | None) -> float:
    if pid is None:
        return 0.0
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(roads: list[Road], rounds: int, count: int) -> dict[str, dict[str, float]]:
    """Medians over rounds in which every road has its turn."""
    for road in roads:
        asyncio.run(one_round(road, 200))
    before = {road.name: _rss_mib(road.pid) for road in roads}
    found: dict[str, list[dict[str, float]]] = {road.name: [] for road in roads}
    for _ in range(rounds):
        for road in roads:
            found[road.name].append(asyncio.run(one_round(road, count)))
    told = {
        name: {key: statistics.median(one[key] for one in each) for key in each[0]}
        for name, each in found.items()
    }
    for road in roads:
        told[road.name] |= {"rss_mib": before[road.name], "rss_mib_after": _rss_mib(road.pid)}
    direct = told["direct"]
    for each in told.values():
        each["added_p50_ms"] = each["p50_ms"] - direct["p50_ms"]
        each["added_first_byte_ms"] = each["first_byte_ms"] - direct["first_byte_ms"]
        each["times_direct"] = each["p50_ms"] / direct["p50_ms"]
    return told


def main(arguments: list[str]) -> None:
    """Start everything, measure, and end everything."""
    numbers = [int(one) for one in arguments if one.isdigit()]
    rounds, count = (*numbers, *(5, 1000)[len(numbers) :])
    uvloop.install()
    model, direct = started("model")
    origin = f"http://{direct.host}:{direct.port}"
    processes, roads = [model], [direct._replace(name="direct", pid=None)]
    try:
        for what in ("gateway", "relay"):
            process, road = started(what, origin)
            processes.append(process)
            roads.append(road)
        for named in (one for one in arguments if "=" in one):
            name, _, where = named.partition("=")
            url, _, pid = where.rpartition(":")
            roads.append(road_of(name, url, int(pid)))
        told = measure(roads, rounds, count)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    rounded = {
        name: {key: round(value, 3) for key, value in each.items()} for name, each in told.items()
    }
    print(json.dumps(rounded))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(*sys.argv[2:4])
    else:
        main(sys.argv[1:])
