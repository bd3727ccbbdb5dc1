"""The watch that is set in a container, run beside processes of ours: whom it strikes, and when."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench.sandboxes.docker.inside import _WATCH

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

LONG_MS = 60_000
PATIENCE_S = 30


class Scene:
    """A watch for one process, and that process: a shell that stops itself where it is watched."""

    def __init__(self, folder: Path) -> None:
        self.match = f"watched-{secrets.token_hex(8)};"
        self.hold = folder / self.match
        self._made: list[subprocess.Popen[str]] = []

    def watch(self, number: int, after_ms: int = LONG_MS, *, holds: bool = True) -> "Popen":
        env = {
            "HFR_MATCH": self.match,
            "HFR_SIGNAL": str(int(number)),
            "HFR_AFTER_MS": str(after_ms),
            "HFR_HOLD": str(self.hold) if holds else "",
        }
        made = self._start([sys.executable, "-I", "-S", "-c", _WATCH], env)
        assert made.stdout is not None
        assert made.stdout.readline() == "watching\n"
        return made

    def shell(self, work: str = "echo done") -> "Popen":
        held = f"trap '[ ! -e \"{self.hold}\" ] || kill -STOP $$' EXIT"
        return self._start(["/bin/bash", "-c", f"{held}\n{work}"], {})

    def _start(self, argv: list[str], env: dict[str, str]) -> "Popen":
        made = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], **env},
        )
        self._made.append(made)
        return made

    def end(self) -> None:
        for one in self._made:
            one.kill()
            one.communicate()


Popen = subprocess.Popen[str]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.end()


def state(process: Popen) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2][0]


def test_one_that_waits_is_killed_when_its_work_is_done(scene: Scene) -> None:
    watch, shell = scene.watch(signal.SIGKILL), scene.shell()
    assert watch.wait(PATIENCE_S) == 1  # how many it hit
    assert (shell.wait(PATIENCE_S), shell.communicate()[0]) == (-signal.SIGKILL, "done\n")
    assert not scene.hold.exists()


def test_one_that_is_stopped_goes_on_when_it_is_let_go(scene: Scene) -> None:
    watch, shell = scene.watch(signal.SIGSTOP), scene.shell("echo done; exit 3")
    assert watch.wait(PATIENCE_S) == 1
    assert state(shell) == "T"
    shell.send_signal(signal.SIGCONT)
    assert shell.wait(PATIENCE_S) == 3


@pytest.mark.parametrize("holds", [True, False])
def test_one_that_lasts_is_struck_in_its_midst(scene: Scene, *, holds: bool) -> None:
    watch = scene.watch(signal.SIGKILL, 1000, holds=holds)  # by then a busy machine has got so far
    shell = scene.shell("echo half; read; echo done")
    assert watch.wait(PATIENCE_S) == 1
    assert (shell.wait(PATIENCE_S), shell.communicate()[0]) == (-signal.SIGKILL, "half\n")


def test_nobody_waits_where_nobody_watches_for_it(scene: Scene) -> None:
    assert scene.shell().wait(PATIENCE_S) == 0


def test_a_watch_that_is_taken_away_strikes_nobody(scene: Scene) -> None:
    watch, shell = scene.watch(signal.SIGKILL), scene.shell("read; echo done")
    assert scene.hold.exists()
    assert watch.stdin is not None
    watch.stdin.close()
    watch.stdin = None
    assert watch.wait(PATIENCE_S) == 0
    assert not scene.hold.exists()
    assert (shell.communicate("go\n", PATIENCE_S)[0], shell.returncode) == ("done\n", 0)
