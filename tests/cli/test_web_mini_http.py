"""web_mini behind the web proxy: forms whose answer is lost between browser and site."""

from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.store import Store
from hfr_bench.model.trial import Outcome
from hfr_bench.testing.runs import written

PREREG = """\
v: 1
name: lost-forms
title: Answers of forms, lost after the commit
origin: rehearsal
agent: oracle
suites:
  - suite: web_mini
    tasks: [forum-post-lighthouse, tracker-issue-moon]
seeds: [1, 2, 3]
faults: {matrix: lost_forms, rates: [0, 0.5]}
arms:
  - {name: blind_resend, strategy: blind_resend}
  - {name: oracle_recovery, strategy: oracle_recovery, equipment: {query: true, truth: true}}
controls: {arm: blind_resend}
analysis: {baseline: blind_resend, resamples: 200}
"""
MATRIX = """\
name: lost_forms
title: A 503 in the place of the site's answer
mixes:
  - points: ["web:POST*"]
    kinds: {web_503_after: 1.0}
"""


@pytest.fixture(scope="module")
def lost_forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment, frozen and run to the end."""
    folder = written(tmp_path_factory.mktemp("webhttp") / "lost", PREREG, MATRIX)
    assert run(["freeze", str(folder)]) == 0
    assert run(["run", str(folder), "--sandbox", "process"]) == 0
    return folder


def test_each_resend_posts_again_and_only_the_database_minds(lost_forms: Path) -> None:
    store = Store(lost_forms)
    found: dict[str, list[Outcome]] = {"blind_resend": [], "oracle_recovery": []}
    for file in store.files():
        result = store.check(file).result
        assert result is not None
        if result.rate and result.outcome is not None:
            found[result.arm].append(result.outcome)
    assert sum(one.duplicates for one in found["blind_resend"]) > 1
    assert not any(one.goal_met for one in found["blind_resend"] if one.duplicates)
    assert any(one.official == 1.0 for one in found["blind_resend"] if one.duplicates)
    assert [one.duplicates for one in found["oracle_recovery"]] == [0] * 6
    assert all(one.goal_met for one in found["oracle_recovery"])
    # Never resent: the only answer that the rule has seen is the 503.
    assert any(one.official == 0.0 for one in found["oracle_recovery"])


def test_the_experiment_is_valid(lost_forms: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All delivered, no fault unplanned, the same arm twice the same, line by line."""
    assert run(["report", str(lost_forms)]) == 0
    told = capsys.readouterr().out
    assert "INVALID" not in told.replace("INVALID: no number may be used", "")
    assert "web_503_after" in told
