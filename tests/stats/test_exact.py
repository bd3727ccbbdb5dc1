"""Exact intervals against scipy's and against published constants."""

import numpy as np
import pytest
from scipy.stats import binomtest
from scipy.stats import poisson as poisson_law

from hfr_bench.stats.exact import (
    clopper_pearson,
    difference_interval,
    effective_n,
    poisson,
    share_interval,
)


@pytest.mark.parametrize(("n", "per_1000"), [(63, 46.4), (200, 14.9), (600, 4.98), (1800, 1.66)])
def test_zero_events_give_an_upper_bound(n, per_1000):
    low, high = clopper_pearson(0, n, 0.95)
    assert low == 0.0
    assert high is not None
    assert round(high * 1000, 1 if n < 600 else 2) == per_1000
    assert clopper_pearson(n, n, 0.95).low == pytest.approx(1 - high)


@pytest.mark.parametrize(("k", "n"), [(1, 10), (3, 63), (9, 600), (599, 600)])
def test_clopper_pearson_is_scipys(k, n):
    wanted = binomtest(k, n).proportion_ci(0.95, method="exact")
    assert clopper_pearson(k, n, 0.95) == pytest.approx((wanted.low, wanted.high))


def test_poisson_bounds_cover():
    low, high = poisson(7, 5, 0.95)
    assert poisson_law.sf(6, 5 * low) == pytest.approx(0.025)
    assert poisson_law.cdf(7, 5 * high) == pytest.approx(0.025)


def test_no_trials_no_interval():
    assert clopper_pearson(0, 0, 0.95) == (None, None)
    assert poisson(0, 0, 0.95) == (None, None)
    assert share_interval(np.zeros(3), np.zeros(3), 0.95) == (None, None)
    assert difference_interval(np.zeros(3), np.zeros(3), np.zeros(3), 0.95) == (None, None)


def test_effective_n_is_that_of_tasks_when_seeds_repeat_each_other():
    den = np.full(40, 3.0)
    alike = np.repeat([3.0, 0.0], 20)
    assert effective_n(alike, den) == 40
    assert effective_n(np.zeros(40), den) == 40
    independent = np.random.default_rng(1).binomial(3, 0.5, 40).astype(float)
    assert 80 < effective_n(independent, den) <= 120


def test_no_discordant_pair_leaves_room_on_both_sides():
    low, high = difference_interval(np.zeros(63), np.zeros(63), np.ones(63), 0.95)
    assert low is not None
    assert high is not None
    assert -low == high == pytest.approx(1 - 0.025 ** (1 / 63))


def test_a_difference_lies_within_its_bounds():
    better, worse = np.zeros(50), np.zeros(50)
    better[:6] = 1
    worse[6:8] = 1
    low, high = difference_interval(better, worse, np.ones(50), 0.95)
    assert low is not None
    assert high is not None
    assert low < (6 - 2) / 50 < high


@pytest.mark.parametrize(("wins", "losses"), [(5, 0), (6, 0), (7, 0), (8, 0), (8, 1), (9, 1)])
def test_a_difference_excludes_zero_only_where_a_sign_test_does(wins, losses):
    better, worse = np.zeros(63), np.zeros(63)
    better[:wins] = 1
    worse[wins : wins + losses] = 1
    low, high = difference_interval(better, worse, np.ones(63), 0.95)
    assert low is not None
    assert difference_interval(worse, better, np.ones(63), 0.95) == pytest.approx((-high, -low))
    if low > 0:
        assert binomtest(wins, wins + losses).pvalue < 0.05
    if (wins, losses) == (8, 0):
        assert low > 0
