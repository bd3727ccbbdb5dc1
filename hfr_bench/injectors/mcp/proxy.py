"""The proxy put together: a client's side, a server's side, and the end of both.

```
client ─ stdio ─→ lines ──→ process of the server          (raw lines)
                      └───→ SDK's client ─→ URL
client ─ HTTP ──→ reverse proxy ──→ URL                     (raw HTTP)
                      └───→ SDK's server ─→ a process a session
```
Faults are played in the first box. The SDK only translates between the two transports, beyond it.
"""

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import IO, Any, NamedTuple

import aiohttp

from hfr_bench import content
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.faults import mcp as wording
from hfr_bench.injectors.mcp.boundary import Boundary
from hfr_bench.injectors.mcp.child import Child, Lines, Stdio
from hfr_bench.injectors.mcp.http import HttpProxy
from hfr_bench.injectors.mcp.lines import LinesProxy
from hfr_bench.injectors.mcp.record import Record
from hfr_bench.injectors.mcp.traffic import Traffic
from hfr_bench.model.schedule import FaultSchedule, KindSpec
from hfr_bench.model.task import FaultPoint
from hfr_bench.model.terms import Layer, SideEffect
from hfr_bench.model.trace import TraceEvent
from hfr_bench.ports.injector import Scene

_DRAIN_S = 2.0
_CONNECT_S = 10.0
_ENDS = ("SIGINT", "SIGTERM", "SIGHUP")
_STOP = "SIGUSR1"


class Ended(NamedTuple):
    """How a trial ended.

    `events`: the log's lines about tools' calls, which the audit reads. `batches`: arrays of
    messages that passed whole. `server_left`: the server ended by itself, with `server_code`.
    """

    events: tuple[TraceEvent, ...] = ()
    calls: int = 0
    batches: int = 0
    server_left: bool = False
    server_code: int | None = None


class _Ends(NamedTuple):
    """Both ends: a command or else a URL behind us, an address or else our own stdio before us."""

    command: tuple[str, ...]
    url: str
    host: str
    port: int


@dataclass(slots=True)
class McpProxy:
    """Faults of tools' calls, played between an MCP client and its server.

    `specs`: the fault kinds by name; default the built-in. `serve` lasts until the client leaves,
    the server ends, or the process is asked to; one call of it is one trial.
    """

    specs: Mapping[str, KindSpec] | None = None

    def kinds(self) -> frozenset[str]:
        """The kinds that MCP can express."""
        known = content.kinds() if self.specs is None else self.specs
        return frozenset(name for name, spec in known.items() if not wording.why_not(spec))

    def check(self, schedule: FaultSchedule, kinds: Mapping[str, KindSpec]) -> None:
        """Raises BadInputError for a schedule that names what MCP cannot express."""
        if wrong := wording.unplayable(schedule, kinds):
            raise BadInputError(
                f"schedule {schedule.schedule_id}: MCP cannot express {'; '.join(wrong)}. It can: "
                f"{', '.join(sorted(self.kinds()))}"
            )

    def points(self, command: Sequence[str], url: str) -> tuple[str, tuple[FaultPoint, ...]]:
        """The server's name, and a point for each of its tools, asked in a session of its own.

        Levels follow from the server's hints: `readOnlyHint` R0, `idempotentHint` R1, a stated
        `destructiveHint` R3 (nobody says that it can be taken back), every other tool R2.
        Raises BadInputError if the server does not list its tools.
        """
        found = _sdk().listed(command, url)
        points = tuple(
            FaultPoint(
                point=f"tool:{tool.name}",
                layer=Layer.TOOL,
                target=tool.name,
                level=level_of(tool.read_only, tool.idempotent, tool.destructive),
            )
            for tool in found.tools
        )
        return found.server, points

    def serve(
        self,
        scene: Scene,
        *,
        command: Sequence[str] = (),
        url: str = "",
        host: str = "",
        port: int = 0,
        file: IO[str] | None = None,
        levels: Mapping[str, SideEffect] | None = None,
        ready: Callable[[str], None] = lambda _url: None,
        stopped: Callable[[], None] = lambda: None,
    ) -> Ended:
        """Play a trial's faults, until the client leaves, the server ends, or a signal says so.

        `command` starts the server (stdio), or else `url` is where it serves HTTP. `host`, `port`:
        where clients come; without a host, our own stdio. `ready` is told the URL that takes the
        server's place. `stopped` is called when SIGUSR1 asks for no further fault.
        Raises BadInputError if the server cannot be started, InfrastructureError if the address
        cannot be had.
        """
        record = Record(scene.trial_id, scene.clock, file)
        ends = _Ends(tuple(command), url, host, port)
        work = _serve(Boundary(scene, record, levels or {}), ends, ready, stopped)
        return asyncio.run(work)._replace(events=tuple(record.events), calls=record.calls)


def level_of(
    read_only: bool | None, idempotent: bool | None, destructive: bool | None
) -> SideEffect:
    """A tool's side-effect level, by its hints."""
    if read_only:
        return SideEffect.READ
    if idempotent:
        return SideEffect.IDEMPOTENT
    return SideEffect.IRREVERSIBLE if destructive else SideEffect.QUERYABLE


async def _serve(
    boundary: Boundary, ends: _Ends, ready: Callable[[str], None], stopped: Callable[[], None]
) -> Ended:
    traffic = Traffic(boundary.record)
    asked = asyncio.Event()

    def heal() -> None:
        stopped()
        boundary.heal()

    with _signals(asked.set, heal):
        if ends.host:
            return await _over_http(boundary, traffic, ends, ready, asked)
        return await _over_stdio(boundary, traffic, ends, asked)


async def _over_stdio(
    boundary: Boundary, traffic: Traffic, ends: _Ends, asked: asyncio.Event
) -> Ended:
    client = await Stdio.open()
    server = await _lines_of(ends)
    proxy = LinesProxy(boundary, traffic, client, server)
    waiting = asyncio.ensure_future(asked.wait())
    waiting.add_done_callback(lambda done: None if done.cancelled() else proxy.end())
    try:
        client_left = await proxy.run()
    finally:
        waiting.cancel()
        await server.close()
        await client.close()
    code = server.code if isinstance(server, Child) and not client_left else None
    return Ended(batches=traffic.batches, server_left=not client_left, server_code=code)


async def _lines_of(ends: _Ends) -> Lines:
    if ends.command:
        return await Child.start(ends.command)
    made: Any = _sdk().HttpLines(ends.url)
    await made.start()
    lines: Lines = made
    return lines


async def _over_http(
    boundary: Boundary,
    traffic: Traffic,
    ends: _Ends,
    ready: Callable[[str], None],
    asked: asyncio.Event,
) -> Ended:
    async with _upstream(ends) as (url, client):
        proxy = HttpProxy(boundary, traffic, url, client)
        try:
            ready(await proxy.start(ends.host, ends.port))
            await asked.wait()
        except OSError as error:
            where = f"{ends.host}:{ends.port}"
            raise InfrastructureError(f"cannot listen on {where}: {error}") from error
        finally:
            await proxy.stop(_DRAIN_S)
    return Ended(batches=traffic.batches)


@contextlib.asynccontextmanager
async def _upstream(ends: _Ends) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """The URL of the server, and a client that reaches it."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)
    options: dict[str, Any] = {"timeout": timeout, "auto_decompress": False}
    options["skip_auto_headers"] = ("user-agent", "content-type", "accept")
    if not ends.command:
        connector: aiohttp.BaseConnector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, **options) as client:
            yield ends.url, client
        return
    hosted = _hosted().Hosted(ends.command)
    try:
        await hosted.start()
        connector = aiohttp.UnixConnector(path=str(hosted.socket), limit=0)
        async with aiohttp.ClientSession(connector=connector, **options) as client:
            yield hosted.URL, client
    finally:
        await hosted.stop()


@contextlib.contextmanager
def _signals(end: Callable[[], None], heal: Callable[[], None]) -> Iterator[None]:
    """Ends and kill switch, where this is the main thread; handlers of before come back."""
    here = threading.current_thread() is threading.main_thread()
    wanted = dict.fromkeys(_ENDS, end) | {_STOP: heal} if here else {}
    loop = asyncio.get_running_loop()
    before = {}
    for name, act in wanted.items():
        number = getattr(signal, name, None)
        if number is not None:
            before[number] = signal.getsignal(number)
            loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def _sdk() -> ModuleType:
    try:
        from hfr_bench.injectors.mcp import sdk  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise _lacking(error) from error
    return sdk


def _hosted() -> ModuleType:
    try:
        from hfr_bench.injectors.mcp import hosted  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise _lacking(error) from error
    return hosted


def _lacking(error: ImportError) -> BadInputError:
    return BadInputError(
        "this needs the official MCP SDK, which is not installed (stdio to stdio and HTTP to HTTP "
        f"under a --schedule do not): pip install 'hfr-bench[mcp]' ({error})"
    )
