"""The front over shared resamples: dominated arms are off it, equal ones on it together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hfr_bench.stats.bootstrap import draw, units
from hfr_bench.stats.estimate import Setting
from hfr_bench.stats.pareto import SPENT, membership, on_front
from hfr_bench.testing.results import outcome, result

GOOD, BAD, DUP = outcome(), outcome(success=False), outcome(duplicates=1, ambiguous_writes=1)


def made(arm, outcomes, **fields):
    return [result(arm, f"t{i:03d}", of=of, **fields) for i, of in enumerate(outcomes)]


def front(*arms, metric="cost_mean"):
    by_arm = {trials[0].arm: trials for trials in arms}
    drawn = units([one for trials in arms for one in trials])
    index = {unit: i for i, unit in enumerate(drawn)}
    setting = Setting(0.1, 0.95, index, draw(drawn, 500, "seed"))
    return membership(by_arm, setting)[metric]


def test_who_is_beaten_in_all_three_is_off_in_every_resample():
    found = front(made("a", [GOOD] * 20, cost_microusd=5), made("b", [BAD] * 20, cost_microusd=9))
    assert found["a"] == (True, 1.0, 500)
    assert found["b"] == (False, 0.0, 500)


def test_equal_arms_are_on_it_together():
    some = [GOOD, BAD] * 10
    found = front(made("a", some, cost_microusd=5), made("b", some, cost_microusd=5))
    assert found["a"] == found["b"] == (True, 1.0, 500)


def test_harm_alone_may_keep_an_arm_on_it():
    safe, fast = made("a", [BAD] * 20, cost_microusd=9), made("b", [DUP] * 20, cost_microusd=5)
    assert front(safe, fast)["a"].on_front
    assert front(safe, fast)["b"].on_front


def test_a_close_race_is_told_as_one():
    """b is one success ahead and costs more; in resamples without that task a beats it."""
    a = made("a", [GOOD] * 10 + [BAD] * 10, cost_microusd=5)
    b = made("b", [GOOD] * 11 + [BAD] * 9, cost_microusd=6)
    found = front(a, b)
    assert found["b"].on_front
    assert found["b"].share == pytest.approx(1 - (19 / 20) ** 20, abs=0.07)
    assert found["a"].share == 1.0


def test_an_unknown_price_takes_the_arm_out_of_that_front_only():
    a = made("a", [GOOD] * 20, cost_microusd=None, latency_us=5)
    b = made("b", [GOOD] * 20, cost_microusd=5, latency_us=9)
    assert set(front(a, b)) == {"b"}
    assert front(a, b, metric="p95")["a"].on_front
    assert not front(a, b, metric="p95")["b"].on_front


def test_few_tasks_are_no_sample():
    found = front(made("a", [GOOD] * 9, cost_microusd=5), made("b", [BAD] * 9, cost_microusd=9))
    assert (found["a"], found["b"]) == ((True, None, 0), (False, None, 0))


def test_without_trials_there_is_no_front():
    setting = Setting(0.1, 0.95, {}, np.zeros((0, 10), dtype=np.int32))
    assert membership({"a": [], "b": []}, setting) == {metric: {} for metric in SPENT}


points = arrays(np.float64, (4, 3, 2), elements=st.integers(0, 3).map(float))


@given(points)
def test_somebody_is_always_on_it_and_whoever_is_off_is_beaten_by_one_on_it(drawn):
    kept = on_front(drawn)
    sign = np.array([-1.0, 1.0, 1.0])
    for r in range(2):
        assert kept[:, r].any()
        for i in range(4):
            one = drawn[i, :, r] * sign
            beaten = [
                bool((drawn[j, :, r] * sign <= one).all() and (drawn[j, :, r] * sign < one).any())
                for j in range(4)
                if kept[j, r]
            ]
            assert any(beaten) == (not kept[i, r])


@settings(max_examples=30)
@given(points, st.permutations(range(4)))
def test_the_order_of_the_arms_says_nothing(drawn, order):
    assert (on_front(drawn[list(order)]) == on_front(drawn)[list(order)]).all()
