"""A whole run in containers is killed, or stopped by ^C: nothing is left, and it ends as if not."""

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from hfr_bench.faults.draw import uniform
from hfr_bench.testing.runs import at_work, begin, cli, left, new, report, traces

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(3600)]

PREREG = """\
v: 1
name: killed
title: Commands in containers, some of which are broken
origin: rehearsal
agent: oracle
sandbox: docker
sandbox_config: {warm: 1}
suites:
  - {suite: swe_mini, tasks: [hfr__relay-1]}
seeds: [1]
faults: {matrix: shell_container, rates: [0, 0.4]}
limits: {max_steps: 12}
arms:
  - {name: no_retry, strategy: no_retry}
  - name: hfr
    strategy: hfr
    equipment: {ledger: true, query: true, ladder: true, verifier: true}
  - {name: blind_resend, strategy: blind_resend}
controls: {arm: hfr}
analysis: {baseline: no_retry, resamples: 200}
"""
MOMENTS = 2
PATIENCE_S = 120


@pytest.fixture
def interruptible() -> Iterator[None]:
    """^C reaches who is started here, also where these tests run in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_however_a_run_ends_the_next_one_finishes_it(
    tmp_path: Path, engine: docker.APIClient
) -> None:
    frozen = new(tmp_path / "frozen", PREREG)
    whole = Path(shutil.copytree(frozen, tmp_path / "whole"))
    assert cli("run", whole, "-n", "2").returncode == 0
    expected = report(whole)
    assert expected["valid"]
    assert expected["complete"]
    assert left(engine, whole) == []
    every = len(traces(whole))
    for how in (signal.SIGKILL, signal.SIGINT):
        for moment in range(MOMENTS):
            folder = Path(shutil.copytree(frozen, tmp_path / f"{how.name}-{moment}"))
            child = begin(folder, "-n", "2")
            at_work(child, folder, set())
            time.sleep(3 * uniform("killed", how.name, str(moment)))
            child.send_signal(how)
            assert child.wait(PATIENCE_S) == (130 if how is signal.SIGINT else -how)
            assert 0 < len(traces(folder)) < every, "it was over, or had not begun"
            if how is signal.SIGINT:
                assert left(engine, folder) == [], how.name
            done = cli("run", folder, "-n", "2")
            assert done.returncode == 0, done.stderr
            assert report(folder) == expected, (how.name, moment)
            assert left(engine, folder) == [], (how.name, moment)
