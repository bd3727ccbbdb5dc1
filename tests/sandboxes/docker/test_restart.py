"""A container started anew: what it keeps, what is gone, and nothing of it left in the end."""

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from docker import APIClient

from hfr_bench.errors import InfrastructureError
from hfr_bench.ports.sandbox import HostDiedError, LeaveFile, Restart
from hfr_bench.shell.client import Shell, command

from .conftest import IMAGE, Make

pytestmark = pytest.mark.docker

LONG_S = 30.0
COMMAND = command(IMAGE, persists=True)

# A process that leaves a container behind which keeps folders, started anew, and says so.
LEAVES = """\
import sys, time
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import ImageSpec, Restart, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.shell.client import command
sandbox = DockerSandbox(SandboxContext(sys.argv[1], this_process()))
host = sandbox.start(command(ImageSpec(role="test", dockerfile="FROM base\\n"), persists=True))
host.inflict(Restart())
print("started anew", flush=True)
time.sleep(600)
"""


@pytest.fixture
def host(make: Make) -> Any:
    return make().start(COMMAND)


def volumes(engine: APIClient, run: str) -> list[Any]:
    return engine.volumes(filters={"label": f"hfr.run={run}"})["Volumes"] or []


def test_it_keeps_its_folders_and_forgets_all_else(host: Any) -> None:
    shell = Shell(host)
    left = "echo a > kept; echo b > /tmp/gone; sleep 300 & echo $!"
    assert shell.exec("a", left, timeout_s=LONG_S).left == 1
    host.inflict(Restart())
    assert host.look("/sandbox", "").restarted
    host.heal()
    assert not host.look("/sandbox", "").restarted
    recalled = shell.recall("a")
    assert (recalled.state, recalled.runs) == ("done", 1)
    seen = shell.exec("b", "cat kept; ls /tmp; ps -e 2>/dev/null | grep -c sleep", timeout_s=LONG_S)
    assert seen.stdout == "a\n0\n"
    assert shell.processes() == ()


def test_what_it_keeps_has_a_size_and_its_notes_are_out_of_reach(host: Any) -> None:
    shell = Shell(host)
    assert 0 < host.look("/sandbox", "").free_kib <= 256 << 10
    seen = shell.exec("a", "ls /run/hfr-shell; rm -r /run/hfr-shell", timeout_s=LONG_S)
    assert seen.exit_code != 0
    assert seen.stderr.count("Permission denied") + seen.stderr.count("busy") >= 2
    shell.reset()
    assert shell.recall("a").state == "absent"


def test_its_volumes_are_labelled_and_go_with_it(host: Any, engine: APIClient, run: str) -> None:
    assert [one["Labels"]["hfr.run"] for one in volumes(engine, run)] == [run, run]
    host.inflict(Restart())
    containers = engine.containers(all=True, filters={"label": f"hfr.run={run}"})
    assert len(containers) == 1  # who held the volumes meanwhile is gone
    host.close()
    assert volumes(engine, run) == []
    with pytest.raises(HostDiedError):
        host.inflict(Restart())


@pytest.fixture
def leaver(run: str) -> Iterator["subprocess.Popen[str]"]:
    child = subprocess.Popen([sys.executable, "-c", LEAVES, run], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "started anew\n"
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def test_killed_it_is_removed_by_the_next_start_with_its_volumes(
    leaver: "subprocess.Popen[str]", run: str, engine: APIClient, make: Make
) -> None:
    leaver.kill()
    leaver.wait()
    assert len(volumes(engine, run)) == 2
    sandbox = make()
    deadline = time.monotonic() + 60
    while sandbox.reap():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert volumes(engine, run) == []
    assert engine.containers(all=True, filters={"label": f"hfr.run={run}"}) == []


def test_a_file_is_left_for_its_folders_owner_and_stays_until_all_is_healed(host: Any) -> None:
    shell = Shell(host)
    shell.exec("a", "mkdir mine", timeout_s=LONG_S)
    host.inflict(LeaveFile("/sandbox/mine/lock"))
    host.heal(everything=False)
    assert not host.standing
    assert host.look("/sandbox", "").left
    host.heal()
    assert not host.look("/sandbox", "").left
    host.inflict(LeaveFile("/sandbox/mine/lock"))
    assert shell.exec("b", "rm mine/lock", timeout_s=LONG_S).exit_code == 0
    assert not host.look("/sandbox", "").left
    shell.exec("c", "rm -r mine", timeout_s=LONG_S)
    host.heal()  # where its folder is gone there is nothing to remove
    with pytest.raises(InfrastructureError, match="exit code 1"):
        host.inflict(LeaveFile("/sandbox/mine/lock"))
