"""`hfr-bench new`: what it writes fits the suite, and can be read."""

from pathlib import Path

import pytest

from hfr_bench import content
from hfr_bench.cli.main import run
from hfr_bench.model.prereg import Preregistration


@pytest.mark.parametrize(
    ("suite", "agent", "matrix"),
    [("shopdesk", "tool_calling", "stress"), ("swe_mini", "bash", "shell")],
)
def test_agent_and_matrix_are_those_of_the_suite(
    suite: str, agent: str, matrix: str, tmp_path: Path
) -> None:
    assert run(["new", str(tmp_path / "x"), "--suite", suite]) == 0
    written = content.read_record(tmp_path / "x" / "prereg.yaml", Preregistration)
    assert (written.agent, written.faults.matrix) == (agent, matrix)
