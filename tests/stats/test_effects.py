"""Single faults: paired differences to their twins, and the laws of adding them up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.terms import End
from hfr_bench.stats.bootstrap import draw, units
from hfr_bench.stats.bounds import ALIKE
from hfr_bench.stats.effects import (
    SHOWN,
    Measured,
    Pairs,
    Single,
    bounded,
    effects,
    keyed,
    pairs,
    scarce,
)
from hfr_bench.stats.estimate import SAME, TOO_FEW, Setting
from hfr_bench.stats.metrics import METRICS
from hfr_bench.testing.results import outcome, result

TASKS = 12
CALM = tuple(result(task=f"t{n:02}", rate=0.0) for n in range(TASKS))
DRAWN = units(CALM)
SETTING = Setting(
    0.0, 0.95, {unit: n for n, unit in enumerate(DRAWN)}, draw(DRAWN, 400, "seed"), ()
)
LOST = outcome(success=False)
TWICE = outcome(duplicates=1)
PERSON = outcome(success=False, end=End.ESCALATED)


def single(outcomes, kind="k", lands=None, **fields):
    """One faulted trial a task, for as many tasks as there are outcomes."""
    faulted = tuple(result(task=f"t{n:02}", of=one, **fields) for n, one in enumerate(outcomes))
    return Single(kind, "tool", lands, "a", faulted, CALM[: len(faulted)])


def found(one):
    return {row.metric: row for row in effects([one], SETTING)}


def test_an_effect_is_the_mean_difference_to_the_twins():
    rows = found(single([LOST] * 11 + [TWICE], cost_microusd=1600, latency_us=5_000_000))
    assert set(rows) == set(SHOWN)
    sr = rows["sr"]
    assert (sr.difference, sr.base, sr.better, sr.worse) == (pytest.approx(-11 / 12), 1.0, 0, 11)
    assert (sr.method, sr.faults, sr.tasks) == ("bootstrap", 12, 12)
    assert sr.low <= sr.difference <= sr.high < 0
    harm = rows["harm_1000"]
    assert (harm.difference, harm.note, harm.low) == (pytest.approx(1000 / 12), TOO_FEW, None)
    cost = rows["cost_mean"]
    assert (cost.difference, cost.low, cost.note) == (600.0, None, ALIKE)
    assert rows["latency_mean"].difference == 3_000_000
    assert rows["esc"].method == "exact"


def test_few_are_exact_none_is_said_and_unknown_prices_are():
    rows = found(single([LOST] * 3 + [outcome()] * 9))
    assert (rows["sr"].method, rows["sr"].worse) == ("exact", 3)
    assert rows["sr"].low < -0.25 < rows["sr"].high
    assert rows["harm_1000"].note == SAME
    rows = found(single([LOST] * 3, cost_microusd=None))
    assert (rows["cost_mean"].difference, rows["cost_mean"].note) == (None, "a price is unknown")
    assert rows["sr"].difference == -1.0


def test_names():
    assert [keyed("k", lands) for lands in (None, True, False)] == ["k", "k/landed", "k/lost"]


def measured(metric, singles):
    base = pairs(METRICS[metric], CALM, CALM, SETTING)
    return Measured(
        METRICS[metric],
        Pairs(METRICS[metric], base.task, base.faulted, base.faulted * 0),
        {one.key: pairs(METRICS[metric], one.faulted, one.calm, SETTING) for one in singles},
    )


OUTCOMES = st.lists(st.sampled_from([outcome(), LOST, TWICE, PERSON]), min_size=2, max_size=TASKS)
MASS = st.floats(0, 1)


@settings(max_examples=30)
@given(OUTCOMES, OUTCOMES, st.sampled_from(SHOWN))
def test_all_mass_on_one_kind_is_that_kind_s_effect(ours, others, metric):
    one, other = single(ours, "one", cost_microusd=1700), single(others, "other")
    whole = measured(metric, [one, other])
    (row,) = (row for row in effects([one], SETTING) if row.metric == metric)
    changed = whole.value({"one": 1.0}) - whole.value({})
    assert changed == pytest.approx(row.difference)
    drawn = whole.drawn({"one": 1.0, "other": 0.0}, SETTING) - whole.drawn({}, SETTING)
    if row.method == "bootstrap":
        assert np.nanmin(drawn) - 1e-9 <= row.low <= row.high <= np.nanmax(drawn) + 1e-9


@settings(max_examples=30)
@given(OUTCOMES, OUTCOMES, MASS, MASS, st.floats(0, 3), st.sampled_from(SHOWN))
def test_the_change_is_linear_in_the_masses(ours, others, a, b, times, metric):
    whole = measured(metric, [single(ours, "one"), single(others, "other")])
    base = whole.value({})
    parts = [whole.value({"one": a}) - base, whole.value({"other": b}) - base]
    both = whole.value({"one": a * times, "other": b * times}) - base
    assert both == pytest.approx(times * sum(parts), abs=1e-6)


@settings(max_examples=30)
@given(OUTCOMES, st.sampled_from(SHOWN))
def test_no_faults_at_all_are_the_fault_free_twin(ours, metric):
    whole = measured(metric, [single(ours, "one")])
    plain = measured(metric, [])
    assert whole.value({"one": 0.0}) == plain.value({}) == whole.base.value
    assert (whole.drawn({"one": 0.0}, SETTING) == plain.drawn({}, SETTING)).all()


def test_drawn_values_carry_the_mass_of_each_resample():
    whole = measured("sr", [single([LOST] * TASKS, "one")])
    mass = np.linspace(0, 1, SETTING.counts.shape[1])
    assert whole.drawn({"one": mass}, SETTING) == pytest.approx(1 - mass)


@pytest.mark.parametrize("metric", ["sr", "harm_1000"])
def test_exact_bounds_hold_the_value_and_widen_with_the_mass(metric):
    whole = measured(metric, [single([LOST] * 2 + [TWICE] * 2 + [outcome()] * 8, "one")])
    assert scarce(whole, {"one": 0.1})
    widths = []
    for mass in (0.0, 0.1, 0.5):
        low, high = bounded(whole, {"one": mass}, SETTING)
        assert low <= whole.value({"one": mass}) <= high
        widths.append(high - low)
    assert widths == sorted(widths)
    assert not scarce(measured("cost_mean", []), {})
