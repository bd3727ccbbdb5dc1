"""Looks against the published constants; the sequence against its promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from hfr_bench.stats.sequential import confidence_sequence, looks, spent


@pytest.mark.parametrize(
    ("shares", "bounds"),
    [
        ((1.0,), (1.960,)),
        ((0.5, 1.0), (2.963, 1.969)),
        ((1 / 3, 2 / 3, 1.0), (3.710, 2.511, 1.993)),
        ((0.25, 0.5, 0.75, 1.0), (4.333, 2.963, 2.359, 2.014)),
    ],
)
def test_looks_are_the_published_ones(shares, bounds):
    assert looks(shares) == pytest.approx(bounds, abs=6e-4)


def test_spending_ends_at_its_half():
    assert spent(1.0, 0.05) == pytest.approx(0.025)
    assert spent(0.25, 0.05) < spent(0.5, 0.05) < 0.025


def test_uneven_looks_keep_the_error():
    """Simulated: a random walk that is looked at thrice crosses in 5 % of cases."""
    shares = (0.3, 0.5, 1.0)
    bounds = looks(shares)
    rng = np.random.default_rng(1)
    steps = np.diff((0.0, *shares))
    walks = np.cumsum(rng.normal(0, np.sqrt(steps), (200_000, 3)), axis=1)
    crossed = (np.abs(walks / np.sqrt(shares)) >= bounds).any(axis=1).mean()
    assert crossed == pytest.approx(0.05, abs=0.002)
    assert 2 * norm.sf(bounds[0]) == pytest.approx(2 * spent(0.3, 0.05), rel=1e-6)


@pytest.mark.parametrize("shares", [(), (0.0, 1.0), (0.5, 0.5), (0.5, 1.1), (0.8, 0.4)])
def test_looks_must_rise(shares):
    with pytest.raises(ValueError, match="rise"):
        looks(shares)


def test_the_sequence_is_never_wrong_too_often():
    """At every one of 300 looks together, in 5 % of experiments at most; here rare events."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(200):
        differences = rng.choice([-1.0, 0.0, 1.0], p=[0.02, 0.93, 0.05], size=300)
        low, high = confidence_sequence(differences)
        wrong += bool((low > 0.03).any() or (high < 0.03).any())
    assert wrong <= 10


def test_the_sequence_narrows_and_finds_a_large_effect():
    low, high = confidence_sequence([0.5, 0.3] * 300)
    assert (np.diff((high - low)[::50]) < 0).all()
    assert low[-1] > 0.3
    assert high[-1] < 0.5
    assert (low[0], high[0]) == (-1.0, 1.0)


def test_a_mean_that_drifts_is_no_contradiction():
    """Easy tasks first, hard ones after: bounds of the mean so far, and never an empty set."""
    differences = [0.8] * 300 + [-0.8] * 300
    low, high = confidence_sequence(differences)
    means = np.cumsum(differences) / np.arange(1, 601)
    assert (low <= means).all()
    assert (means <= high).all()
    assert low[299] > 0.6
    assert low[-1] < 0 < high[-1] < low[299]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.floats(0.5, 0.999))
def test_the_sequence_is_as_wide_on_either_side(differences, level):
    low, high = confidence_sequence(differences, level)
    assert (low <= high).all()
    other_low, other_high = confidence_sequence([-one for one in differences], level)
    assert other_low == pytest.approx(-high, abs=1e-9)
    assert other_high == pytest.approx(-low, abs=1e-9)


def test_poor_data():
    assert [len(part) for part in confidence_sequence([])] == [0, 0]
    for same in (0.0, 1.0, -1.0):
        low, high = confidence_sequence([same] * 50)
        assert (low <= same).all()
        assert (high >= same).all()
        assert (high > low).all()
    for odd in (1.5, np.nan):
        with pytest.raises(ValueError, match=r"\[-1, 1\]"):
            confidence_sequence([odd])
