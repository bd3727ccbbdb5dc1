"""Faults aimed at one process at its work, and at one peer; and what is seen from outside."""

import time
from typing import Any

import pytest

from hfr_bench.errors import InfrastructureError
from hfr_bench.ports.sandbox import (
    FillDisk,
    HostDiedError,
    HostState,
    HostTimeoutError,
    Kill,
    Partition,
    Pause,
)

pytestmark = pytest.mark.docker

WORKS = """
program = 'import time; time.sleep({}) # job 7'
said = subprocess.run([sys.executable, '-c', program]).returncode
"""
REACHED_S, CUT_S = 20, 0.3
REACH = """
try:
    said = socket.create_connection(('server', {port}), {patience_s}).close() or 'reached'
except OSError as error:
    said = type(error).__name__
"""
SERVE = """
keep = globals()['__builtins__'].__dict__.setdefault('keep', [])
keep += [socket.create_server(('', port)) for port in (8080, 8081)]
"""


def seen(host: Any, match: str = "") -> HostState:
    state: HostState = host.look("/tmp", match)
    return state


def test_a_process_is_killed_once_it_has_begun(sandbox: Any, probe: Any, do: Any) -> None:
    host = sandbox.start(probe())
    host.inflict(Kill("job 7", 50))
    assert (seen(host, "job 7").watched, seen(host, "job 7").struck) == (True, 0)
    assert do(host, WORKS.format(20)) == -9
    assert seen(host, "job 7").struck == 1
    assert host.standing
    host.heal()
    assert not host.standing
    assert do(host, WORKS.format(0)) == 0


def test_one_that_is_over_by_then_is_not_hit(sandbox: Any, probe: Any, do: Any) -> None:
    host = sandbox.start(probe())
    host.inflict(Kill("job 7", 60_000))
    assert do(host, WORKS.format(0)) == 0
    host.heal()
    assert seen(host, "job 7").struck == 0


def test_a_process_is_stopped_at_its_work_and_let_go(sandbox: Any, probe: Any, do: Any) -> None:
    host = sandbox.start(probe())
    do(host, "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60) # job 7'])")
    host.inflict(Pause("job 7", 0))
    deadline = time.monotonic() + 60
    while not seen(host, "job 7").stopped:
        assert time.monotonic() < deadline
    assert (seen(host, "job 7").at_work, seen(host, "job 8").at_work) == (1, 0)
    host.heal()
    assert (seen(host, "job 7").at_work, seen(host, "job 7").stopped) == (1, 0)


def test_one_port_of_one_peer_is_out_of_reach(sandbox: Any, probe: Any, do: Any) -> None:
    server = sandbox.start(probe(network="n", alias="server"))
    client = sandbox.start(probe(network="n", alias="client"))
    do(server, SERVE)
    client.inflict(Partition("server", 8080))
    (cut,) = seen(client).cut
    if cut == "*":
        pytest.skip("no rules can be made here: not root on the engine's machine, or no iptables")
    assert cut.endswith(":8080")
    assert do(client, REACH.format(port=8080, patience_s=CUT_S)) == "TimeoutError"
    assert do(client, REACH.format(port=8081, patience_s=REACHED_S)) == "reached"
    client.heal()
    assert do(client, REACH.format(port=8080, patience_s=REACHED_S)) == "reached"
    assert seen(client).cut == ()
    client.inflict(Partition("server"))
    assert do(client, REACH.format(port=8081, patience_s=CUT_S)) == "TimeoutError"
    with pytest.raises(InfrastructureError, match="no peer 'nobody'"):
        client.inflict(Partition("nobody"))


def test_without_rules_the_host_goes_off_its_network(
    sandbox: Any, probe: Any, do: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.start(probe(network="n", alias="server"))
    client = sandbox.start(probe(network="n", alias="client"))
    monkeypatch.setenv("PATH", "/nowhere")
    client.inflict(Partition("server", 8080))
    assert seen(client).cut == ("*",)
    client.heal()
    assert seen(client).cut == ()


def test_what_is_seen_of_a_host(make: Any, echo: Any) -> None:
    host = make(memory_mib=256, scratch_mib=4).start(echo())
    assert seen(host) == HostState(memory_mib=256, free_kib=4096, oom_kills=0)
    host.inflict(FillDisk())
    assert seen(host).free_kib == 0
    host.heal()
    host.inflict(Pause())
    assert seen(host) == HostState(paused=True, memory_mib=256)
    host.close()
    with pytest.raises(HostDiedError, match="cannot be looked at"):
        seen(host)


def test_a_request_may_be_given_more_time_while_a_fault_stands(sandbox: Any, echo: Any) -> None:
    host = sandbox.start(echo())
    host.patience_s = 60.0
    assert host.request("echo", {"text": "x"}, 5)["said"] == "x"
    host.inflict(Pause())
    began = time.monotonic()
    host.patience_s = 0.5
    with pytest.raises(HostTimeoutError):
        host.request("echo", {"text": "x"}, 0.2)
    assert time.monotonic() - began >= 0.7
