"""Every fault is made, is felt inside, and is undone."""

import time
from typing import Any

import pytest
from docker import APIClient

from hfr_bench.errors import InfrastructureError
from hfr_bench.ports.sandbox import (
    Disconnect,
    FillDisk,
    HostDiedError,
    HostTimeoutError,
    Kill,
    Limit,
    Pause,
)

pytestmark = pytest.mark.docker

CHILD = """
children = globals()["__builtins__"].__dict__.setdefault("children", [])
children.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600) # a worker"]))
said = children[0].pid
while b"worker" not in open(f"/proc/{said}/cmdline", "rb").read(): pass  # soon after it has begun
"""
STATE = "said = open('/proc/{}/stat').read().rsplit(')', 1)[1].split()[0]"
FREE = "said = os.statvfs('/tmp').f_bavail * os.statvfs('/tmp').f_frsize >> 10"


def test_a_paused_host_does_not_answer_and_does_again(sandbox: Any, echo: Any) -> None:
    host = sandbox.start(echo())
    host.inflict(Pause())
    with pytest.raises(InfrastructureError, match="cannot be made"):
        host.inflict(Pause())
    host.heal()
    host.heal()
    assert host.request("echo", {"text": "x"}, 30)["said"] == "x"


def test_a_paused_host_meets_its_timeout_and_is_removed(sandbox: Any, echo: Any, left: Any) -> None:
    host = sandbox.start(echo())
    host.inflict(Pause())
    began = time.monotonic()
    with pytest.raises(HostTimeoutError):
        host.request("echo", {"text": "x"}, 0.2)
    assert time.monotonic() - began < 30
    assert left() == []
    host.heal()  # nothing is left to be healed


def test_one_process_is_paused(sandbox: Any, probe: Any, do: Any) -> None:
    host = sandbox.start(probe())
    pid = do(host, CHILD)

    def state() -> Any:
        return do(host, STATE.format(pid))

    host.inflict(Pause("a worker"))
    assert state() == "T"  # at once: until it stops it is waited for
    host.heal()
    deadline = time.monotonic() + 60
    while state() != "S":  # it sleeps again only when it is next given a processor
        assert time.monotonic() < deadline


def test_one_process_is_killed_and_the_host_lives(sandbox: Any, probe: Any, do: Any) -> None:
    host = sandbox.start(probe())
    do(host, CHILD)
    host.inflict(Kill("a worker"))
    host.heal()
    assert do(host, "said = children[0].wait(20)") == -9
    with pytest.raises(InfrastructureError, match="no process in the container matches 'a worker'"):
        host.inflict(Kill("a worker"))


@pytest.mark.parametrize("match", ["", "python3 -I"])
def test_a_killed_host_is_said_to_be(sandbox: Any, echo: Any, match: str) -> None:
    host = sandbox.start(echo())
    host.inflict(Kill(match))
    with pytest.raises(HostDiedError, match=r"killed \(exit code 137\) by an injected fault"):
        host.request("echo", {"text": "x"}, 30)
    host.heal()
    with pytest.raises(HostDiedError):
        host.inflict(Kill())


def test_memory_is_tightened_and_given_back(make: Any, probe: Any, do: Any) -> None:
    host = make(memory_mib=256).start(probe())
    take = "subprocess.run([sys.executable, '-c', 'x = b\"x\" * (100 << 20)']).returncode"
    host.inflict(Limit(memory_mib=48))
    assert do(host, f"said = {take}") == -9
    host.heal()
    assert do(host, f"said = {take}") == 0


def test_processors_and_processes_are_tightened_and_given_back(
    sandbox: Any, probe: Any, do: Any, engine: APIClient
) -> None:
    host = sandbox.start(probe())

    def cpus() -> float:
        limits = engine.inspect_container(host.container)["HostConfig"]
        return float(limits["NanoCpus"] / 1e9)

    fork = "said = subprocess.run(['true']).returncode"
    host.inflict(Limit(cpus=0.1, pids=2))
    with pytest.raises(InfrastructureError, match="BlockingIOError"):
        do(host, fork)
    assert cpus() == 0.1
    host.heal()
    assert cpus() == 1
    assert do(host, fork) == 0


def test_a_host_is_taken_off_its_network_and_comes_back(sandbox: Any, probe: Any, do: Any) -> None:
    server = sandbox.start(probe(network="n", alias="server"))
    client = sandbox.start(probe(network="n", alias="client"))
    names = "said = sorted(name for _, name in socket.if_nameindex())"
    server.inflict(Disconnect())
    assert do(server, names) == ["lo"]
    server.heal()
    assert do(server, names) == ["eth1", "lo"]
    assert do(client, "said = bool(socket.gethostbyname('server'))")


def test_a_host_on_no_network_cannot_be_taken_off(sandbox: Any, echo: Any) -> None:
    with pytest.raises(InfrastructureError, match="it is on no network"):
        sandbox.start(echo()).inflict(Disconnect())


def test_the_disk_is_filled_and_emptied(make: Any, probe: Any, do: Any) -> None:
    host = make(scratch_mib=4).start(probe())
    before = do(host, FREE)
    host.inflict(FillDisk(leave_kib=100))
    assert 96 <= do(host, FREE) <= 100
    host.inflict(FillDisk())
    assert do(host, FREE) == 0
    with pytest.raises(InfrastructureError, match="No space left"):
        do(host, "open('/tmp/mine', 'wb', buffering=0).write(b'x')")
    host.heal()
    do(host, "os.remove('/tmp/mine')")
    assert do(host, FREE) == before


def test_a_disk_that_cannot_be_filled_is_said(sandbox: Any, echo: Any) -> None:
    with pytest.raises(InfrastructureError, match="exit code"):
        sandbox.start(echo()).inflict(FillDisk(path="/usr"))
