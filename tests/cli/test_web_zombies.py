"""A whole run in a real browser, ended in the middle: nothing of it is left, and it goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.suites.webarena.browse.browser import lacking

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc"),
]

PREREG = """\
v: 1
name: ended
title: A run that does not come to its end
origin: rehearsal
agent: oracle
suites:
  - suite: web_mini
    tasks: [forum-post-lighthouse, tracker-issue-moon]
    config: {driver: chromium}
seeds: [1]
faults: {matrix: web, rates: [0, 0.2]}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: exp_retry, strategy: exp_retry}
controls: {arm: no_retry}
analysis: {baseline: no_retry, resamples: 200}
"""
PATIENCE_S = 120
INTERRUPTED = 130


def below(pid: int) -> dict[int, str]:
    """All processes that descend from one, with their names."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                head, _, rest = (entry / "stat").read_text().rpartition(")")
                parents[int(entry.name)] = (int(rest.split()[1]), head.partition("(")[2])
            except (OSError, ValueError):
                continue
    found, size = {pid}, 0
    while len(found) != size:
        size = len(found)
        found |= {child for child, (parent, _) in parents.items() if parent in found}
    return {one: parents[one][1] for one in found - {pid} if one in parents}


def alive(pids: Iterator[int]) -> set[int]:
    found = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            found.add(pid)
    return found


def until(true: Callable[[], object]) -> object:
    deadline_s = time.monotonic() + PATIENCE_S
    while not (found := true()):
        assert time.monotonic() < deadline_s, "it took too long"
        time.sleep(0.1)
    return found


def _heeds_interrupts() -> None:
    """As a program that a terminal started; what a shell starts in the background does not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_of_a_run_is_left_and_it_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "ended"
    folder.mkdir()
    (folder / "prereg.yaml").write_text(PREREG)
    assert run(["freeze", str(folder)]) == 0
    command = [sys.executable, "-m", "hfr_bench", "run", str(folder), "--sandbox", "process"]
    harness = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_heeds_interrupts,  # noqa: PLW1509 - one thread
    )
    try:
        until(lambda: list((folder / "trials").rglob("*.jsonl*")))
        until(lambda: any("chrom" in name for name in below(harness.pid).values()))
        pids = below(harness.pid)
        os.kill(harness.pid, how)
        code = harness.wait(PATIENCE_S)
        assert code == (-signal.SIGKILL if how is signal.SIGKILL else INTERRUPTED)
        until(lambda: not alive(iter(pids)))
    finally:
        harness.kill()
        harness.wait()
    assert run(["run", str(folder), "--sandbox", "process"]) == 0
    assert run(["report", str(folder)]) == 0
