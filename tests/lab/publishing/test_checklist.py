"""The checklist answers from facts: what is not so is told, with its place."""

import pytest

from hfr_bench.lab.publishing.checklist import Facts, filled, table
from hfr_bench.model.redaction import Redacted
from hfr_bench.model.report import Report
from hfr_bench.model.terms import Origin

NAMES = (
    "fixed", "versions", "sandbox", "faults", "shared", "metrics", "intervals", "people",
    "published", "origin",
)  # fmt: skip


@pytest.fixture
def facts(small, folder) -> Facts:
    report = Report.loads((folder / "bundle/report.json").read_bytes())
    redacted = Redacted.loads((folder / "bundle/redaction.json").read_bytes())
    return Facts(small.experiment, report, redacted)


def answers(facts: Facts) -> dict[str, str]:
    return dict(zip(NAMES, (item.answer for item in filled(facts)), strict=True))


def test_ten_items_each_with_its_place(facts, folder):
    items = filled(facts)
    assert len(items) == 10
    lines = list(table(items))
    assert len(lines) == 12
    for item, line in zip(items, lines[2:], strict=True):
        assert line.startswith(f"| {item.answer} |")
        place = folder / "bundle" / item.where
        assert place.exists() or item.answer == "no"


def test_what_the_small_experiment_is(facts):
    found = answers(facts)
    assert found["people"] == "no"
    assert found["sandbox"] == "no"  # processes isolate nothing
    assert {found[name] for name in ("fixed", "faults", "shared", "metrics", "origin")} == {"yes"}


def test_no_answer_is_yes_by_itself(facts):
    prereg = facts.experiment.prereg.model_copy(update={"origin": Origin.LIVE})
    plan = facts.experiment.plan
    trial = plan[0].trial.model_copy(update={"schedule_digest": "0" * 64})
    worse = Facts(
        facts.experiment._replace(
            prereg=prereg, plan=(plan[0].model_copy(update={"trial": trial}), *plan[1:])
        ),
        facts.report.model_copy(
            update={"estimates": (), "contrasts": (), "ran_in": ("docker (sha256:0)",)}
        ),
        facts.redacted,
    )
    found = answers(worse)
    assert found["versions"] == found["shared"] == found["metrics"] == found["intervals"] == "no"
    assert found["sandbox"] == "yes"
