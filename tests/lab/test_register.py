"""Freezing refuses what could not be judged, only restates the script, or cannot be planned."""

from types import SimpleNamespace

import pytest

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.register import RESTATING, TRIALS_MAX, check_design, check_hypotheses
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.prereg import FaultPlan, Hypothesis, Preregistration
from hfr_bench.model.terms import Origin
from hfr_bench.stats.estimate import PAIRED
from hfr_bench.stats.metrics import METRICS
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.rig import KINDS
from hfr_bench.testing.shop import ShopSuite


def registered(*claims, rates=(0.0, 0.1, 0.2), **fields):
    """A preregistration with claims; fields left out make a good one."""
    good = {"metric": "dup_any", "arm": "hfr", "against": "no_retry", "direction": "less"}
    made = [Hypothesis.model_validate({"id": f"H{i}"} | good | c) for i, c in enumerate(claims, 1)]
    return planned(rates=rates, hypotheses=tuple(made), **fields).prereg


def refused(prereg):
    with pytest.raises(BadInputError) as error:
        check_hypotheses(prereg)
    return str(error.value)


def test_good_claims_pass():
    check_hypotheses(registered())
    check_hypotheses(registered({}, {"rate": 0.1}, {"direction": "equal", "margin": 0.1}))


@pytest.mark.parametrize("name", [m for m in PAIRED if m not in RESTATING])
def test_every_metric_that_is_compared_may_be_claimed(name):
    check_hypotheses(registered({"metric": name}))


@pytest.mark.parametrize("name", ["SR", "sr", "Csr", "CPS", "goal_met", "official"])
def test_success_of_a_rehearsal_restates_its_script(name):
    said = refused(registered({"metric": name}))
    assert said.startswith("hypotheses.H1: ")
    assert "restates" in said


def test_success_may_be_claimed_of_a_live_run():
    check_hypotheses(registered({"metric": "sr"}, origin=Origin.LIVE))
    assert "unknown metric 'SR'" in refused(registered({"metric": "SR"}, origin=Origin.LIVE))


def test_unknown_metrics_are_refused_with_the_names_that_may_be_used():
    said = refused(registered({}, {"metric": "DUP"}))
    assert said.startswith("hypotheses.H2: unknown metric 'DUP'; there are: ")
    assert "dup_any" in said
    assert "dup_1000" in said
    offered = said.split("there are: ")[1].split(", ")
    assert not RESTATING & set(offered)
    assert set(offered) <= set(METRICS)


@pytest.mark.parametrize("name", ["far", "dup_ambiguous", "p99"])
def test_metrics_without_paired_differences_are_refused(name):
    assert "not compared in pairs" in refused(registered({"metric": name}))


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"rate": 0.3}, "rate: no 0.3; there are: 0, 0.1, 0.2"),
        ({"against": "hfr"}, "compared with itself"),
        ({"direction": "equal"}, "needs a margin above 0"),
        ({"metric": "dup_any", "margin": -3}, "0.03 is 3 percentage points"),
    ],
)
def test_claims_that_cannot_be_judged_are_refused(claim, words):
    assert words in refused(registered(claim))


def test_nothing_to_pool_is_refused():
    assert "rates above 0" in refused(registered({}, rates=(0.0,)))
    check_hypotheses(registered({"rate": 0.0}, rates=(0.0,)))


def test_ids_are_used_once():
    assert "twice" in refused(registered({}, {"id": "H1"}))


def test_the_shipped_experiment_passes():
    path = content.root() / "runs" / "first-light" / "prereg.yaml"
    prereg = content.read_record(path, Preregistration)
    assert prereg.hypotheses
    check_hypotheses(prereg)


SHOP = ShopSuite()
SHOP_BENCH = SimpleNamespace(
    tasks={("shop", task.task_id): task for task in SHOP.select_all()},
    kinds=KINDS,
    sealed=lambda _, task_id: SHOP.sealed(task_id),
)
ONE_KIND = FaultMatrix(name="m", mixes=(Mix(points=("*",), kinds={"lost": 1}),))


def designed(bench=SHOP_BENCH, matrix=ONE_KIND, agent="oracle", seeds=(1,)):
    """What freezing says of an exhaustive experiment in the shop."""
    plan = FaultPlan.model_validate({"matrix": "m", "design": "exhaustive-1"})
    fields = {"faults": plan, "agent": agent, "seeds": seeds}
    return check_design(planned().prereg.model_copy(update=fields), bench, matrix)


def test_the_sampled_design_asks_for_nothing_more():
    assert check_design(registered(), SHOP_BENCH, ONE_KIND) == ()


def test_freezing_tells_how_many_faults_the_exhaustive_design_found():
    steps = sum(
        step.actor == "agent" for task in SHOP.select_all() for step in oracle_of(task.task_id)
    )
    assert designed() == (
        f"exhaustive-1: {2 * steps} faults, one a trial, at every step of the oracle's solutions",
    )
    assert any("jitter" in note for note in designed(seeds=(1, 2)))


def oracle_of(task_id):
    return SHOP.sealed(task_id).oracle


def test_freezing_names_the_kinds_that_the_oracle_agent_never_meets():
    notes = designed(
        SimpleNamespace(**vars(SHOP_BENCH) | {"kinds": content.kinds()}), content.matrix("stress")
    )
    assert notes[1].endswith("does not meet model_429, model_500, model_529")


def test_the_exhaustive_design_needs_the_oracle_agent():
    with pytest.raises(BadInputError, match=r"needs `agent: oracle`, not 'tool_calling'"):
        designed(agent="tool_calling")


def test_an_exhaustive_experiment_without_faults_is_refused():
    nowhere = FaultMatrix(name="m", mixes=(Mix(points=("model:*",), kinds={"lost": 1}),))
    with pytest.raises(BadInputError, match="no kind of 'm' fits any step"):
        designed(matrix=nowhere)


def test_an_exhaustive_experiment_that_grows_too_large_is_refused_with_its_size():
    with pytest.raises(BadInputError, match=rf"\d+ trials, more than {TRIALS_MAX}"):
        designed(seeds=tuple(range(5000)))
