"""A real server on loopback whose answers a test writes, a clock, and clients."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hfr_bench.llms.openai_wire import ClientPool
from hfr_bench.model.attempt import Call
from hfr_bench.model.terms import Channel
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.llm import ModelScope
from hfr_bench.testing.fakes import FakeClock


class Service:
    """An HTTP/1.1 server: every POST is answered with (status, headers, body), or not at all.

    `hold`: it waits for that first. `drip`: it waits so many seconds, or for that, after each byte.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[dict[str, str], bytes]] = []
        self.reply: tuple[int, dict[str, str], bytes] | None = None
        self.hold: threading.Event | None = None
        self.drip: tuple[float, threading.Event] | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.seen.append((headers, body))
                if outer.hold is not None:
                    outer.hold.wait(20)
                if outer.reply is None:
                    self.close_connection = True
                    return
                status, extra, content = outer.reply
                self.send_response(status)
                for name, value in (extra | {"content-length": str(len(content))}).items():
                    self.send_header(name, value)
                self.end_headers()
                if outer.drip is None:
                    self.wfile.write(content)
                    return
                every_s, done = outer.drip
                for n in range(len(content)):
                    self.wfile.write(content[n : n + 1])
                    self.wfile.flush()
                    if done.wait(every_s):
                        self.close_connection = True
                        return

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        if self.hold is not None:
            self.hold.set()
        if self.drip is not None:
            self.drip[1].set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    server = Service()
    yield server
    server.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def pool() -> Iterator[ClientPool]:
    pool = ClientPool({"m": 10})
    yield pool
    pool.close()


@pytest.fixture
def client(service: Service, clock: FakeClock, pool: ClientPool) -> Callable[..., CallPort]:
    """Makes clients of the service; `announced`: what the gateway said of the last close."""

    def make(announced: int = 0, url: str | None = None) -> CallPort:
        scope = ModelScope("suite", "task", 3, clock, lambda: announced)
        return pool.client(url or service.url, scope)

    return make


@pytest.fixture
def call() -> Callable[..., Call]:
    def make(**fields: Any) -> Call:
        values: dict[str, Any] = {
            "step": 1,
            "point": "model:agent",
            "occurrence": 2,
            "attempt": 1,
            "channel": Channel.MODEL,
            "target": "m",
            "timeout_us": 1_000_000,
            "payload": {"messages": [{"role": "user", "content": "hi"}]},
        }
        return Call(**(values | fields))

    return make
