"""web_mini under lost answers, as a user does it: who doubles orders and posts, who does not."""

from collections import Counter
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.testing.runs import results, written

pytestmark = pytest.mark.slow  # test_web_mini_http.py goes the same way, and further

PREREG = """\
v: 1
name: lost-clicks
title: One lost answer a trial
origin: rehearsal
agent: oracle
suites:
  - suite: web_mini
    tasks: [forum-post-lighthouse, shop-order-lantern]
faults: {matrix: lost_clicks, design: exhaustive-1}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: blind_resend, strategy: blind_resend}
  - {name: oracle_recovery, strategy: oracle_recovery, equipment: {query: true, truth: true}}
controls: {arm: blind_resend, a_a: false}
analysis: {baseline: no_retry, resamples: 200}
"""
MATRIX = """\
name: lost_clicks
title: Answers of clicks, lost before or after
mixes:
  - points: ["tool:click"]
    kinds: {tool_outcome_unknown: 1.0}
"""


@pytest.fixture(scope="module")
def lost_clicks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment, frozen and run to the end."""
    folder = written(tmp_path_factory.mktemp("web") / "lost", PREREG, MATRIX)
    assert run(["freeze", str(folder)]) == 0
    assert run(["run", str(folder), "--sandbox", "process"]) == 0
    return folder


def test_blind_resend_doubles_in_the_database_and_oracle_recovery_does_not(
    lost_clicks: Path,
) -> None:
    doubled = Counter[str]()
    for result in results(lost_clicks, "blind_resend"):
        assert result.outcome is not None
        doubled[result.task_id] += result.outcome.duplicates
    assert doubled == {"forum-post-lighthouse": 1, "shop-order-lantern": 2}
    for result in results(lost_clicks, "oracle_recovery"):
        assert result.outcome is not None
        assert (result.outcome.duplicates, result.outcome.goal_met) == (0, True)


def test_the_official_rule_calls_some_doubled_trials_right(lost_clicks: Path) -> None:
    graded = [r.outcome for r in results(lost_clicks, "blind_resend") if r.outcome is not None]
    unseen = [one for one in graded if one.duplicates and one.official == 1.0]
    assert unseen
    assert not any(one.goal_met for one in unseen)


def test_the_experiment_is_valid_and_its_report_tells_verdict_and_state(
    lost_clicks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(lost_clicks), "--full"]) == 0
    told = capsys.readouterr().out
    assert "Verdict and state" in told
    assert "INVALID" not in told.replace("INVALID: no number may be used", "")
