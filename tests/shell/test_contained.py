"""The shell host in a container: what a command can do to it, which is nothing."""

import secrets
from collections.abc import Iterator

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import HostRefusedError, ImageSpec, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.shell.client import Shell, command

pytestmark = pytest.mark.docker

IMAGE = ImageSpec(role="test", dockerfile="FROM base\n")
SOON_S, LONG_S = 1.0, 60.0
HOST = "$(cat /proc/1/task/1/children | cut -d' ' -f1)"  # the host is the first child of init

BOMB = "bomb() { bomb | bomb & bomb; }; bomb"
PTRACE = """
import ctypes, os
host = int(open("/proc/1/task/1/children").read().split()[0])
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, host, 0, 0), os.strerror(ctypes.get_errno()))
"""
ROOT = """
import os
for way in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0])):
    try:
        way()
    except PermissionError:
        print("refused")
"""


# One process that fills the container with sleepers, and takes every place that gets free.
FULL = """
import os, time
if not os.fork():
    while True:
        try:
            if not os.fork():
                time.sleep(600)
        except BlockingIOError:
            pass
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[DockerSandbox]:
    context = SandboxContext(run=f"test{secrets.token_hex(6)}", owner=this_process(), tell=print)
    made = DockerSandbox(context, memory_mib=256, scratch_mib=16)
    yield made
    made.close()


@pytest.fixture(scope="module")
def started(sandbox: DockerSandbox) -> Iterator[Shell]:
    made = Shell(sandbox.start(command(IMAGE)))
    yield made
    made.close()


@pytest.fixture
def shell(started: Shell) -> Shell:
    """The same host for all, as a warm pool would have it."""
    started.reset()
    return started


def said(shell: Shell, what: str | list[str]) -> str:
    done = shell.exec(secrets.token_hex(4), what, timeout_s=LONG_S)
    return done.stdout + done.stderr


def test_commands_run_as_another_user_without_any_right(shell: Shell):
    hello = shell.hello()
    assert (hello["separate"], hello["uid"], hello["gid"]) == (True, 1000, 1000)
    assert said(shell, "id -u; id -g; id -G; echo $HOME; pwd") == (
        "1000\n1000\n1000\n/sandbox\n/sandbox\n"
    )
    status = said(shell, "grep -E '^(Cap|NoNewPrivs)' /proc/self/status")
    rights = dict(line.split(":\t") for line in status.splitlines())
    assert rights.pop("NoNewPrivs") == "1"
    bounded = rights.pop("CapBnd")
    assert bounded == "00000000000000e0"  # KILL, SETGID, SETUID: of no use to it
    assert set(rights.values()) == {"0" * 16}


@pytest.mark.parametrize(
    "what", ["ls M", "rm -rf M", "mv M /run/x", "mkdir /run/x", "touch M/x", "chmod 777 M"]
)
def test_markers_can_be_neither_read_nor_forged(shell: Shell, what: str):
    shell.exec("a", "true", timeout_s=LONG_S)
    answer = said(shell, what.replace("M", "/run/hfr-shell"))
    assert "Permission denied" in answer or "not permitted" in answer
    assert (shell.recall("a").state, shell.recall("a").runs) == ("done", 1)


def test_the_host_cannot_be_touched(shell: Shell):
    for what in (f"kill -9 {HOST}", f"kill -STOP {HOST}", "kill -9 1"):
        assert "not permitted" in said(shell, what)
    for what in (f"ls /proc/{HOST}/fd", f"head -c 1 /proc/{HOST}/mem", f"cat /proc/{HOST}/environ"):
        assert "Permission denied" in said(shell, what)
    assert said(shell, ["python3", "-c", PTRACE]) == "-1 Operation not permitted\n"
    said(shell, "kill -9 -1")
    assert shell.hello()["ok"]


def test_root_cannot_be_regained(shell: Shell):
    assert said(shell, ["python3", "-c", ROOT]) == "refused\n" * 3
    ways = "su -c id root < /dev/null; unshare -rU id; setpriv --reuid 0 id"
    assert "uid=0" not in said(shell, ways)


def test_files_are_touched_with_a_commands_rights(shell: Shell):
    shell.write("/tmp/mine", b"1")
    assert said(shell, "stat -c '%u %g' /tmp/mine") == "1000 1000\n"
    for path in ("/etc/shadow", "/run/hfr-shell"):
        with pytest.raises(HostRefusedError, match="PermissionError"):
            shell.read(path)
    with pytest.raises(HostRefusedError, match="PermissionError"):
        shell.write("/run/x", b"1")
    assert said(shell, "id -u") == "1000\n"


def test_a_fork_bomb_ends_with_its_timeout(shell: Shell):
    for _ in range(3):
        done = shell.exec("bomb", BOMB, timeout_s=SOON_S)
        assert (done.exit_code, done.timed_out, done.left) == (None, True, 0)
        assert done.wall_us < (SOON_S + 40) * 1e6
    assert shell.processes() == ()
    assert said(shell, "echo alive") == "alive\n"


def test_where_no_process_is_to_be_had_a_command_is_told(shell: Shell):
    shell.exec("many", ["python3", "-c", FULL], timeout_s=LONG_S)
    tries = (shell.exec("one more", ["true"], timeout_s=LONG_S) for _ in range(1000))
    done = next(done for done in tries if done.exit_code)
    assert done.exit_code == 126
    assert done.stderr == "shell host: cannot start: Resource temporarily unavailable\n"
    shell.reset()
    assert said(shell, "echo alive") == "alive\n"


def test_memory_ends_for_the_command_and_not_for_the_host(shell: Shell):
    hog = ["python3", "-c", "x = []\nwhile True: x.append(bytearray(b'x') * (1 << 24))"]
    assert shell.exec("hog", hog, timeout_s=LONG_S).exit_code == 137
    assert said(shell, "echo alive") == "alive\n"


def test_a_reset_finds_whatever_a_command_may_leave(shell: Shell):
    clean = shell.reset()
    script = """
        mkdir -p /tmp/a/b /dev/shm/c; chmod 0 /tmp/a; touch /sandbox/.x; echo 1 > /dev/shm/c/d
        (setsid sleep 60 &); mkfifo /tmp/p; head -c 99999999 /dev/zero > /tmp/full
    """
    shell.exec("a", script, timeout_s=LONG_S)
    assert shell.reset() == clean
    assert said(shell, "ls -A /tmp /sandbox /dev/shm") == "/dev/shm:\n\n/sandbox:\n\n/tmp:\n"
    assert shell.processes() == ()


def test_a_reset_fails_over_what_it_cannot_remove(sandbox: DockerSandbox):
    shell = Shell(sandbox.start(command(IMAGE)))
    queue = "import ctypes; print(ctypes.CDLL(None).msgget(7, 0o1600))"
    said(shell, ["python3", "-c", queue])
    with pytest.raises(HostRefusedError, match=r"reset_failed: left behind: System V msg 0"):
        shell.reset()
    shell.close()
