"""Amendments: the text carried over, the parents beside it, late hypotheses exploratory."""

import pytest

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.amending import after_data, amend, confirmatory, lineage, rejoined
from hfr_bench.model.prereg import Hypothesis, Preregistration
from hfr_bench.model.report import HypothesisRow
from hfr_bench.testing.bundled import ready
from hfr_bench.testing.experiments import planned

CLAIM = {"id": "H1", "metric": "dup_any", "arm": "hfr", "against": "no_retry", "direction": "less"}


def amended(toy, out, reason="a reason", **edits):
    """A child in `out` with its text edited; returns its registration."""
    experiment = toy.experiment
    amend(experiment.prereg, experiment.lock, experiment.path, out, reason)
    path = out / "prereg.yaml"
    text = path.read_text()
    for old, new in edits.items():
        text = text.replace(old, new)
    path.write_text(text)
    return content.read_record(path, Preregistration)


def test_a_child_is_its_parent_with_a_reason_and_what_was_seen(toy, tmp_path):
    child = amended(toy, tmp_path / "child", 'new: "margin" # really')
    parent = toy.experiment.prereg
    assert child.amends == parent.digest()
    assert child.amendment.reason == 'new: "margin" # really'
    assert child.amendment.trials_seen == len(toy.experiment.plan)
    assert child.amendment.parent_frozen_at == toy.experiment.lock.frozen_at
    assert child.model_copy(update={"amends": None, "amendment": None}) == parent
    (found,) = lineage(tmp_path / "child", child)
    assert (found.prereg, found.lock) == (parent, toy.experiment.lock)


def test_a_grandchild_carries_all_its_parents_and_adds_up_what_was_seen(toy, tmp_path):
    child = amended(toy, tmp_path / "child")
    lock = toy.experiment.lock.model_copy(update={"prereg_digest": child.digest()})
    (tmp_path / "child" / "prereg.lock.json").write_text(lock.dumps())
    seen = amend(child, lock, tmp_path / "child", tmp_path / "grandchild", "again")
    assert seen == len(toy.experiment.plan)  # the child itself has run nothing
    made = content.read_record(tmp_path / "grandchild" / "prereg.yaml", Preregistration)
    assert made.amends == child.digest()
    assert made.amendment.reason == "again"
    assert len(lineage(tmp_path / "grandchild", made)) == 2


def test_comments_stay(tmp_path):
    toy = ready(tmp_path / "e", tasks=1)
    path = tmp_path / "e" / "prereg.yaml"
    path.write_text("# why so\n" + path.read_text())
    amended(toy, tmp_path / "child")
    assert (tmp_path / "child" / "prereg.yaml").read_text().startswith("# why so\n")


def test_nothing_is_overwritten_and_a_reason_is_given(toy, tmp_path):
    experiment = toy.experiment
    whole = experiment.prereg, experiment.lock, experiment.path
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "x").write_text("mine")
    with pytest.raises(BadInputError, match="is there already"):
        amend(*whole, tmp_path / "used", "why")
    with pytest.raises(BadInputError, match="say why"):
        amend(*whole, tmp_path / "new", "  ")
    assert not (tmp_path / "new").exists()


def test_parents_that_lack_or_are_others_are_told(toy, tmp_path):
    child = amended(toy, tmp_path / "child")
    (parent,) = (tmp_path / "child" / "parents").glob("*.yaml")
    parent.write_text(parent.read_text().replace("title: A test", "title: Another"))
    with pytest.raises(BadInputError, match="is not the registration"):
        lineage(tmp_path / "child", child)
    parent.unlink()
    with pytest.raises(BadInputError, match="`hfr-bench amend DIR` puts it there"):
        lineage(tmp_path / "child", child)
    with pytest.raises(BadInputError, match="amendment: of what"):
        lineage(tmp_path, child.model_copy(update={"amends": None}))


def test_an_older_amendment_without_parents_is_taken_as_it_is(tmp_path):
    assert lineage(tmp_path, planned(amends="0" * 64).prereg) == ()
    assert lineage(tmp_path, planned().prereg) == ()


def late(toy, out, *claims, **fields):
    """Which of the claims of a child come after data."""
    child = amended(toy, out)
    made = tuple(Hypothesis.model_validate(CLAIM | claim) for claim in claims)
    child = child.model_copy(update={"hypotheses": made} | fields)
    return after_data(child, lineage(out, child))


def test_new_and_changed_hypotheses_are_exploratory(toy, tmp_path):
    assert late(toy, tmp_path / "a", {}, {"id": "H2", "margin": 0.1}) == ("H1", "H2")


def test_hypotheses_that_stay_are_tested_unless_their_arm_changes(toy, tmp_path):
    child = amended(toy, tmp_path / "a")
    claims = (Hypothesis.model_validate(CLAIM),)
    child = child.model_copy(update={"hypotheses": claims})
    (parent,) = lineage(tmp_path / "a", child)
    had = parent._replace(prereg=parent.prereg.model_copy(update={"hypotheses": claims}))
    assert after_data(child, [had]) == ()
    other = [arm.model_copy(update={"config": {"x": 1}}) if arm.name == "hfr" else arm
             for arm in child.arms]  # fmt: skip
    assert after_data(child.model_copy(update={"arms": tuple(other)}), [had]) == ("H1",)


def test_without_trials_nothing_is_late(toy, tmp_path):
    child = amended(toy, tmp_path / "a")
    unseen = child.amendment.model_copy(update={"trials_seen": 0})
    claims = (Hypothesis.model_validate(CLAIM),)
    child = child.model_copy(update={"hypotheses": claims, "amendment": unseen})
    assert after_data(child, lineage(tmp_path / "a", child)) == ()


def test_late_claims_are_shown_untested_in_their_place():
    two = tuple(Hypothesis.model_validate(CLAIM | {"id": name}) for name in ("H1", "H2"))
    plan = planned(hypotheses=two)
    lock = plan.lock.model_copy(update={"after_data": ("H1",)})
    assert [claim.id for claim in confirmatory(plan.prereg, lock).hypotheses] == ["H2"]
    assert confirmatory(plan.prereg, plan.lock) is plan.prereg
    rows = [
        HypothesisRow(id=name, metric="dup_any", arm="hfr", against="no_retry", direction="less",
                      rate=None, difference=-0.5, verdict="supported", why="w")
        for name in ("H1", "H2")
    ]  # fmt: skip
    tested = rows[1].model_copy(update={"p": 0.01})
    fields = rejoined({"hypotheses": (tested,)}, rows, lock)
    assert [row.id for row in fields["hypotheses"]] == ["H1", "H2"]
    assert fields["hypotheses"][0].verdict == "cannot be told"
    assert fields["hypotheses"][0].p is None
    assert "exploratory" in fields["hypotheses"][0].why
    assert fields["hypotheses"][1] is tested


def test_parents_and_token_travel_in_the_bundle(tmp_path):
    toy = ready(tmp_path / "e", tasks=2)
    folder = tmp_path / "e"
    (folder / "parents").mkdir()
    (folder / "parents" / "0123456789ab.yaml").write_text("v: 1\n")
    (folder / "prereg.lock.json.tsr").write_bytes(b"token")
    out = toy.bundle(tmp_path / "b", drawn=False)
    assert (out / "parents" / "0123456789ab.yaml").is_file()
    assert (out / "prereg.lock.json.tsr").read_bytes() == b"token"
