"""A server that will not end is ended, with all of its group, however the proxy ends."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.trace import TraceEvent

from .rigs import event, schedule_of

STUBBORN = Path(__file__).parent / "stubborn.py"
PATIENCE_S = 60.0


class Proxy:
    """`hfr-bench mcp` in front of the stubborn server, as a client starts it."""

    def __init__(self, tmp: Path, *events: FaultEvent, options: tuple[str, ...] = ()) -> None:
        self.log = tmp / "log.jsonl"
        schedule, self._pids = tmp / "schedule.jsonl", tmp / "pids"
        schedule.write_text(schedule_of(events).dumps() + "\n", encoding="utf-8")
        command = ["-m", "hfr_bench", "mcp", "--schedule", str(schedule), "--log", str(self.log)]
        server = ["--", sys.executable, "-S", str(STUBBORN), str(self._pids)]
        server = [] if "--upstream" in options else server
        self.process = subprocess.Popen(
            [sys.executable, *command, *options, *server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def send(self, number: int) -> None:
        params = {"name": "buy", "arguments": {}}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, object]:
        assert self.process.stdout is not None
        found: dict[str, object] = json.loads(self.process.stdout.readline())
        return found

    @property
    def servers(self) -> list[int]:
        return [int(pid) for pid in self._pids.read_text(encoding="ascii").split()]

    def end(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said


@contextmanager
def started(tmp: Path, *events: FaultEvent) -> Iterator[Proxy]:
    proxy = Proxy(tmp, *events)
    try:
        proxy.send(1)
        assert proxy.answer()["id"] == 1  # so the server is there
        assert all(alive(pid) for pid in proxy.servers)
        yield proxy
        assert gone(*proxy.servers)
    finally:
        proxy.process.kill()
        proxy.process.communicate()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def gone(*pids: int) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        os.sched_yield()
    return not any(alive(pid) for pid in pids)


def test_the_client_leaves(tmp_path):
    lost = event("tool_outcome_unknown", "buy", 2, lands=True)
    with started(tmp_path, lost, event("tool_5xx", "buy", 9)) as proxy:
        proxy.send(2)
        proxy.send(3)  # the same call after a failed one: its next attempt
        assert proxy.answer()["id"] == 3
        code, said = proxy.end()
    assert code == 0, said
    assert "delivered 1 of 1 faults that were reached" in said
    lines = proxy.log.read_text(encoding="utf-8").splitlines()
    hits = [b for line in lines if (b := TraceEvent.loads(line).body).type == "upstream_hit"]
    assert [(hit.occurrence, hit.attempt) for hit in hits] == [(1, 1), (2, 1), (2, 2)]


@pytest.mark.parametrize("name", [pytest.param("SIGTERM", marks=pytest.mark.slow), "SIGKILL"])
def test_the_proxy_is_ended(name, tmp_path):
    with started(tmp_path) as proxy:
        proxy.process.send_signal(getattr(signal, name))
        code, said = proxy.end()
        assert code == (-signal.SIGKILL if name == "SIGKILL" else 0), said


def test_the_kill_switch(tmp_path):
    """No further fault; messages pass on."""
    with started(tmp_path, event("tool_5xx", "buy", 2), event("tool_5xx", "buy", 3)) as proxy:
        proxy.send(2)
        assert proxy.answer()["result"]["isError"] is True
        proxy.process.send_signal(signal.SIGUSR1)
        assert proxy.process.stderr is not None
        assert "no further fault" in proxy.process.stderr.readline()
        for number in (3, 4):
            proxy.send(number)
            assert "isError" not in proxy.answer()["result"]
        proxy.process.send_signal(signal.SIGINT)  # and ^C ends it
        code, said = proxy.end()
    assert code == 130
    assert "stopped by SIGUSR1" in said


def post(url: str, method: str, params: dict[str, object]) -> int:
    """The status that a request over HTTP gets."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(message).encode(), accept)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            answer.read()  # a stream's head comes before its answer
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_clients_over_http(tmp_path):
    """The address is told on stdout; a server that is not there is no fault of ours."""
    options = ("--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:9/mcp")
    proxy = Proxy(tmp_path, event("tool_5xx", "buy"), options=options)
    try:
        assert proxy.process.stdout is not None
        url = proxy.process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        assert url.endswith("/mcp")
        assert post(url, "tools/call", {"name": "buy"}) == 503
        assert post(url, "tools/call", {"name": "other"}) == 502
        proxy.process.send_signal(signal.SIGTERM)
        code, said = proxy.end()
    finally:
        proxy.process.kill()
        proxy.process.communicate()
    assert code == 0, said
    assert "delivered 1 of 1 faults" in said
    assert "1 calls failed by themselves" in said


@pytest.mark.slow
def test_a_command_for_clients_over_http(tmp_path):
    proxy = Proxy(tmp_path, options=("--listen", "127.0.0.1:0"))
    try:
        assert proxy.process.stdout is not None
        url = proxy.process.stdout.readline().strip()
        assert post(url, "initialize", {}) == 200
        servers = proxy.servers
        assert all(alive(pid) for pid in servers)
        proxy.process.send_signal(signal.SIGTERM)
        code, said = proxy.end()
        assert code == 0, said
        assert gone(*servers)
    finally:
        proxy.process.kill()
        proxy.process.communicate()
