"""A real upstream on loopback, clocks, and a gateway between it and a real client."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.faults.cursor import Cursor
from hfr_bench.injectors.gateway import GatewayInjector
from hfr_bench.llms.openai_wire import ClientPool
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.schedule import Close, Drip, FaultEvent, KindSpec, Respond, Stall
from hfr_bench.model.terms import Channel, ClockKind, Layer
from hfr_bench.model.trace import UpstreamHit
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.llm import ModelScope
from hfr_bench.testing.fakes import FakeClock

WIRE = "openai_chat"


def made_up_kinds() -> dict[str, KindSpec]:
    """The built-in kinds, and one of each wire effect that none of them has."""
    effects = {
        "made_close": Close(),
        "made_close_late": Close(forward=True),
        "made_hang": Stall(stall_s=86_400),
        "made_hang_late": Stall(stall_s=86_400, forward=True),
        "made_stall": Stall(stall_s=2),
        "made_drip": Drip(stall_s=0.2, every_s=0.05),
        "made_page": Respond(status=200, body="<p>Welcome</p>"),
    }
    made = {
        name: KindSpec(kind=name, layer=Layer.MODEL, wire={WIRE: effect}, latency_ms=40)
        for name, effect in effects.items()
    }
    return {**content.kinds(), **made}


def completion(text: str = "hello") -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"model": "m", "choices": [choice], "usage": {}}).encode()


class Upstream:
    """A plain HTTP/1.1 server: `answer(handler, body)` writes the response."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.answer: Callable[[Any, bytes], None] = lambda handler, _: self.send(handler)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.seen.append((self.path, headers, body))
                outer.answer(self, body)

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    @staticmethod
    def send(handler: Any, status: int = 200, body: bytes = b"", **headers: str) -> None:
        body = body or completion()
        handler.send_response(status)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in ({"content-type": "application/json"} | named).items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@dataclass
class Stage:
    """One trial inside a gateway, and the client that plays in it."""

    trial_id: str
    url: str
    scene: Scene
    clock: FakeClock
    hits: list[UpstreamHit]
    told: threading.Event
    pool: ClientPool = field(default_factory=lambda: ClientPool({"m": 7, "other": 3}))

    def client(self, announced_us: Callable[[], int] | None = None) -> Any:
        announced_us = announced_us or (lambda: self.hits[-1].stall_us)
        scope = ModelScope("s", "t", 1, self.clock, announced_us)
        return self.pool.client(self.url, scope)

    def attempt(
        self, occurrence: int = 1, attempt: int = 1, target: str = "m", timeout_us: int = 10_000_000
    ) -> Observation:
        payload = {"messages": [{"role": "user", "content": "hi"}]}
        call = Call(
            1, "model:agent", occurrence, attempt, Channel.MODEL, target, timeout_us, payload
        )
        return self.client().attempt(call)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def gateways() -> Iterator[Callable[..., GatewayInjector]]:
    made: list[GatewayInjector] = []

    def make(upstream_url: str, **options: Any) -> GatewayInjector:
        made.append(GatewayInjector(**options))
        made[-1].start(upstream_url)
        return made[-1]

    yield make
    for gateway in made:
        gateway.stop()


@pytest.fixture
def stages(upstream: Upstream, gateways: Any) -> Iterator[Callable[..., Stage]]:
    """Makes stages: one gateway, a trial each."""
    made: list[Stage] = []
    shared: list[GatewayInjector] = []

    def make(
        *events: FaultEvent,
        clock: FakeClock | None = None,
        gateway: GatewayInjector | None = None,
        kinds: dict[str, KindSpec] | None = None,
        tell: Callable[[Any], None] | None = None,
    ) -> Stage:
        if gateway is None:
            shared[:] = shared or [gateways(upstream.url)]
            gateway = shared[0]
        clock = clock or FakeClock()
        hits: list[Any] = []
        told = threading.Event()

        def tell_here(hit: Any) -> None:
            hits.append(hit)
            told.set()

        tell = tell or tell_here
        trial_id = f"trial{len(made)}"
        labels = {"suite": "s", "task": "t", "seed": "1"}
        scene = Scene(trial_id, Cursor(events), kinds or made_up_kinds(), clock, tell, labels)
        made.append(Stage(trial_id, gateway.enter(scene), scene, clock, hits, told))
        return made[-1]

    yield make
    for stage in made:
        stage.pool.close()


@pytest.fixture
def event() -> Callable[..., FaultEvent]:
    """Makes events: of a kind, at an occurrence."""

    def make(kind: str, occurrence: int = 1, **fields: Any) -> FaultEvent:
        values: dict[str, Any] = {
            "injection_id": f"{kind}@{occurrence}",
            "layer": Layer.MODEL,
            "kind": kind,
            "point": "model:agent",
            "occurrence": occurrence,
        }
        return FaultEvent(**(values | fields))

    return make


@pytest.fixture
def wall() -> FakeClock:
    return FakeClock(ClockKind.WALL)
