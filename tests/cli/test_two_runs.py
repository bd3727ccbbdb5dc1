"""Two experiments at once on one engine: each ends as it would alone, and touches nobody else's."""

from pathlib import Path

import docker
import pytest

from hfr_bench.testing.runs import begin, cli, left, new, report

pytestmark = [pytest.mark.docker, pytest.mark.tau2]


def test_two_at_once_do_not_meet(tmp_path: Path, engine: docker.APIClient) -> None:
    one, two = new(tmp_path / "one"), new(tmp_path / "two")
    idle = new(tmp_path / "idle")
    children = [begin(one, "-n", "2"), begin(two, "-n", "2")]
    # Nor may whoever cleans up beside them, over and over, hit either.
    while any(child.poll() is None for child in children):
        assert "nothing was left" in cli("clean", idle).stdout
    assert [child.returncode for child in children] == [0, 0]
    first, second = report(one), report(two)
    assert first["valid"]
    assert first == second
    assert not any(row["voids"] for row in first["voids"])
    assert left(engine, one) == left(engine, two) == []
    assert cli("clean", one).returncode == 0
