"""The sign-flip test against scipy's binomial and permutation tests, and its laws."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test

from hfr_bench.stats import signflip
from hfr_bench.stats.signflip import sign_flip

small = st.lists(st.integers(-4, 4), min_size=1, max_size=9)


@pytest.mark.parametrize(("wins", "losses"), [(8, 0), (5, 1), (15, 4), (3, 3), (70, 41)])
def test_one_trial_a_task_is_mcnemars_exact_test(wins, losses):
    found = sign_flip([1] * wins + [-1] * losses + [0] * 50, "k")
    wanted = binomtest(wins, wins + losses)
    assert found.two_sided == pytest.approx(wanted.pvalue)
    assert (found.better, found.worse, found.exact) == (wins, losses, True)
    one_sided = binomtest(wins, wins + losses, alternative="greater").pvalue
    assert found.above == pytest.approx(one_sided)


@settings(max_examples=30)
@given(small)
def test_all_assignments_are_summed(differences):
    found = sign_flip(differences, "k")
    signs = list(itertools.product((1, -1), repeat=len(differences)))
    sums = [sum(s * d for s, d in zip(sign, differences, strict=True)) for sign in signs]
    observed = sum(differences)
    assert found.above == pytest.approx(sum(s >= observed for s in sums) / len(sums))
    assert found.below == pytest.approx(sum(s <= observed for s in sums) / len(sums))


@settings(max_examples=30)
@given(small, st.permutations(range(9)), st.integers(1, 7))
def test_laws(differences, order, times):
    found = sign_flip(differences, "k")
    turned = sign_flip([-d for d in differences], "k")
    assert (turned.above, turned.below) == pytest.approx((found.below, found.above))
    mixed = [differences[n] for n in order if n < len(differences)] + [0, 0]
    assert sign_flip(mixed, "other")[2:] == found[2:]
    assert sign_flip(mixed, "other")[:2] == pytest.approx(found[:2])
    scaled = sign_flip([times * d for d in differences], "k")
    assert scaled[:2] == pytest.approx(found[:2])
    assert 0 < found.two_sided <= 1


def test_amounts_are_flipped_at_random_as_scipy_does():
    amounts = np.random.default_rng(4).normal(0.15, 1, 80)
    found = sign_flip(amounts, "k")
    assert not found.exact
    oracle = permutation_test(
        (amounts, np.zeros(80)),
        lambda a, b, axis: (a - b).sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        alternative="greater",
        rng=np.random.default_rng(1),
    )
    assert found.above == pytest.approx(oracle.pvalue, abs=0.01)
    assert sign_flip(amounts, "k") == found
    assert sign_flip(amounts, "l") != found


def test_random_flips_agree_with_the_sum_of_all():
    counts = np.random.default_rng(5).integers(-3, 4, 60)
    exact = sign_flip(counts, "k")
    rough = sign_flip(counts * 1.000000001, "k")
    assert (exact.exact, rough.exact) == (True, False)
    assert rough.above == pytest.approx(exact.above, abs=0.015)


def test_poor_data():
    for nothing in ([], [0, 0, 0]):
        assert sign_flip(nothing, "k") == (1.0, 1.0, 0, 0, True)
    assert sign_flip([5], "k").two_sided == 1.0
    assert 0 < sign_flip([1] * 3000, "k").two_sided < 1e-300
    assert sign_flip([10**13] * 20, "k").above == pytest.approx(2.0**-20)
    for odd in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            sign_flip([1, odd], "k")


def test_a_sum_beyond_reach_is_sampled():
    assert not sign_flip([1, signflip.REACH], "k").exact
