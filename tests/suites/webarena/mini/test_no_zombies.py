"""However the harness ends, the sites' host ends with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import subprocess, sys, time
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.webarena.mini import WebMiniSuite
world = WebMiniSuite(ProcessSandbox(SandboxContext("zombies", this_process()))).open()
world.reset("forum-post-lighthouse")
print("ready", flush=True)
time.sleep(60)
"""
PATIENCE_S = 60

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def children(pid: int) -> set[int]:
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(one) for path in listed for one in path.read_text().split()}


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_no_host_outlives_its_harness(how: signal.Signals) -> None:
    harness = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert harness.stdout is not None
    try:
        assert harness.stdout.readline() == "ready\n"
        hosts = children(harness.pid)
        assert hosts
        os.kill(harness.pid, how)
        harness.wait(PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        while left := [pid for pid in hosts if running(pid)]:
            assert time.monotonic() < deadline, left
            time.sleep(0.01)
    finally:
        harness.kill()
        harness.wait()
        harness.stdout.close()


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"
