"""Sandboxes on a real engine, each test with a run of its own; nothing of it may be left."""

import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from docker import APIClient

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import HostCommand, ImageSpec, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.testing.hosts import echo_command

IMAGE = ImageSpec(role="test", dockerfile="FROM base\n")

# Runs what it is sent and says what came of it: the tests look around from inside.
PROBE = """\
import ctypes, errno, glob, json, os, socket, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"], "ok": True}
    try:
        space = dict(globals())
        exec(asked["code"], space)
        answer["said"] = space.get("said")
    except Exception as error:
        answer.update(ok=False, error={"type": type(error).__name__, "message": str(error)})
    print(json.dumps(answer), flush=True)
"""

Command = Callable[..., HostCommand]
Make = Callable[..., DockerSandbox]


@pytest.fixture
def run() -> str:
    return f"test{secrets.token_hex(6)}"


@pytest.fixture
def left(engine: APIClient, run: str) -> Callable[..., list[str]]:
    """The names of all containers and networks of a run (by default the test's).

    A container that has ended is given its time to go: the engine removes it by itself.
    """

    def of(which: str = run) -> list[str]:
        filters = {"label": f"hfr.run={which}"}
        deadline = time.monotonic() + 60
        while True:
            containers = engine.containers(all=True, filters=filters)
            if all(c["State"] in ("running", "paused") for c in containers):
                break
            assert time.monotonic() < deadline, containers
            time.sleep(0.01)
        networks = engine.networks(filters=filters)
        return [c["Names"][0].strip("/") for c in containers] + [n["Name"] for n in networks]

    return of


@pytest.fixture
def make(run: str, left: Callable[..., list[str]]) -> Iterator[Make]:
    """Makes sandboxes, which are closed at the end; then nothing of theirs may be there."""
    made: list[DockerSandbox] = []

    def one(of: str = run, tell: Callable[[str], None] = print, **settings: Any) -> DockerSandbox:
        context = SandboxContext(run=of, owner=this_process(), tell=tell)
        made.append(DockerSandbox(context, **settings))
        return made[-1]

    yield one
    for sandbox in made:
        sandbox.close()
    assert left() == []


@pytest.fixture
def sandbox(make: Make) -> DockerSandbox:
    return make()


@pytest.fixture
def echo() -> Command:
    def command(**fields: Any) -> HostCommand:
        return echo_command(python="python3", **{"image": IMAGE, **fields})

    return command


@pytest.fixture
def probe() -> Command:
    """A host that answers `do` with what `code` leaves in `said`."""

    def command(program: str = PROBE, **fields: Any) -> HostCommand:
        return echo_command(program, python="python3", **{"image": IMAGE, **fields})

    return command


@pytest.fixture
def do() -> Callable[..., Any]:
    """Run code inside a probe host; what it leaves in `said`."""

    def ask(host: Any, code: str, timeout_s: float = 30) -> Any:
        return host.request("do", {"code": code}, timeout_s)["said"]

    return ask
