"""A provider on loopback that fails as its address says, and the libraries that call it.

The libraries are large and not ours to depend on, so that they run in an interpreter of their own
(`make libraries`, `testing/libraries.py`).
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.model.attempt import Attempted, Intent, Observation, StepView
from hfr_bench.model.terms import Action, Channel, SideEffect
from hfr_bench.ports.strategy import Strategy
from hfr_bench.testing.fakes import lost, refused

CALLER = Path(__file__).with_name("caller.py")
TIMEOUT_S = 2.0
ERROR = json.dumps({"error": {"message": "no", "type": "x", "code": "x"}})


def _error(code: str) -> str:
    return json.dumps({"error": {"message": code, "type": code, "code": code}})


ANSWERS: Mapping[str, tuple[Observation, ...]] = {
    **{
        str(status): (refused(status, ERROR),)
        for status in (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529)
    },
    "429 after 2": (refused(429, ERROR, retry_after="2"),),
    "429 after 0.5": (refused(429, ERROR, retry_after="0.5"),),
    "429 after 61": (refused(429, ERROR, retry_after="61"),),
    "429 after 121": (refused(429, ERROR, retry_after="121"),),
    "429 after 3, then 1": tuple(refused(429, ERROR, retry_after=s) for s in ("3", "1", "1")),
    "429 ms": (refused(429, ERROR, retry_after_ms="1500", retry_after="9"),),
    "429 quota": (refused(429, _error("insufficient_quota")),),
    "400 context": (refused(400, _error("context_length_exceeded")),),
    "400 policy": (refused(400, _error("content_policy_violation")),),
    "503 after 2": (refused(503, ERROR, retry_after="2"),),
    "503, do not": (refused(503, ERROR, x_should_retry="false"),),
    "400, do": (refused(400, ERROR, x_should_retry="true"),),
    "unreadable": (refused(200, "{"),),
    "no answer": (lost("Timeout"),),
    "closed": (lost("ConnectionClosed"),),
}
"""What the provider answers by the case's name, call by call; the last one again for ever."""

PATIENT = ("sdk", "completion-openai")
"""Libraries that wait for two minutes where they are told to: too long for a test."""


def cases(kind: str) -> list[str]:
    """What a library meets."""
    return [case for case in ANSWERS if not (kind in PATIENT and case == "429 after 61")]


@dataclass
class Provider:
    """Where it listens, and when it was called, by case (monotonic seconds)."""

    url: str = ""
    hits: dict[str, list[float]] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        called = time.monotonic()
        self.rfile.read(int(self.headers.get("content-length", 0)))
        run, number = self.path.split("/")[1:3]
        case = cases(run)[int(number)]
        hits = self.server.provider.hits.setdefault(f"{run}/{case}", [])
        hits.append(called)
        script = ANSWERS[case]
        seen = script[min(len(hits), len(script)) - 1]
        if seen.exception == "Timeout":
            time.sleep(TIMEOUT_S + 1)
        if seen.exception:
            self.close_connection = True
            return
        body = seen.body.encode()
        self.send_response(seen.status)
        for name, value in seen.headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A client that has gone away is what some cases are about."""


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.provider = Provider(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.provider
    server.shutdown()
    server.server_close()


@dataclass(frozen=True)
class Heard:
    """How often a library called, its waits between calls, and the wait before it gave up (s)."""

    hits: int
    waits_s: tuple[float, ...]
    last_s: float


Call = Callable[[str], Mapping[str, Heard]]


@pytest.fixture(scope="session")
def library(provider: Provider, call_library: Callable[..., dict[str, Any]]) -> Call:
    """Let a library (`caller.py` names them) meet every case; what the provider saw of it."""

    @cache
    def call(kind: str) -> Mapping[str, Heard]:
        asked = {"kind": kind, "url": provider.url, "cases": cases(kind), "timeout_s": TIMEOUT_S}
        told = call_library(CALLER, asked, 200)
        hits = {case: provider.hits[f"{kind}/{case}"] for case in told}
        return {case: _heard(hits[case], case, ended) for case, ended in told.items()}

    return call


def _heard(hits: list[float], case: str, ended: float) -> Heard:
    lasts = TIMEOUT_S if ANSWERS[case][0].exception == "Timeout" else 0.0
    waits = [b - a - lasts for a, b in zip(hits, [*hits[1:], ended], strict=True)]
    return Heard(len(hits), tuple(waits[:-1]), waits[-1])


@dataclass(frozen=True)
class Expected:
    """What a strategy does in a case: hits, and each wait as a range over its chance (s)."""

    hits: int
    waits_s: tuple[tuple[float, float], ...]
    last_s: tuple[float, float]


def expected(make: Callable[[int], Strategy], case: str, draws: int = 200) -> Expected:
    """Let a strategy meet a case many times over; `make` takes what keys its chance."""
    runs = [_waits(make(number), ANSWERS[case]) for number in range(draws)]
    assert len({len(run) for run in runs}) == 1, "chance changes the number of calls"
    ranges = [(min(wait) / 1e6, max(wait) / 1e6) for wait in zip(*runs, strict=True)]
    return Expected(len(ranges), tuple(ranges[:-1]), ranges[-1])


def _waits(strategy: Strategy, script: tuple[Observation, ...]) -> list[int]:
    """The waits after each call, the last one included, in us."""
    state, waits = strategy.begin(), []
    for attempt in range(1, 50):
        seen = script[min(attempt, len(script)) - 1]
        state, decision = strategy.decide(state, Attempted(view(attempt), seen))
        waits.append(decision.delay_us)
        if decision.action is not Action.RETRY:
            return waits
    raise AssertionError("no end after 50 attempts")


def view(attempts: int, channel: Channel = Channel.MODEL, **fields: Any) -> StepView:
    """A step of a model that has been tried so often."""
    intent = Intent("i", channel, "m", SideEffect.READ, "d", "", "")
    known = {"step": 1, "target": "m", "now_us": 0, "deadline_us": 600_000_000}
    return StepView(**{**known, "intent": intent, "point": "p", "attempts": attempts, **fields})


def agrees(heard: Heard, rule: Expected, slack_s: float = 4.0, late_s: float = 0.5) -> str:
    """Why the library and the rule differ; "" if they do not.

    A busy machine's delays: `slack_s` until a call is made, `late_s` until the provider notes it,
    by which the wait after it seems the shorter.
    """
    if heard.hits != rule.hits:
        return f"{heard.hits} hits, not {rule.hits}"
    pairs = zip((*heard.waits_s, heard.last_s), (*rule.waits_s, rule.last_s), strict=True)
    for number, (waited, (low, high)) in enumerate(pairs, 1):
        if not low - late_s <= waited <= high + slack_s:
            return f"wait {number} took {waited:.2f} s, not {low:.2f} to {high:.2f}"
    return ""
