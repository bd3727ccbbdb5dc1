"""The gateway as a process of its own, beside no proxy, a bare aiohttp pass-through, and peers.

Prints, for each road, as JSON: the median and 99th percentile of a call (ms) on one connection and
on 16, calls a second, the first streamed byte (ms), CPU of the proxy a call (ms), and its memory
(MiB) before and after. Roads take turns in short rounds, and what is printed are medians of rounds:
the machine may be shared. mitmproxy (reverse) and litellm's proxy are roads where their
environments exist (`make bench` makes them); further ones before the same server can be named:

    python gateway.py [ROUNDS [CALLS]] [NAME=URL:PID ...]
    python gateway.py --million [CALLS]       that many calls through the gateway, and its memory
"""

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

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
MESSAGE = {"role": "assistant", "content": "y" * 300}
CHOICE = {"index": 0, "message": MESSAGE, "finish_reason": "stop"}
ANSWER = json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": [CHOICE]})
ANSWER = ANSWER.encode()
SAID = b"yyyyyyyy"
EVENT = b'data: {"id": "1", "choices": [{"index": 0, "delta": {"content": "yyyyyyyy"}}]}\n\n'
LAST = b"data: [DONE]\n\n"
PAUSE_S = 0.005
OURS = ("gateway", "relay")
LOCAL = "127.0.0.1"
HOSTS = Path(__file__).parents[2] / ".hosts"
START_S = 120.0
TURN_S = 1.0
"""So long a road's calls on one connection take in a round, at the most."""

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
        if b'"stream":true' in body.replace(b" ", b""):
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


def peers(upstream: str, folder: Path) -> Iterator[tuple[subprocess.Popen, Road]]:
    """The other proxies that are installed here, once they answer."""
    stream = folder / "stream.py"
    stream.write_text("def responseheaders(flow):\n    flow.response.stream = True\n")
    models = folder / "litellm.json"  # YAML, too
    params = {"model": "openai/m", "api_base": f"{upstream}/v1", "api_key": "k"}
    models.write_text(json.dumps({"model_list": [{"model_name": "m", "litellm_params": params}]}))
    commands = {
        "mitmproxy": (
            *("mitmdump", "-q", "-s", stream, "--set", f"confdir={folder}"),
            *("--listen-host", LOCAL, "--mode", f"reverse:{upstream}", "-p"),
        ),
        "litellm": (
            *("litellm", "--config", models, "--telemetry", "False", "--host", LOCAL, "--port"),
        ),
    }
    # Nobody but this machine can reach it, and it need not know who calls: the least of its work.
    open_to_all = "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"
    env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", open_to_all: "true"}
    for name, (program, *options) in commands.items():
        path = HOSTS / name / "bin" / program
        if path.exists():
            with socket.create_server((LOCAL, 0)) as free:
                port = free.getsockname()[1]
            argv = [str(one) for one in (path, *options, port)]
            log = (folder / f"{name}.log").open("wb")
            process = subprocess.Popen(argv, env=env, stdout=log, stderr=log, cwd=folder)
            road = Road(name, LOCAL, port, pid=process.pid)
            yield process, road
            wait_for(process, road)


def wait_for(process: subprocess.Popen, road: Road) -> None:
    """Until a proxy takes connections. Raises RuntimeError if it does not."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection((road.host, road.port)):
            return
        time.sleep(0.1)
    raise RuntimeError(f"{road.name} does not take connections")


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
        assert head.startswith(b"HTTP/1.1 200"), head + await reader.read(2000)
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if length:
            await reader.readexactly(int(length))
        else:
            first = await reader.readuntil(b"\n\n")
            if first_only:
                took.append(time.perf_counter() - began)
            assert SAID in first, first
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
    """Medians over rounds in which every road has its turn; slow ones make fewer calls."""
    counts = {}
    for road in roads:
        asyncio.run(calls(road, 20, ASK))
        p50_s = asyncio.run(one_round(road, 100))["p50_ms"] / 1e3
        counts[road.name] = max(100, min(count, round(TURN_S / p50_s)))
    before = {road.name: _rss_mib(road.pid) for road in roads}
    found: dict[str, list[dict[str, float]]] = {road.name: [] for road in roads}
    for _ in range(rounds):
        for road in roads:
            found[road.name].append(asyncio.run(one_round(road, counts[road.name])))
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


def million(road: Road, count: int) -> dict[str, Any]:
    """So many calls on 16 connections; memory at the start and behind each tenth of them."""
    asyncio.run(calls(road, 1000, ASK))
    memory, began = [_rss_mib(road.pid)], time.perf_counter()

    async def tenth() -> None:
        await asyncio.gather(*(calls(road, count // 10 // MANY, ASK) for _ in range(MANY)))

    for _ in range(10):
        asyncio.run(tenth())
        memory.append(_rss_mib(road.pid))
        print(f"{len(memory) - 1} tenths, {memory[-1]:.1f} MiB", file=sys.stderr)
    per_s = count / (time.perf_counter() - began)
    return {"calls": count, "per_s": round(per_s), "rss_mib": [round(one, 2) for one in memory]}


def main(arguments: list[str]) -> None:
    """Start everything, measure, and end everything."""
    numbers = [int(one) for one in arguments if one.isdigit()]
    rounds, count = (*numbers, *(5, 1000)[len(numbers) :])[:2]
    uvloop.install()
    model, direct = started("model")
    origin = f"http://{direct.host}:{direct.port}"
    processes, roads = [model], [direct._replace(name="direct", pid=None)]
    try:
        with TemporaryDirectory() as folder:
            alone = "--million" in arguments
            made = [started(what, origin) for what in (("gateway",) if alone else OURS)]
            processes += [process for process, _ in made]
            roads += [road for _, road in made]
            if alone:
                print(json.dumps(million(roads[1], numbers[0] if numbers else 10**6)))
                return
            for process, road in peers(origin, Path(folder)):
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
