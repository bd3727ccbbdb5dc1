"""The further metrics against values made by hand."""

import pytest

from hfr_bench.model.measures import CheckSums, Measures
from hfr_bench.model.terms import CheckLevel, End
from hfr_bench.stats.further import FURTHER, FURTHER_PAIRED, Judged
from hfr_bench.stats.metrics import METRICS, value
from hfr_bench.testing.results import outcome, result

CALLED = {"success": False, "end": End.ESCALATED, "goal_met": False}
NONE, MET, PERSON = Measures(), Measures(met=True), Measures(met=True, person=True)


def judged(of, measures=NONE, twin=None, **fields):
    fields = {"tokens_in": 10, "tokens_out": 2, "reads": 1} | fields
    made = None if twin is None else result(of=outcome(official=twin), rate=0.0)
    return Judged(result(of=of, **fields), measures, made)


TRIALS = (
    judged(outcome(), MET._replace(safe_us=30, unanswered_microusd=200)),
    judged(outcome(**CALLED), PERSON._replace(safe_us=50)),
    judged(outcome(**CALLED), MET),
    judged(outcome(success=False), PERSON),
    judged(outcome(), PERSON._replace(safe_us=10)),
    judged(outcome(duplicates=1), PERSON),
    judged(outcome(official=0.25, degraded_steps=1), twin=1.0),
    judged(outcome(official=0.5, degraded_steps=1)),  # without a twin
)


def test_by_hand():
    got = {name: value(metric, TRIALS) for name, metric in FURTHER.items()}
    expected = {
        "esc_needed": 1 / 8,
        "esc_needless": 1 / 8,
        "esc_missed": 2 / 8,
        "never_safe": 3 / 8,
        "safe_mean": 90 / 3,
        "wasted_mean": 3200 / 8,
        "wasted_share": 3200 / 8000,
        "tokens_mean": 12.0,
        "calls_mean": 3.0,
        "quality_delta": -750_000.0,
        "alpha_v2": None,
    }
    assert {name: got[name] for name in expected} == expected


def test_checks_have_denominators_of_their_own():
    sums = CheckSums(CheckLevel.SEMANTIC, altered=4, let=1, intact=10, barred=2, undecided=9)
    trials = [judged(outcome(), Measures(checks=(sums,))), judged(outcome())]
    assert value(FURTHER["alpha_v2"], trials) == 1 / 4
    assert value(FURTHER["beta_v2"], trials) == 2 / 10
    assert value(FURTHER["alpha_v0"], trials) is None


@pytest.mark.parametrize("name", ["wasted_mean", "wasted_share"])
def test_an_unknown_price_is_not_guessed(name):
    assert value(FURTHER[name], [*TRIALS, judged(outcome(), cost_microusd=None)]) is None


def test_names_are_the_metrics_own_and_subsets_are_not_paired():
    assert not FURTHER.keys() & METRICS.keys()
    assert all(name == metric.name for name, metric in FURTHER.items())
    assert {"esc_needless", "calls_mean", "tokens_mean", "wasted_mean"} <= set(FURTHER_PAIRED)
    assert not {"safe_mean", "quality_delta", "alpha_v1"} & set(FURTHER_PAIRED)
