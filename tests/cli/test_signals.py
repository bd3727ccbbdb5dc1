"""Being told to end, and content that changed behind a finished experiment."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from hfr_bench import content
from hfr_bench.cli.main import run
from hfr_bench.suites.tau2.adapter import host_python

pytestmark = pytest.mark.tau2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_as_interrupted_and_leaves_nothing_behind(folder, tmp_path, number):
    assert run(["freeze", str(folder)]) == 0
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-m", "hfr_bench", "run", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    deadline = time.monotonic() + 60
    while not list(folder.glob("trials/*/r1/*.jsonl")):
        assert time.monotonic() < deadline, "the run never got anywhere"
        assert child.poll() is None, "the run ended before it could be told to"
        time.sleep(0.002)
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert not list(scratch.iterdir())
    assert run(["run", str(folder)]) == 0


@pytest.mark.parametrize("verb", ["run", "report", "status"])
def test_changed_content_is_named_instead_of_blaming_the_data(finished, tmp_path, verb):
    changed = tmp_path / "content"
    for name in ("suites", "injectors"):
        shutil.copytree(content.root() / name, changed / name)
    kind = changed / "injectors" / "kinds" / "model_500.yaml"
    kind.write_text(kind.read_text().replace("The server had", "Our server had"))
    env = {
        **os.environ,
        "HFR_BENCH_CONTENT": str(changed),
        "HFR_BENCH_TAU2_PYTHON": str(host_python()),
    }
    done = subprocess.run(
        [sys.executable, "-m", "hfr_bench", verb, str(finished)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "fault kinds changed after freezing" in done.stderr
