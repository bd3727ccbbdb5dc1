"""Nothing that a command starts outlives what it should, however it hides."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.shell.client import Shell, command

CONTEXT = SandboxContext(run=f"test{os.getpid()}", owner=this_process())
SOON_S, LONG_S = 1.5, 60.0  # a busy machine starts half a dozen programs in the former

# Each writes its own pid to the file `pids` and sleeps.
SLEEPER = "sh -c 'echo $$ >> pids; exec sleep 120'"
HIDING = {
    "a child": f"{SLEEPER}; true",
    "in the background": f"{SLEEPER} & wait",
    "an orphan": f"( {SLEEPER} & ); sleep 120",
    "a session of its own": f"setsid -f {SLEEPER}; sleep 120",
    "without an environment": f"env -i PATH=$PATH setsid -f {SLEEPER}; sleep 120",
    "twice forked, its parents dead": f'( setsid -f sh -c "( {SLEEPER} & )" & ); sleep 120',
    "deaf to signals": "trap '' TERM INT HUP; echo $$ > pids; while :; do sleep 1; done",
    "stopped": f"{SLEEPER} & until [ -s pids ]; do :; done; kill -STOP $!; wait",
}

# Forks and exits for ever: whoever looks for it finds a process that is no more.
HOPPER = """
import os, time
for left in range(100_000):
    if os.fork():
        os._exit(0)
    time.sleep(0.0002)
    os.setsid() if left % 2 else None
"""


@pytest.fixture
def sandbox() -> Iterator[ProcessSandbox]:
    made = ProcessSandbox(CONTEXT)
    yield made
    made.close()


@pytest.fixture
def shell(sandbox: ProcessSandbox) -> Iterator[Shell]:
    made = Shell(sandbox.start(command(None)))
    yield made
    made.close()


def pids(shell: Shell) -> list[int]:
    return [int(pid) for pid in shell.read("pids").split()]


def there(pid: int) -> bool:
    """Whether there is such a process, dead or alive."""
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("script", HIDING.values(), ids=HIDING)
def test_nothing_outlives_the_timeout(shell: Shell, script: str):
    done = shell.exec("a", f"echo before; {script}", timeout_s=SOON_S)
    assert (done.exit_code, done.timed_out, done.stdout, done.left) == (None, True, "before\n", 0)
    assert pids(shell)
    assert not [pid for pid in pids(shell) if there(pid)]
    assert SOON_S * 1e6 <= done.wall_us < (SOON_S + 30) * 1e6
    recalled = shell.recall("a").executed
    assert recalled is not None
    assert recalled.timed_out


def test_who_forks_faster_than_one_looks_is_ended_too(shell: Shell):
    done = shell.exec("a", [sys.executable, "-ISc", HOPPER], timeout_s=SOON_S, kill_left=True)
    assert done.left == 0
    assert shell.processes() == ()


def test_a_server_lives_on_and_is_known_by_its_operation(shell: Shell):
    done = shell.exec("server", f"{SLEEPER} & until [ -s pids ]; do :; done", timeout_s=LONG_S)
    assert (done.exit_code, done.left) == (0, 1)
    (left,) = shell.processes()
    assert [left.pid] == pids(shell)
    assert (left.operation_id, left.command) == ("server", "sleep 120")
    shell.kill()
    assert not there(left.pid)
    assert shell.processes() == ()


def test_a_timeout_ends_no_server_of_an_earlier_run(shell: Shell):
    shell.exec(
        "server", f"( setsid -f {SLEEPER} ); until [ -s pids ]; do :; done", timeout_s=LONG_S
    )
    server = pids(shell)[0]
    shell.exec("server", "sleep 120 & setsid sleep 120", timeout_s=SOON_S)
    assert [left.pid for left in shell.processes()] == [server]


def test_a_server_that_goes_on_talking_is_not_ended_by_it(shell: Shell):
    talks = "while echo talk; do echo >> talked; done"
    shell.exec("server", f"( {talks} ) & until [ -s talked ]; do :; done", timeout_s=LONG_S)
    size = len(shell.read("talked"))
    until = time.monotonic() + LONG_S
    while len(shell.read("talked")) == size and time.monotonic() < until:
        shell.exec("look", "true", timeout_s=LONG_S)
    assert len(shell.processes()) == 1
    assert len(shell.read("talked")) > size


def test_what_is_left_is_ended_if_so_asked(shell: Shell):
    script = f"setsid -f {SLEEPER}; until [ -s pids ]; do :; done"
    done = shell.exec("a", script, timeout_s=LONG_S, kill_left=True)
    assert (done.exit_code, done.timed_out, done.left) == (0, False, 0)
    assert not there(pids(shell)[0])


def test_many_are_ended_in_time(shell: Shell):
    script = "for i in $(seq 200); do setsid sleep 120 & done; wait"
    done = shell.exec("a", script, timeout_s=2)
    assert (done.timed_out, done.wall_us < 60e6) == (True, True)
    assert shell.processes() == ()


def test_closing_the_shell_ends_all(sandbox: ProcessSandbox):
    shell = Shell(sandbox.start(command(None)))
    shell.exec("a", f"setsid -f {SLEEPER}; until [ -s pids ]; do :; done", timeout_s=LONG_S)
    (pid,) = pids(shell)
    shell.close()
    assert not there(pid)


def test_the_end_of_the_requests_ends_a_command_under_way(tmp_path: Path):
    """As if the harness had been killed: nobody is left to ask for anything."""
    made = command(None)
    env = {**os.environ, **made.env}
    host = subprocess.Popen(list(made.argv), stdin=subprocess.PIPE, cwd=tmp_path, env=env)
    assert host.stdin is not None
    script = f"setsid -f {SLEEPER}; sleep 120"
    line = '{"id": 1, "op": "exec", "operation_id": "a", "timeout_s": 120, "script": "%s"}\n'
    host.stdin.write((line % script).encode())
    host.stdin.flush()
    file = tmp_path / "work" / "pids"
    until = time.monotonic() + LONG_S
    while not (file.exists() and file.read_text()) and time.monotonic() < until:
        time.sleep(0.005)
    host.stdin.close()
    assert host.wait(LONG_S) == 0
    assert not there(int(file.read_text()))
