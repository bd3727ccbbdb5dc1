"""`.ci/engine`: uses what answers, starts and stops only its own, never keeps a command waiting.

Each test has an engine home of its own, so that it never meets one that is in use.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

REPO = Path(__file__).resolve().parents[1]
SCRIPT = REPO / ".ci" / "engine"
ENGINE = ("HFR_BENCH_SANDBOX", "DOCKER_HOST", "HFR_ENGINE_HOME")

# What it takes to start a dockerd; elsewhere only the other roads can be tried.
CAN_START = os.geteuid() == 0 and all(map(shutil.which, ("apt-get", "dockerd", "unshare")))
starts = pytest.mark.skipif(not CAN_START, reason="needs root, apt-get and dockerd (docker.io)")

Script = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder with a short path (a socket's may have 107 bytes); its engine is stopped."""
    folder = Path(tempfile.mkdtemp(prefix="hfr-e-", dir="/tmp"))
    yield folder
    subprocess.run([SCRIPT, "clean"], env=environment(folder), check=True, capture_output=True)
    shutil.rmtree(folder)


@pytest.fixture
def script(home: Path) -> Script:
    """Start the script with arguments, and with more environment by keyword."""

    def start(*args: str, **more: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [SCRIPT, *args],
            env={**environment(home), **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def environment(home: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if name not in ENGINE}
    return {**clean, "HFR_ENGINE_HOME": str(home)}


def ended(child: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    out, err = child.communicate(timeout=240)
    return child.returncode, out, err


def soon(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not what():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.02)


def engine_of(home: Path) -> str:
    """The process id of the home's dockerd; "" if there is none."""
    try:
        pid = (home / "pid").read_text()
        command = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
    return pid if str(home) in command else ""


def lives(pid: str) -> bool:
    """Whether a process still runs; one that only waits for its parent does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def bare_path(folder: Path, *names: str) -> str:
    """A PATH with these programs only."""
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(str(shutil.which(name)))
    return str(folder)


def test_without_a_command_it_says_how_it_is_used(script):
    code, _, said = ended(script("with"))
    assert code == 2
    assert "usage: .ci/engine with CMD" in said


def test_no_engine_is_wanted_where_the_process_sandbox_is(script, home):
    code, out, said = ended(script("with", "sh", "-c", "echo ran", HFR_BENCH_SANDBOX="process"))
    assert (code, out, said) == (0, "ran\n", "")
    assert not list(home.iterdir())


def test_an_engine_that_was_named_and_is_dead_is_told_and_not_replaced(script, home):
    command = ("with", "sh", "-c", "echo $HFR_BENCH_SANDBOX; exit 7")
    code, out, said = ended(script(*command, DOCKER_HOST="unix:///nowhere.sock"))
    assert (code, out) == (7, "process\n")
    assert "NO CONTAINER ENGINE" in said
    assert "nothing answers at DOCKER_HOST=unix:///nowhere.sock" in said
    assert "apt install docker.io" in said
    assert not list(home.iterdir())


def test_who_asks_for_containers_is_not_given_processes(script):
    dead = {"DOCKER_HOST": "unix:///nowhere.sock", "HFR_BENCH_SANDBOX": "docker"}
    code, out, said = ended(script("with", "echo", "ran", **dead))
    assert (code, out) == (3, "")
    assert "NO CONTAINER ENGINE" in said


def test_where_none_may_be_started_the_command_runs_with_processes(script, tmp_path):
    path = bare_path(tmp_path / "bin", "bash", "dirname", "id", "cat", "sh")
    code, out, said = ended(script("with", "sh", "-c", "echo $HFR_BENCH_SANDBOX", PATH=path))
    assert (code, out) == (0, "process\n")
    assert "on Debian and Ubuntu only" in said or "only root may start one" in said


@pytest.mark.docker
def test_an_engine_that_answers_is_used_and_left_alone(script, home, engine):
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    code, out, said = ended(script("with", "sh", "-c", "echo $DOCKER_HOST", DOCKER_HOST=address))
    assert (code, out) == (0, f"{address}\n")
    assert "was running, and is left running" in said
    assert not list(home.iterdir())
    engine.ping()


@starts
def test_one_is_started_for_the_command_and_stopped_after_it(script, home):
    ask = f"{REPO}/.venv/bin/python -c 'import docker; docker.from_env().ping(); exit(7)'"
    code, _, said = ended(script("with", "sh", "-c", ask))
    assert code == 7
    assert "started Docker" in said
    assert "stopped" in said
    assert not (home / "pid").exists()
    assert not (home / "docker.sock").exists()
    assert (home / "data").is_dir()  # images are kept


@starts
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_reaches_the_command_and_the_engine_is_stopped(script, home, number, code):
    child = script("with", "sh", "-c", "touch $HFR_ENGINE_HOME/ready; exec sleep 600")
    soon((home / "ready").exists)
    pid = engine_of(home)
    assert pid
    child.send_signal(number)
    assert ended(child)[0] == code
    assert not engine_of(home)
    assert not lives(pid)


@starts
def test_an_interrupt_is_left_to_the_command(script, home):
    ends = "trap 'exit 130' INT; touch $HFR_ENGINE_HOME/ready; while :; do sleep 0.05; done"
    child = subprocess.Popen(
        [SCRIPT, "with", "sh", "-c", ends],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    soon((home / "ready").exists)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all of them at once
    assert child.wait(timeout=240) == 130
    assert not engine_of(home)


@starts
def test_two_commands_share_one_engine_and_the_last_one_out_stops_it(script, home):
    until = 'touch "$1"; while [ ! -e "$1.end" ]; do sleep 0.05; done'
    first = script("with", "sh", "-c", until, "sh", str(home / "first"))
    second = script("with", "sh", "-c", until, "sh", str(home / "second"))
    soon(lambda: (home / "first").exists() and (home / "second").exists())
    pid = engine_of(home)
    (home / "first.end").touch()
    assert ended(first)[0] == 0
    assert engine_of(home) == pid
    (home / "second.end").touch()
    assert ended(second)[0] == 0
    assert not engine_of(home)


@starts
def test_what_a_killed_command_left_is_adopted_and_stopped(script, home):
    child = script("with", "sh", "-c", "touch $HFR_ENGINE_HOME/ready; exec sleep 1")
    soon((home / "ready").exists)
    pid = engine_of(home)
    child.kill()
    child.communicate()
    assert engine_of(home) == pid
    code, _, said = ended(script("with", "true"))
    assert code == 0
    assert "was started here before" in said
    assert not engine_of(home)


@starts
def test_a_pid_file_of_somebody_else_is_not_in_the_way(script, home):
    (home / "pid").write_text(str(os.getpid()))
    (home / "docker.sock").touch()
    code, _, said = ended(script("with", "true"))
    assert code == 0
    assert "started Docker" in said


@starts
def test_an_engine_that_is_left_running_is_stopped_only_when_told(script, home):
    code, out, _ = ended(script("start"))
    assert (code, out) == (0, f"export DOCKER_HOST=unix://{home}/docker.sock\n")
    assert ended(script("with", "true"))[0] == 0
    assert engine_of(home)
    assert ended(script("stop"))[0] == 0
    assert not engine_of(home)


@starts
def test_an_engine_in_use_is_not_stopped(script, home):
    child = script("with", "sh", "-c", "touch $HFR_ENGINE_HOME/ready; exec sleep 600")
    soon((home / "ready").exists)
    code, _, said = ended(script("stop"))
    assert code == 1
    assert "in use" in said
    child.terminate()
    assert ended(child)[0] == 143


@starts
def test_our_engine_touches_neither_firewall_nor_bridges_of_the_machine(script, home):
    links = set(Path("/sys/class/net").iterdir())
    assert ended(script("start"))[0] == 0
    client = docker.DockerClient(base_url=f"unix://{home}/docker.sock")
    network = client.networks.create("inside", internal=True)
    assert set(Path("/sys/class/net").iterdir()) == links
    network.remove()
    client.close()
