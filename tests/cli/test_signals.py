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
from hfr_bench.testing.runs import at_work, traces

pytestmark = pytest.mark.tau2


SLOW = pytest.mark.slow  # the same road by another signal


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=SLOW),
        pytest.param(signal.SIGHUP, marks=SLOW),
    ],
)
def test_a_signal_ends_a_run_as_interrupted_and_leaves_nothing_behind(
    lacking, slowly, tmp_path, number
):
    folder, before = lacking, traces(lacking)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-m", "hfr_bench", "run", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**slowly, "TMPDIR": str(scratch)},
    )
    at_work(child, folder, before)
    child.send_signal(number)
    _, said = child.communicate(timeout=200)
    assert child.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert not list(scratch.iterdir())
    assert run(["run", str(folder)]) == 0


# Stands between harness and real host, and stops answering at the 30th request.
STUCK = """\
#!{python}
import pathlib, subprocess, sys, time
host = subprocess.Popen([{real!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for n, line in enumerate(sys.stdin.buffer, 1):
    if n == 30:
        pathlib.Path({stuck!r}).touch()
        time.sleep(600)
    host.stdin.write(line)
    host.stdin.flush()
    sys.stdout.buffer.write(host.stdout.readline())
    sys.stdout.buffer.flush()
"""


def test_an_interrupt_waits_for_no_host_and_makes_no_void(lacking, tmp_path):
    folder = lacking
    stuck, script = tmp_path / "stuck", tmp_path / "host"
    script.write_text(
        STUCK.format(python=sys.executable, real=str(host_python()), stuck=str(stuck))
    )
    script.chmod(0o755)
    child = subprocess.Popen(
        [sys.executable, "-m", "hfr_bench", "run", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HFR_BENCH_TAU2_PYTHON": str(script)},
    )
    deadline = time.monotonic() + 150
    while not stuck.exists():
        assert time.monotonic() < deadline, "the host was never asked so often"
        assert child.poll() is None, "the run ended before it could be told to"
        time.sleep(0.002)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == 130
    assert len(list(folder.glob("trials/*/r1/*.part"))) == 1
    assert run(["run", str(folder)]) == 0
    assert not list(folder.glob("trials/*/r2"))
    assert len(list(folder.glob("trials/*/r1/*.interrupted-1"))) == 1


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


def test_a_disk_that_fills_up_ends_the_run_in_words_and_costs_one_trial(finished, lacking, capsys):
    folder = lacking
    # No file may grow past 20 blocks of 1 KiB, which is as far as a disk may be from full.
    told = subprocess.run(
        ["bash", "-c", f"ulimit -f 20; exec {sys.executable} -m hfr_bench run {folder}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 3
    assert "the trace cannot be written" in told.stderr
    assert "run again" in told.stderr
    assert "Traceback" not in told.stderr
    assert run(["run", str(folder)]) == 0
    assert len(list(folder.glob("trials/*/r1/*.interrupted-1"))) == 1
    reports = []
    for one in (folder, finished):
        capsys.readouterr()
        run(["report", str(one), "--json"])
        reports.append(capsys.readouterr().out)
    assert reports[0] == reports[1]
