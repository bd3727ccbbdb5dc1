"""desk_mini under lost connections, as a user does it: who doubles lines, who does not."""

from collections import Counter
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.testing.runs import results, written

pytestmark = pytest.mark.slow

PREREG = """\
v: 1
name: lost-lines
title: One lost connection a trial
origin: rehearsal
agent: oracle
suites:
  - suite: desk_mini
    tasks: [files-append-log, sheet-raise-prices]
faults: {matrix: lost_lines, design: exhaustive-1}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: suite_default, strategy: suite_default, config: {suite: desk_mini}}
  - {name: blind_resend, strategy: blind_resend}
  - {name: oracle_recovery, strategy: oracle_recovery, equipment: {query: true, truth: true}}
controls: {arm: blind_resend, a_a: false}
limits: {max_steps: 6}
analysis: {baseline: no_retry, resamples: 200}
"""
MATRIX = """\
name: lost_lines
title: Connections that are lost before or after a write
mixes:
  - points: ["tool:append_text", "tool:execute"]
    kinds: {tool_connection_lost: 1.0}
"""


@pytest.fixture(scope="module")
def lost_lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment, frozen and run to the end."""
    folder = written(tmp_path_factory.mktemp("desk") / "lost", PREREG, MATRIX)
    assert run(["freeze", str(folder)]) == 0
    assert run(["run", str(folder), "--sandbox", "process"]) == 0
    return folder


@pytest.mark.parametrize("arm", ["blind_resend", "suite_default"])
def test_who_sends_again_blindly_doubles_in_files_and_tables(lost_lines: Path, arm: str) -> None:
    doubled = Counter[str]()
    for result in results(lost_lines, arm):
        assert result.outcome is not None
        doubled[result.task_id] += result.outcome.duplicates
        if result.outcome.duplicates:
            assert (result.outcome.official, result.outcome.goal_met) == (0.0, False)
    assert doubled == {"files-append-log": 1, "sheet-raise-prices": 1}


def test_who_is_told_the_truth_doubles_nothing(lost_lines: Path) -> None:
    found = [result.outcome for result in results(lost_lines, "oracle_recovery")]
    assert len(found) == 6  # two writes, landed or lost, and each task without a fault
    for outcome in found:
        assert outcome is not None
        assert (outcome.duplicates, outcome.goal_met) == (0, True)


def test_the_experiment_is_valid(lost_lines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(lost_lines), "--format", "text"]) == 0
    said = capsys.readouterr().out
    assert "verdict    valid" in said
    assert "rate 0 equals no injector at all" in said
