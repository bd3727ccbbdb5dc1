"""Utility, break-even prices, regret, and risk against coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.terms import End
from hfr_bench.model.worth import PriceRatios
from hfr_bench.stats.bootstrap import draw, units
from hfr_bench.stats.estimate import Setting
from hfr_bench.stats.utility import coverage, utilities
from hfr_bench.testing.results import outcome, result

GOOD, BAD, DUP = outcome(), outcome(success=False), outcome(duplicates=1)
CALLED = outcome(success=False, end=End.ESCALATED)


def made(arm, ends, **fields):
    return [result(arm, task=f"t{n:03}", of=end, **fields) for n, end in enumerate(ends)]


def told(arms, prices, oracle=None):
    drawn = units(trial for trials in arms.values() for trial in trials)
    index = {unit: n for n, unit in enumerate(drawn)}
    setting = Setting(0.0, 0.95, index, draw(drawn, 400, "seed"))
    rows = utilities(arms, prices, setting, next(iter(arms)), oracle)
    return {(row.arm, row.human, row.harm): row for row in rows}


def test_by_hand_with_break_even_prices():
    arms = {
        "careful": made("careful", [GOOD] * 30 + [CALLED] * 20 + [BAD] * 10),
        "hasty": made("hasty", [GOOD] * 34 + [DUP] * 16 + [BAD] * 10),
    }
    found = told(arms, PriceRatios(human=(0.0, 0.5), harm=(0.0, 2.0)))
    assert found["careful", 0.5, 2.0].value == pytest.approx((30 - 0.5 * 20) / 60)
    hasty = found["hasty", 0.5, 2.0]
    assert hasty.value == pytest.approx((50 - 2 * 16) / 60)
    assert hasty.difference == pytest.approx(-2 / 60)
    assert hasty.difference_low < hasty.difference < hasty.difference_high
    # 20 more successes and 20 fewer people against 16 more harmful effects
    assert hasty.even_harm == pytest.approx((20 + 0.5 * 20) / 16)
    assert found["hasty", 0.0, 0.0].even_harm == pytest.approx(20 / 16)
    # at 2 a harmful effect, people would have to cost (16 * 2 - 20) / 20
    assert hasty.even_human == pytest.approx(12 / 20)
    assert found["hasty", 0.0, 0.0].even_human is None  # it is better at any price of people
    assert found["careful", 0.0, 0.0].difference is None


def test_at_its_break_even_price_an_arm_is_worth_the_same():
    arms = {
        "a": made("a", [GOOD] * 20 + [CALLED] * 20),
        "b": made("b", [GOOD] * 30 + [DUP] * 10),
    }
    even = told(arms, PriceRatios(human=(0.25,), harm=(0.0,)))["b", 0.25, 0.0].even_harm
    again = told(arms, PriceRatios(human=(0.25,), harm=(even,)))["b", 0.25, even]
    assert again.difference == pytest.approx(0.0, abs=0.001)


def test_regret_is_what_the_arm_that_sees_the_truth_has_more():
    arms = {
        "base": made("base", [BAD] * 20 + [GOOD] * 20),
        "truth": made("truth", [GOOD] * 40),
    }
    found = told(arms, PriceRatios(human=(0.0,), harm=(0.0,)), "truth")
    row = found["base", 0.0, 0.0]
    assert row.regret == 0.5
    assert row.regret_low < 0.5 < row.regret_high
    assert found["truth", 0.0, 0.0].regret is None
    assert found["truth", 0.0, 0.0].difference == 0.5


def test_few_that_differ_give_no_interval_rather_than_a_false_one():
    arms = {"a": made("a", [GOOD] * 40), "b": made("b", [GOOD] * 35 + [DUP] * 5)}
    row = told(arms, PriceRatios(human=(0.0,), harm=(1.0,)))["b", 0.0, 1.0]
    assert row.value == pytest.approx(35 / 40)
    assert (row.low, row.difference_low) == (None, None)


ENDS = st.lists(st.sampled_from([GOOD, BAD, DUP, CALLED]), max_size=30)


@given(ENDS, st.floats(0, 10), st.floats(0, 10))
def test_any_table_gives_finite_numbers_or_none(ends, human, harm):
    arms = {"a": made("a", ends), "b": made("b", [GOOD] * len(ends))}
    for row in told(arms, PriceRatios(human=(human,), harm=(harm,)), "b").values():
        numbers = row.model_dump(exclude={"v", "arm", "n"}).values()
        assert all(number is None or np.isfinite(number) for number in numbers)
        assert (row.low is None) == (row.high is None)
        assert row.low is None or row.low < row.high
        assert (row.value is None) is (not ends)


def test_risk_against_coverage():
    wrong = outcome(goal_met=False)  # accepted, and false
    trials = [
        *(result(task=f"a{n}", attempts=2) for n in range(6)),
        *(result(task=f"b{n}", attempts=3, of=DUP) for n in range(2)),
        *(result(task=f"c{n}", attempts=9, of=wrong) for n in range(1)),
        result(task="d", attempts=90, of=CALLED),
    ]
    drawn = units(trials)
    index = {unit: n for n, unit in enumerate(drawn)}
    found = list(coverage({"a": trials}, Setting(0.0, 0.95, index, draw(drawn, 10, "s"))))
    assert [(row.extra, row.covered, row.wrong) for row in found] == [
        (0, 6, 0), (1, 8, 2), (2, 8, 2), (4, 8, 2), (None, 9, 3),
    ]  # fmt: skip
    assert all(row.n == 10 and row.low <= row.wrong / row.covered <= row.high for row in found)


def test_an_arm_that_accepts_nothing_has_no_risk():
    trials = made("a", [CALLED] * 3)
    index = {unit: n for n, unit in enumerate(units(trials))}
    (row,) = coverage({"a": trials}, Setting(0.0, 0.95, index, draw(units(trials), 10, "s")))
    assert (row.covered, row.wrong, row.low, row.high) == (0, 0, None, None)
