"""An exhaustive experiment on real tau2 tasks: frozen, run and reported as a user does it."""

import json
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.register import load
from hfr_bench.lab.store import Store
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.trial import Outcome

pytestmark = pytest.mark.tau2

PREREG = """\
v: 1
name: every-fault
title: One fault a trial
origin: rehearsal
agent: oracle
suites:
  - suite: tau2
    tasks: ["airline/2", "airline/14"]
faults: {matrix: stress, design: exhaustive-1}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: blind_resend, strategy: blind_resend}
  - {name: oracle_recovery, strategy: oracle_recovery, equipment: {query: true, truth: true}}
controls: {arm: blind_resend}
hypotheses:
  - {id: H1, metric: dup_any, arm: blind_resend, against: oracle_recovery, direction: greater}
analysis: {baseline: no_retry, resamples: 200}
"""


def new(folder: Path, text: str = PREREG) -> Path:
    folder.mkdir()
    (folder / "prereg.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def every_fault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment, frozen and run to the end."""
    made = new(tmp_path_factory.mktemp("exhaustive") / "every")
    assert run(["freeze", str(made)]) == 0
    assert run(["run", str(made), "-n", "2"]) == 0
    return made


def outcomes(folder: Path, arm: str) -> list[tuple[FaultEvent | None, Outcome]]:
    """What came of each of the arm's trials, beside its one fault."""
    experiment, store = load(folder), Store(folder)
    trials = {row.trial.trial_id: row.trial for row in experiment.plan if row.control is None}
    made = []
    for file in store.files():
        result = store.check(file).result
        assert result is not None
        if result.arm == arm and (trial := trials.get(result.trial_id)) is not None:
            assert result.outcome is not None
            events = experiment.book.schedule(trial.schedule_id).events
            made.append((events[0] if events else None, result.outcome))
    return made


def test_every_arm_reaches_every_fault_and_every_control_holds(every_fault, capsys):
    capsys.readouterr()
    assert run(["report", str(every_fault), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["valid"]
    assert report["complete"]
    assert report["rates"] == [0.0, 1.0]
    for row in report["audit"]:
        assert row["scheduled"] == row["reached"] == row["delivered"] > 0
    by_name = {row["name"]: row["passed"] for row in report["controls"]}
    assert all(by_name.values()), by_name


def test_the_report_can_be_read_in_every_format(every_fault, capsys):
    for form in ("text", "md", "csv"):
        capsys.readouterr()
        assert run(["report", str(every_fault), "--full", "--format", form]) == 0
        assert "rehearsal" in capsys.readouterr().out


def test_a_blind_resend_is_caught_exactly_where_a_write_had_landed(every_fault):
    found = outcomes(every_fault, "blind_resend")
    assert any(one.duplicates for _, one in found)
    for event, one in found:
        hidden = one.lost_effects > 0
        assert hidden <= bool(event and event.effect_lands)
        # The world repeats what it was told twice, or refuses it.
        assert (one.duplicates > 0) <= hidden
        assert hidden <= (one.duplicates + one.duplicate_dispatches > 0)


def test_the_arm_that_sees_the_truth_succeeds_and_never_duplicates(every_fault):
    for _, one in outcomes(every_fault, "oracle_recovery"):
        assert (one.succeeded, one.harm) == (True, 0)


def test_without_retries_every_fault_costs_the_task(every_fault):
    for event, one in outcomes(every_fault, "no_retry"):
        assert one.succeeded is (event is None)


def test_freezing_again_gives_the_same_bytes(every_fault, tmp_path):
    again = new(tmp_path / "again")
    assert run(["freeze", str(again)]) == 0
    for name in ("plan.jsonl", "schedules/tau2-exhaustive-1.jsonl"):
        assert (again / name).read_bytes() == (every_fault / name).read_bytes()


@pytest.mark.parametrize(
    ("old", "new_", "words"),
    [
        ("agent: oracle", "agent: tool_calling", "needs `agent: oracle`"),
        ("exhaustive-1}", "exhaustive-1, rates: [0, 0.1]}", "has none to choose"),
        ("airline/14", "airline/14x", "airline/14x"),
        ("{id: H1,", "{id: H1, rate: 0.2,", "there are: 0, 1"),
    ],
)
def test_what_cannot_be_planned_is_refused_and_nothing_is_written(
    tmp_path, capsys, old, new_, words
):
    folder = new(tmp_path / "bad", PREREG.replace(old, new_))
    assert run(["freeze", str(folder)]) == 2
    assert words in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["prereg.yaml"]
