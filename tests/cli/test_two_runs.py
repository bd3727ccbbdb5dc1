"""Two experiments at once on one engine: each ends as it would alone, and touches nobody else's."""

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import docker
import pytest

from hfr_bench.cli.main import run
from hfr_bench.testing.runs import begin, cli, left, new, report

pytestmark = [pytest.mark.docker, pytest.mark.tau2]


@pytest.mark.slow
def test_two_at_once_do_not_meet(
    tmp_path: Path, engine: docker.APIClient, capsys: pytest.CaptureFixture[str]
) -> None:
    one = new(tmp_path / "one")  # a run is named after its folder, too
    two, idle = (Path(shutil.copytree(one, tmp_path / name)) for name in ("two", "idle"))
    children = [begin(one, "-n", "2"), begin(two, "-n", "2")]
    # Nor may whoever cleans up beside them, over and over, hit either.
    for child in children:
        while child.poll() is None:
            assert run(["clean", str(idle)]) == 0
            assert "nothing was left" in capsys.readouterr().out
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=0.1)
    assert [child.returncode for child in children] == [0, 0]
    first, second = report(one), report(two)
    assert first["valid"]
    assert first == second
    assert not any(row["voids"] for row in first["voids"])
    assert left(engine, one) == left(engine, two) == []
    assert cli("clean", one).returncode == 0
