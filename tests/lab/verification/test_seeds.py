"""Level 3 of committed seeds: the seed told is held to its digest, the frozen tasks to the seed."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hfr_bench.faults import sampling
from hfr_bench.lab.sampling import told
from hfr_bench.lab.verification.frozen import Frozen
from hfr_bench.lab.verification.seeds import LATER, REGROWN, TOLD, seeds
from hfr_bench.model.bundle import Content, TaskPoints
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.record import text_digest
from hfr_bench.model.registered import Sample
from hfr_bench.ports.suite import Committed
from hfr_bench.suites.shopdesk import ShopdeskSuite
from hfr_bench.testing.bundled import KINDS, MATRIX
from hfr_bench.testing.experiments import planned

SEED = "long and drawn"
DESK = SuiteSelection(
    suite="shopdesk", pool="base", config={"seed_digest": text_digest(SEED), "tasks": 14}
)


def frozen(selection=DESK, seed=SEED, tell=SEED):
    """What freezing a registration of the order desk gives, whose tasks are of `seed`."""
    pin, tasks = ShopdeskSuite.regrown(seed, selection.model_copy(update={"sample": None}))
    plan = planned(suites=(selection,))
    update = {"sources": (pin,)}
    if selection.sample is not None:
        strata = dict.fromkeys(pin.tasks, "all")
        taken = sampling.drawn(strata, selection.sample.n, selection.sample.seed, "shopdesk")
        listed = selection.model_copy(update={"sample": None, "pool": None, "tasks": taken})
        pin, tasks = ShopdeskSuite.regrown(seed, listed)
        drawn = told("shopdesk", selection.sample, strata, taken)
        update = {"sources": (pin,), "samples": (drawn,)}
    points = (
        TaskPoints(suite=t.suite, task_id=t.task_id, source_digest=t.source_digest,
                   fault_points=t.fault_points)
        for t in tasks
    )  # fmt: skip
    told_ = {} if tell is None else {selection.suite: tell}
    content = Content(matrix=MATRIX, kinds=KINDS, tasks=tuple(points), seeds=told_)
    return Frozen(plan.prereg, plan.lock.model_copy(update=update), plan.rows, content)


def found(of, later=None):
    return {check.check: check for check in seeds(of, later)}


def with_pin(of, **update):
    (pin,) = of.lock.sources
    sources = (pin.model_copy(update=update),)
    return of._replace(lock=of.lock.model_copy(update={"sources": sources}))


def test_a_registration_that_commits_to_none_has_no_such_check():
    selection = DESK.model_copy(update={"config": {"seed": SEED, "tasks": 14}})
    assert found(frozen(selection, tell=None)) == {}


def test_the_order_desk_makes_its_tasks_again_without_a_host():
    assert isinstance(ShopdeskSuite, Committed)
    checks = found(frozen())
    assert {title: check.ok for title, check in checks.items()} == {TOLD: True, REGROWN: True}
    assert {check.level for check in checks.values()} == {3}
    assert checks[REGROWN].detail == "14 of shopdesk"
    assert text_digest(SEED)[:12] in checks[TOLD].detail


def test_a_sample_is_of_the_tasks_that_the_seed_gives():
    selection = DESK.model_copy(update={"sample": Sample(n=5, seed=3)})
    of = frozen(selection)
    assert found(of)[REGROWN].ok is True
    (sample,) = of.lock.samples
    pool = dict(list(sample.pool.items())[1:])
    samples = (sample.model_copy(update={"pool": pool}),)
    check = found(of._replace(lock=of.lock.model_copy(update={"samples": samples})))[REGROWN]
    assert (check.ok, "drawn from other tasks" in check.detail) == (False, True)


def test_a_seed_in_the_registration_itself_is_told_there():
    selection = DESK.model_copy(update={"config": DESK.config | {"seed": SEED}})
    checks = found(frozen(selection, tell=None))
    assert [check.ok for check in checks.values()] == [True, True]


def test_a_seed_that_is_not_told_rests_on_the_makers_word():
    (check,) = seeds(frozen(tell=None))
    assert (check.check, check.ok) == (TOLD, None)
    assert check.detail.startswith("not told, of shopdesk: ")


def test_a_wrong_seed_is_named():
    (check,) = seeds(frozen(tell="another"))
    assert (check.check, check.ok) == (TOLD, False)
    for digest in (text_digest("another"), text_digest(SEED)):
        assert digest[:12] in check.detail


def test_a_seed_that_was_told_later_counts_as_if_it_lay_in_the_bundle():
    checks = found(frozen(tell=None), {"shopdesk": SEED})
    assert {title: check.ok for title, check in checks.items()} == {TOLD: True, REGROWN: True}
    assert checks[TOLD].detail.endswith(f"from {LATER}")
    tasks = found(frozen(seed="a seed that suits us", tell=None), {"shopdesk": SEED})
    assert (tasks[TOLD].ok, tasks[REGROWN].ok) == (True, False)


@pytest.mark.parametrize(("tell", "later"), [(None, "x"), (SEED, "x"), ("x", SEED), ("x", "x")])
def test_no_telling_hides_another(tell, later):
    check = found(frozen(tell=tell), {"shopdesk": later})[TOLD]
    assert check.ok is False
    wrong = [where for where, seed in (("content.json", tell), (LATER, later)) if seed == "x"]
    assert [where for where in ("content.json", LATER) if f"{where}: the seed" in check.detail] == (
        wrong
    )


def test_tasks_of_another_seed_than_was_committed_to():
    """The maker looked at one set of tasks, committed to another, and told the seed of that."""
    check = found(frozen(seed="a seed that suits us"))[REGROWN]
    assert check.ok is False
    assert "they are not the 14 made" in check.detail


def test_tasks_that_were_left_out_or_changed():
    of = frozen()
    (pin,) = of.lock.sources
    assert found(with_pin(of, tasks=pin.tasks[1:]))[REGROWN].ok is False
    changed = pin.task_digests | {pin.tasks[2]: "0" * 64}
    check = found(with_pin(of, task_digests=changed))[REGROWN]
    assert (check.ok, pin.tasks[2] in check.detail) == (False, True)
    assert found(with_pin(of, domains={"desk.seed": "0" * 64}))[REGROWN].ok is False


def test_fault_points_that_are_not_the_tasks():
    of = frozen()
    first, *others = of.content.tasks
    first = first.model_copy(update={"fault_points": first.fault_points[1:]})
    content = of.content.model_copy(update={"tasks": (first, *others)})
    check = found(of._replace(content=content))[REGROWN]
    assert (check.ok, "other fault points" in check.detail) == (False, True)


@pytest.mark.parametrize("update", [{"version": "0.0.1, generator 1"}, {"content_digest": "0"}])
def test_another_state_of_the_suite_that_gives_other_tasks(update):
    assert found(with_pin(frozen(), **update))[REGROWN].ok is True  # it gives the same tasks
    checks = found(with_pin(frozen(seed="another"), **update))
    assert (checks[TOLD].ok, checks[REGROWN].ok) == (True, None)
    assert checks[REGROWN].detail.startswith("only the digest was checked: suite shopdesk was ")


@pytest.mark.parametrize(
    ("suite", "why"), [("strangers", "is not installed here"), ("tau2", "makes no tasks of a seed")]
)
def test_a_suite_that_cannot_make_them_here(suite, why):
    of = frozen()
    prereg = of.prereg.model_copy(update={"suites": (DESK.model_copy(update={"suite": suite}),)})
    content = of.content.model_copy(update={"seeds": {suite: SEED}})
    checks = found(of._replace(prereg=prereg, content=content))
    assert (checks[TOLD].ok, checks[REGROWN].ok) == (True, None)
    assert why in checks[REGROWN].detail


def test_a_seed_that_nobody_committed_to():
    selection = DESK.model_copy(update={"config": {"seed": SEED, "tasks": 14}})
    (check,) = seeds(frozen(selection))
    assert (check.ok, "none was committed to" in check.detail) == (False, True)


def test_a_pool_that_there_is_not():
    of = frozen()
    prereg = of.prereg.model_copy(update={"suites": (DESK.model_copy(update={"pool": "all"}),)})
    check = found(of._replace(prereg=prereg))[REGROWN]
    assert (check.ok, "has no pool 'all'" in check.detail) == (False, True)


@settings(max_examples=30, deadline=None)
@given(promised=st.text(min_size=1), tell=st.text(min_size=1))
@example(promised="1", tell="1 ")
@example(promised="é", tell="é".encode().decode("latin1"))
def test_only_the_very_text_that_was_committed_to_fits(promised, tell):
    config = {"seed_digest": text_digest(promised), "tasks": 1}
    chosen = DESK.model_copy(update={"config": config})
    checks = found(frozen(chosen, seed=promised, tell=tell))
    assert checks[TOLD].ok is (promised == tell)
    assert found(frozen(chosen, seed=promised, tell=promised))[REGROWN].ok is True
