"""The binomial distribution against scipy.stats."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from hfr_bench.stats.binomial import at_most, edge, more_than, pmf


@settings(max_examples=40, deadline=None)
@given(n=st.integers(0, 300), p=st.floats(1e-6, 1 - 1e-6), q=st.floats(1e-4, 0.999))
def test_it_is_the_one_of_scipy_stats(n, p, q):
    k = np.arange(-1, n + 1)
    ns = np.full_like(k, n)
    assert pmf(k[1:], n, p) == pytest.approx(binom.pmf(k[1:], n, p), rel=1e-9, abs=1e-200)
    assert at_most(k, ns, p) == pytest.approx(binom.cdf(k, n, p), rel=1e-9, abs=1e-200)
    assert more_than(k, ns, p) == pytest.approx(binom.sf(k, n, p), rel=1e-9, abs=1e-200)
    found = int(edge(q, np.array([n]), p)[0])
    assert binom.sf(found, n, p) <= q * (1 + 1e-9)
    assert found == 0 or binom.sf(found - 1, n, p) > q * (1 - 1e-9)


def test_the_edge_of_a_fair_coin_is_the_one_of_the_sign_test():
    n = np.arange(0, 500)
    assert (edge(0.025, n, 0.5) == np.maximum(0, binom.isf(0.025, n, 0.5))).all()


def test_large_numbers_keep_eight_digits():
    n = 1_000_000
    k = np.arange(9_000, 11_000, 10)
    assert pmf(k, n, 0.01) == pytest.approx(binom.pmf(k, n, 0.01), rel=1e-8)
