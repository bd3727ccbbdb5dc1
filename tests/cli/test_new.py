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


def test_what_a_suite_lacks_here_is_told_beside_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HFR_BENCH_WEBARENA_PYTHON", raising=False)
    assert run(["new", str(tmp_path / "x"), "--suite", "webarena"]) == 0
    told = capsys.readouterr()
    assert "wrote" in told.out
    assert "of suite webarena, on this machine: the tasks come with libwebarena" in told.err
    assert run(["new", str(tmp_path / "y"), "--suite", "web_mini"]) == 0
    assert capsys.readouterr().err == ""
