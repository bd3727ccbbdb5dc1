"""WebArena under lost answers, as a user does it: freeze, run, report, on living sites."""

from pathlib import Path
from typing import Any

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
  - suite: webarena
    tasks: [verified-900001, original-900103]
    config: {driver: http}
seeds: [2]
faults: {matrix: lost_forms, rates: [0, 0.6]}
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


@pytest.fixture
def lost_forms(tmp_path: Path, folder: Path, there: Any) -> tuple[Path, list[str]]:
    """The experiment, written down; and what every command is told besides."""
    where = written(tmp_path / "lost", PREREG, MATRIX)
    return where, ["--data-dir", f"webarena={folder}"]


def test_only_the_sites_own_exchanges_tell_who_sent_a_form_twice(
    lost_forms: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two workers on one set of sites; a valid experiment, in which only resends are repeats."""
    where, told = lost_forms
    assert run(["freeze", str(where), *told]) == 0
    assert run(["run", str(where), "--sandbox", "process", "-n", "2", *told]) == 0
    store = Store(where)
    found: dict[str, list[Outcome]] = {"blind_resend": [], "oracle_recovery": []}
    for file in store.files():
        result = store.check(file).result
        assert result is not None
        if result.rate and result.outcome is not None:
            found[result.arm].append(result.outcome)
    assert sum(one.duplicates for one in found["blind_resend"]) > 0
    assert not any(one.goal_met for one in found["blind_resend"] if one.duplicates)
    assert any(one.official == 1.0 for one in found["blind_resend"] if one.duplicates)
    assert not any(one.duplicates or one.unwanted for one in found["oracle_recovery"])
    assert all(one.goal_met for one in found["oracle_recovery"])
    assert any(one.official == 0.0 for one in found["oracle_recovery"])
    capsys.readouterr()
    assert run(["report", str(where)]) == 0
    text = capsys.readouterr().out
    assert "INVALID" not in text.replace("INVALID: no number may be used", "")
    assert "web_503_after" in text


def test_a_script_cannot_play_what_nobody_has_solved(
    lost_forms: tuple[Path, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where, told = lost_forms
    records = tmp_path / "unsolved"
    records.mkdir()
    known = Path(told[1].partition("=")[2])
    for name in ("test.raw.json", "webarena-verified.json"):
        (records / name).write_text((known / name).read_text())
    assert run(["freeze", str(where), "--data-dir", f"webarena={records}"]) == 2
    assert "nobody knows the solution of 2 tasks" in capsys.readouterr().err
    chosen = ["--task", "original-900103", "--task", "verified-900007", "--set", "driver=http"]
    assert run(["validate", "webarena", *chosen, "--data-dir", f"webarena={records}"]) == 0
    assert "nobody knows a solution: 1 (original-900103)" in capsys.readouterr().out


def test_without_sites_every_command_says_what_lacks(
    folder: Path, nowhere: None, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["--data-dir", f"webarena={folder}"]
    assert run(["validate", "webarena", "--pool", "original", *told]) == 2
    assert "am1n3e/webarena-verified-gitlab (31.6 GB to pull" in capsys.readouterr().err
