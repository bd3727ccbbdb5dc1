"""db_mini and os_mini under lost answers, as a user does it: who doubles, who does not."""

from collections import Counter
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.register import load
from hfr_bench.testing.runs import results, written

PREREG = """\
v: 1
name: lost-statements
title: One lost answer a trial
origin: rehearsal
agent: oracle
suites:
  - {{suite: {suite}, {tasks}}}
faults: {{matrix: {matrix}, design: exhaustive-1}}
arms:
{arms}
controls: {{arm: blind_resend, a_a: false}}
analysis: {{baseline: no_retry, resamples: 200}}
"""
YARDSTICKS = """\
  - {name: no_retry, strategy: no_retry}
  - {name: blind_resend, strategy: blind_resend}
  - {name: oracle_recovery, strategy: oracle_recovery, equipment: {query: true, truth: true}}
"""
OTHERS = """\
  - {name: fixed_retry, strategy: fixed_retry}
  - {name: exp_retry, strategy: exp_retry}
  - {name: degrade_only, strategy: degrade_only, equipment: {ladder: true}}
  - {name: tiered, strategy: tiered}
  - {name: hfr, strategy: hfr,
     equipment: {ledger: true, query: true, ladder: true, verifier: true}}
  - {name: hfr-verifier, strategy: hfr-verifier, equipment: {ledger: true, query: true}}
  - {name: hfr-idempotency, strategy: hfr-idempotency, equipment: {query: true, verifier: true}}
  - {name: hfr-budget, strategy: hfr-budget, equipment: {ledger: true, query: true}}
  - {name: hfr-breaker, strategy: hfr-breaker, equipment: {ledger: true, query: true}}
  - {name: exp_retry+reconcile, strategy: exp_retry+reconcile, equipment: {query: true}}
  - {name: exp_retry+verifier, strategy: exp_retry+verifier, equipment: {verifier: true}}
  - {name: always_escalate, strategy: always_escalate}
  - {name: random_legal, strategy: random_legal, equipment: {query: true}}
"""
MATRIX = """\
name: lost
title: Answers lost before or after
mixes:
  - points: ["tool:execute_sql", "tool:bash_action"]
    kinds: {tool_outcome_unknown: 1.0}
"""


def play(folder: Path, suite: str, tasks: str, matrix: str, arms: str) -> Path:
    """The experiment, frozen and run to the end."""
    chosen = PREREG.format(suite=suite, tasks=tasks, matrix=matrix, arms=arms)
    written(folder, chosen, MATRIX)
    assert run(["freeze", str(folder), "--sandbox", "process"]) == 0
    assert run(["run", str(folder), "--sandbox", "process"]) == 0
    return folder


def test_blind_resend_doubles_rows_and_oracle_recovery_does_not(tmp_path: Path) -> None:
    tasks = "tasks: [own-book-a-night, own-new-berth]"
    lost = play(tmp_path / "lost", "db_mini", tasks, "lost", YARDSTICKS)
    assert_doubled(lost, {"own-book-a-night": 1})


@pytest.mark.slow
def test_and_lines_of_files(tmp_path: Path) -> None:
    tasks = "tasks: [own-append-entry, own-private-keys, own-next-number]"
    lost = play(tmp_path / "lost", "os_mini", tasks, "lost", YARDSTICKS)
    assert_doubled(lost, {"own-append-entry": 1, "own-next-number": 1})


def assert_doubled(lost: Path, expected: dict[str, int]) -> None:
    doubled = Counter[str]()
    for result in results(lost, "blind_resend"):
        assert result.outcome is not None
        doubled[result.task_id] += result.outcome.duplicates
        assert result.outcome.goal_met is (result.outcome.duplicates == 0)
    assert +doubled == expected
    for result in results(lost, "oracle_recovery"):
        assert result.outcome is not None
        assert (result.outcome.duplicates, result.outcome.goal_met) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "matrix"), [("db_mini", "sql"), ("os_mini", "os")])
def test_every_arm_is_graded_and_the_experiment_is_valid(
    tmp_path: Path, suite: str, matrix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = play(tmp_path / "all", suite, "pool: base", matrix, YARDSTICKS + OTHERS)
    for arm in load(folder).prereg.arms:
        graded = results(folder, arm.name)
        assert graded
        assert all(result.outcome is not None for result in graded)
    assert run(["report", str(folder), "--full"]) == 0
    told = capsys.readouterr().out
    assert "INVALID" not in told.replace("INVALID: no number may be used", "")
