"""However the program that drives a browser ends, the browser ends with it; counted by pid."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench.suites.webarena.browse.browser import lacking

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc"),
]

PROGRAM = """
import sys, time
from hfr_bench.suites.webarena.browse.chromium import ChromiumDriver
driver = ChromiumDriver()
driver.open(["data:text/html,<h1>Here</h1>"])
print("ready", flush=True)
time.sleep(60)
"""
PATIENCE_S = 60


def below(pid: int) -> set[int]:
    """All processes that descend from one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
                )
            except (OSError, ValueError):
                continue
    found, before = {pid}, set[int]()
    while found != before:
        before = found
        found = found | {child for child, parent in parents.items() if parent in found}
    return found - {pid}


def alive(pids: set[int]) -> Iterator[int]:
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            yield pid


@pytest.mark.parametrize("how", ["kill -9", pytest.param("^C", marks=pytest.mark.slow)])
def test_nothing_is_left(how):
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert program.stdout is not None
    with program, program.stdout:
        assert program.stdout.readline() == b"ready\n"
        pids = below(program.pid)
        assert len(pids) > 3  # Playwright's program, the browser, its helpers
        if how == "^C":
            os.killpg(program.pid, signal.SIGINT)  # as a terminal does: to the whole group
        else:
            program.kill()
        program.wait(PATIENCE_S)
        deadline_s = time.monotonic() + PATIENCE_S
        while (left := set(alive(pids))) and time.monotonic() < deadline_s:
            time.sleep(0.05)
        assert left == set()
