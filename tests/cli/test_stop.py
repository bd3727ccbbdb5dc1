"""The kill switch of a run at work: it ends, says so, leaves nothing behind, and can be resumed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab import runlog
from hfr_bench.lab.register import load

PREREG = """\
v: 1
name: stopped
title: An experiment on the order desk
origin: rehearsal
suites: [{suite: shopdesk, pool: demo}]
seeds: [1, 2]
faults: {matrix: stress, rates: [0, 0.2]}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: blind_resend, strategy: blind_resend}
analysis: {baseline: no_retry, resamples: 200}
"""


@pytest.fixture(scope="module")
def frozen_desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frozen experiment on the order desk; never changed by a test."""
    folder = tmp_path_factory.mktemp("desk") / "desk"
    folder.mkdir()
    (folder / "prereg.yaml").write_text(PREREG)
    assert run(["freeze", str(folder)]) == 0
    return folder


@pytest.fixture
def desk(frozen_desk: Path, tmp_path: Path) -> Path:
    """A copy of it, to be run."""
    return Path(shutil.copytree(frozen_desk, tmp_path / "desk"))


def begun(folder: Path, *options: str) -> "subprocess.Popen[str]":
    """A run with its first trials in."""
    child = subprocess.Popen(
        [sys.executable, "-m", "hfr_bench", "run", str(folder), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 150
    while not list(folder.glob("trials/*/r1/*.jsonl")):
        assert time.monotonic() < deadline, "the run never got anywhere"
        assert child.poll() is None, "the run ended before it could be stopped"
        time.sleep(0.002)
    return child


@pytest.mark.parametrize("way", ["verb", pytest.param("signal", marks=pytest.mark.slow)])
def test_a_run_is_stopped_and_resumed(desk, capsys, way):
    child = begun(desk, "-n", "2")
    if way == "verb":
        assert run(["stop", str(desk), "--wait", "150"]) == 0
        said = capsys.readouterr().out
        assert f"injection is stopped (process {child.pid})" in said
        assert "the run has ended" in said
    else:
        os.kill(child.pid, signal.SIGUSR1)
    _, told = child.communicate(timeout=200)
    assert child.returncode == 130
    assert "kill switch: no further fault is injected" in told
    assert "Traceback" not in told
    last = runlog.last(desk)
    assert last is not None
    assert last.end == "interrupted"
    done = {path: path.read_bytes() for path in desk.glob("trials/*/r1/*.jsonl")}
    assert 0 < len(done) < load(desk).lock.trials
    for raw in done.values():  # whole and graded: nothing was made a void
        assert json.loads(raw.splitlines()[-1])["body"]["result"]["outcome"] is not None
    assert run(["run", str(desk), "-n", "2"]) == 0
    assert all(path.read_bytes() == raw for path, raw in done.items())
    assert not list(desk.glob("trials/*/r2"))
    assert run(["status", str(desk)]) == 0  # all that was reached was delivered


def test_there_may_be_nothing_to_stop(desk, capsys):
    capsys.readouterr()
    assert run(["stop", str(desk)]) == 0
    assert "nothing is injected" in capsys.readouterr().out
    assert run(["stop", str(desk / "x")]) == 2
