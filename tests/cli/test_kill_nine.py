"""kill -9 at random moments of a container run: it finishes, unchanged, and nothing is left."""

import shutil
import time
from pathlib import Path

import docker
import pytest

from hfr_bench.faults.draw import uniform
from hfr_bench.testing.runs import cli, kill_after, left, new, report

pytestmark = [pytest.mark.docker, pytest.mark.tau2, pytest.mark.slow]

MOMENTS = 30


@pytest.mark.timeout(1200)
def test_killed_at_any_moment_it_finishes_as_if_nothing_had_been(
    tmp_path: Path, engine: docker.APIClient
) -> None:
    frozen = new(tmp_path / "frozen")
    whole = Path(shutil.copytree(frozen, tmp_path / "whole"))
    began = time.monotonic()
    assert cli("run", whole, "-n", "2").returncode == 0
    lasts_s = time.monotonic() - began
    expected = report(whole)
    assert expected["valid"]
    under_way = 0
    for moment in range(MOMENTS):
        folder = Path(shutil.copytree(frozen, tmp_path / f"killed-{moment}"))
        at_s = lasts_s * uniform("kill -9", str(moment))
        under_way += kill_after(folder, at_s, "-n", "2")
        done = cli("run", folder, "-n", "2")
        where = f"killed after {at_s:.2f} of {lasts_s:.2f} s"
        assert done.returncode == 0, f"{where}: {done.stderr}"
        assert report(folder) == expected, where
        assert left(engine, folder) == [], where
    assert under_way >= MOMENTS // 2, "most moments were past the end: nothing was tried"


@pytest.mark.timeout(600)
def test_killed_again_and_again_it_still_finishes(tmp_path: Path, engine: docker.APIClient) -> None:
    folder = new(tmp_path / "often")
    for moment in range(6):
        kill_after(folder, 2 + 3 * uniform("again", str(moment)), "-n", "2")
    assert cli("run", folder, "-n", "2").returncode == 0
    found = report(folder)
    assert found["valid"]
    assert found["complete"]
    assert left(engine, folder) == []
