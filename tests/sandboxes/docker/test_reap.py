"""What a dead harness left is found and removed; what a living one has, or another run, is not."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from docker import APIClient

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import HostTimeoutError

pytestmark = pytest.mark.docker

OWNER = """
import sys
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import HostCommand, ImageSpec, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
sandbox = DockerSandbox(SandboxContext(run=sys.argv[1], owner=this_process()))
image = ImageSpec(role="test", dockerfile="FROM base\\n")
reads, hangs = "import sys; sys.stdin.read()", "import time; time.sleep(600)"
for program, network in ((reads, None), (hangs, "n")):
    sandbox.start(HostCommand(argv=("python3", "-c", program), image=image, network=network))
print("started", flush=True)
sys.stdin.read()
"""
"""A harness with two hosts: one that ends with it, and one, on a network, that hangs."""


@pytest.fixture
def harness() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    made: list[subprocess.Popen[str]] = []

    def start(run: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-c", OWNER, run]
        child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        made.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "started\n"
        return child

    yield start
    for child in made:
        child.kill()
        child.communicate()


def test_only_what_a_dead_owner_of_this_run_left_is_removed(
    make: Any, echo: Any, left: Any, run: str, harness: Any
) -> None:
    other = f"{run}-other"
    sandbox, child, stranger = make(), harness(run), harness(other)
    host = sandbox.start(echo())
    assert sandbox.reap() == ()  # its owner lives
    assert len(left()) == 2 + 1 + 1
    for harness_ in (child, stranger):
        harness_.kill()
        harness_.wait()
    names = sandbox.reap()
    assert len(set(names)) >= 2  # the host that hangs, and its network
    assert all(name.startswith(f"hfr-{run}-") for name in names)
    assert len(left()) == 1
    assert host.request("echo", {"text": "x"}, 30)["said"] == "x"
    assert sandbox.reap() == ()
    assert len(left(other)) >= 2
    make(other).reap()
    assert left(other) == []


def test_hosts_that_read_end_with_their_harness_all_by_themselves(
    left: Any, run: str, harness: Any, make: Any
) -> None:
    child = harness(run)
    child.kill()
    child.wait()
    deadline = time.monotonic() + 60
    while len(left()) > 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(left()) == 2  # the host that hangs, and its network
    make().reap()


def test_volumes_and_what_was_never_started_are_removed_too(
    make: Any, left: Any, run: str, engine: APIClient
) -> None:
    dead = f"{this_process().rpartition('/')[0]}/1"  # this process, but for its start
    labels = {"hfr.run": run, "hfr.owner": dead}
    sandbox = make()
    sandbox.reap()
    engine.create_volume(f"hfr-{run}-volume", labels=labels)
    engine.create_volume(f"hfr-{run}-kept", labels={**labels, "hfr.owner": this_process()})
    try:
        assert sandbox.reap() == (f"hfr-{run}-volume",)
    finally:
        engine.remove_volume(f"hfr-{run}-kept")


def test_a_host_that_hung_is_gone_after_its_timeout(sandbox: Any, echo: Any, left: Any) -> None:
    with pytest.raises(HostTimeoutError):
        sandbox.start(echo()).request("hang", {}, 0.1)
    assert left() == []
