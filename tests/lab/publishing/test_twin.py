"""A twin has the shape of its original, none of its tasks or numbers, and really can be frozen."""

import json

import yaml

from hfr_bench.cli.main import run
from hfr_bench.lab.publishing.twin import MOST_TASKS, twin, write
from hfr_bench.lab.register import load
from hfr_bench.model.prereg import Lock, Preregistration, SourcePin
from hfr_bench.testing.bundled import ready
from hfr_bench.testing.experiments import planned

CLAIMS = (
    {"id": "H1", "metric": "sr", "arm": "hfr", "against": "no_retry", "direction": "greater"},
    {"id": "H2", "metric": "dup_any", "arm": "hfr", "against": "no_retry", "direction": "less"},
)
SHARED = (
    *("arms", "faults", "seeds", "limits", "controls", "human", "tool_price", "analysis"),
    *("cohorts", "void_rounds"),
)


def original(tasks: int = 3, **fields) -> tuple[Preregistration, Lock]:
    plan = planned(hypotheses=CLAIMS, **fields)
    pin = SourcePin(
        suite="secret", distribution="d", version="1", content_digest="", task_digests={},
        tasks=tuple(f"secret-{n}" for n in range(tasks)),
    )  # fmt: skip
    return plan.prereg, plan.lock.model_copy(update={"sources": (pin,)})


def test_it_has_the_shape_of_the_original_and_says_what_it_is():
    prereg, lock = original(cohorts={"size": 2}, seeds=(1, 2))
    made = twin(prereg, lock).prereg
    for name in SHARED:
        assert getattr(made, name) == getattr(prereg, name), name
    assert made.name == "test-twin"
    assert made.title == "Synthetic twin of: A test"
    assert made.suites[0].config["tasks"] == 3
    assert "no result of the original" in made.description


def test_of_a_live_original_it_is_a_rehearsal_without_claims_about_success():
    prereg, lock = original(origin="live", clock="wall", agent="mine", sandbox="far")
    made, differs = twin(prereg, lock)
    assert (made.origin, made.clock, made.agent) == ("rehearsal", "virtual", "tool_calling")
    assert [claim.id for claim in made.hypotheses] == ["H2"]
    assert any("without H1" in text for text in differs)
    assert any("scripted stand-in" in text for text in differs)


def test_two_originals_have_two_twins():
    prereg, lock = original()
    other = lock.model_copy(update={"prereg_digest": "1" * 64})
    assert twin(prereg, lock).prereg.suites != twin(prereg, other).prereg.suites


def test_of_very_many_tasks_it_has_as_many_as_can_be_made():
    made, differs = twin(*original(tasks=MOST_TASKS + 1))
    assert made.suites[0].config["tasks"] == MOST_TASKS
    assert any("999 tasks instead of 1000" in text for text in differs)


def test_it_freezes_and_holds_no_task_of_the_original(tmp_path):
    experiment = ready(tmp_path / "e", tasks=2).experiment
    write(experiment, tmp_path / "twin")
    assert run(["freeze", str(tmp_path / "twin"), "--sandbox", "process"]) == 0
    made = load(tmp_path / "twin")
    assert made.lock.name == "test-twin"
    assert {row.trial.suite for row in made.plan} == {"shopdesk"}
    assert len({row.trial.task_id for row in made.plan}) == 2
    assert made.prereg.arms == experiment.prereg.arms
    assert "Nothing in here is a result" in (tmp_path / "twin" / "README.md").read_text()


def test_it_is_published_where_asked_for(folder, published):
    text = (folder / "twin" / "prereg.yaml").read_text()
    assert yaml.safe_load(text)["name"] == "test-twin"
    crate = json.dumps(json.loads((folder / "ro-crate-metadata.json").read_text()))
    assert "twin/prereg.yaml" in crate
    assert any(held.name == "twin/README.md" for held in published.files)
