"""Level 1 of what only some registrations have: each lie fails, and names itself."""

import pytest

from hfr_bench.lab.powered import claims
from hfr_bench.lab.register import LOCK, TOKEN
from hfr_bench.lab.sampling import resolved
from hfr_bench.lab.verification.files import Work
from hfr_bench.lab.verification.registered import registered
from hfr_bench.model.bundle import Bundle
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.registered import Amendment, Sample
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.shop import ShopSuite, oracles

CLAIM = {"id": "H1", "metric": "dup_any", "arm": "hfr", "against": "no_retry", "direction": "less"}
SAMPLE = Sample(n=4, seed=3)
SUITES = (SuiteSelection(suite="shop", sample=SAMPLE),)


@pytest.fixture
def work(tmp_path):
    says = Bundle(name="n", title="t", origin="rehearsal", prereg_digest="", traces_digest="",
                  harness_version="", complete=True, valid=True, trials_planned=0,
                  trials_analysed=0, control_trials=0, groups_dropped=0)  # fmt: skip
    return Work(says, tmp_path)


@pytest.fixture(scope="module")
def frozen():
    """A registration with a sample and a claim, and its lock."""
    plan = planned(suites=SUITES, hypotheses=(CLAIM,))
    chosen, sample = resolved(SUITES[0], ShopSuite(tasks=oracles(9)))
    pin = SourcePin(suite="shop", distribution="d", version="1", content_digest="",
                    tasks=chosen.tasks, task_digests={})  # fmt: skip
    found = claims(plan.prereg, (4,))
    update = {"sources": (pin,), "samples": (sample,), "claims": found}
    return plan.prereg, plan.lock.model_copy(update=update)


def told(work, prereg, lock):
    return {check.check: check for check in registered(work, prereg, lock)}


def test_what_has_none_of_it_is_not_checked(work):
    plan = planned()
    assert told(work, plan.prereg, plan.lock) == {}


def test_a_true_lock_passes(work, frozen):
    found = told(work, *frozen)
    assert [check.ok for check in found.values()] == [True, True, True]
    assert "4 of 9 tasks of shop" in found["the samples are drawn again alike"].detail


def wrong(work, prereg, lock, title="the samples are drawn again alike"):
    check = told(work, prereg, lock)[title]
    assert check.ok is False
    return check.detail


def test_tasks_that_were_not_drawn(work, frozen):
    prereg, lock = frozen
    (pin,) = lock.sources
    other = next(task for task in lock.samples[0].pool if task not in pin.tasks)
    pin = pin.model_copy(update={"tasks": (*pin.tasks[:-1], other)})
    said = wrong(work, prereg, lock.model_copy(update={"sources": (pin,)}))
    assert "other tasks are drawn again" in said


def test_another_seed_size_or_pool(work, frozen):
    prereg, lock = frozen
    for update in ({"seed": 4}, {"n": 3}, {"n": 99}):
        sample = SAMPLE.model_copy(update=update)
        suites = (SUITES[0].model_copy(update={"sample": sample}),)
        assert wrong(work, prereg.model_copy(update={"suites": suites}), lock)
    listed = (SUITES[0].model_copy(update={"tasks": ("shop/1",)}),)
    said = wrong(work, prereg.model_copy(update={"suites": listed}), lock)
    assert "the pool has other tasks" in said


def test_strata_counted_otherwise(work, frozen):
    prereg, lock = frozen
    (sample,) = lock.samples
    first = sample.strata[0].model_copy(update={"drawn": 9})
    sample = sample.model_copy(update={"strata": (first, *sample.strata[1:])})
    said = wrong(work, prereg, lock.model_copy(update={"samples": (sample,)}))
    assert said == "shop: the lock counts the strata otherwise"


def test_a_sample_that_only_one_of_them_has(work, frozen):
    prereg, lock = frozen
    assert "not both" in wrong(work, prereg, lock.model_copy(update={"samples": ()}))
    plain = prereg.model_copy(update={"suites": (SuiteSelection(suite="shop"),)})
    assert "not both" in wrong(work, plain, lock)
    foreign = lock.samples[0].model_copy(update={"suite": "other"})
    both = lock.model_copy(update={"samples": (*lock.samples, foreign)})
    assert "other: is not registered" in wrong(work, prereg, both)


def test_effects_that_were_made_smaller(work, frozen):
    prereg, lock = frozen
    title = "detectable effects are worked out again"
    claim = lock.claims[0].model_copy(update={"detectable": 0.01})
    assert "H1: detectable is 0.01" in wrong(
        work, prereg, lock.model_copy(update={"claims": (claim,)}), title
    )
    two = lock.model_copy(update={"claims": lock.claims * 2})
    assert "other hypotheses" in wrong(work, prereg, two, title)


def test_an_amendment_without_its_parent(work, frozen):
    prereg, lock = frozen
    amended = {"amends": "a" * 64, "amendment": Amendment(reason="r", trials_seen=1)}
    title = "amendments lead back to what they amend"
    said = wrong(work, prereg.model_copy(update=amended), lock, title)
    assert "parents/aaaaaaaaaaaa.yaml is not there" in said
    assert str(work.folder) not in said
    late = lock.model_copy(update={"after_data": ("H1",)})
    assert "other hypotheses were changed" in wrong(work, prereg, late, title)


def test_a_tag_is_told_and_a_token_looked_at(work, frozen):
    prereg, lock = frozen
    (work.folder / LOCK).write_text("{}")
    (work.folder / TOKEN).write_bytes(b"nothing")
    found = told(work, prereg, lock.model_copy(update={"git": "commit c, tag t"}))
    assert found["a git tag holds its digest"].ok is None
    assert found["a timestamp is over this lock"].ok is False
