"""Holm, gates and joint intervals: worked examples, and what they promise.

statsmodels as an oracle: test_oracles.py.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.stats.multiplicity import gatekept, holm, simultaneous

shares = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_holm_by_hand():
    assert holm([]) == ()
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_a_family_waits_for_the_ones_before_it():
    assert gatekept([0.01, 0.02, 0.001], [1, 1, 2]) == pytest.approx((0.02, 0.02, 0.02))
    assert gatekept([0.01, 0.6, 0.001], [1, 1, 2]) == pytest.approx((0.02, 0.6, 0.6))
    assert gatekept([0.001, 0.01, 0.6], [2, 1, 1]) == pytest.approx((0.6, 0.02, 0.6))
    with pytest.raises(ValueError, match="zip"):
        gatekept([0.1], [1, 2])
    with pytest.raises(ValueError, match="borne"):
        gatekept([0.1, 0.2], [1, 2], [True])


def test_a_claim_that_its_interval_does_not_bear_shuts_the_gate():
    """Its own p stays as it is: only what comes after it waits."""
    ps, families = [0.01, 0.02, 0.001], [1, 1, 2]
    assert gatekept(ps, families, [True, False, True]) == pytest.approx((0.02, 0.02, 1.0))
    assert gatekept(ps, families, [True] * 3) == gatekept(ps, families)
    assert gatekept(ps, families, [True, True, False]) == gatekept(ps, families)


@given(shares, st.data())
def test_adjusting_never_helps(ps, data):
    families = data.draw(st.lists(st.integers(1, 3), min_size=len(ps), max_size=len(ps)))
    adjusted = gatekept(ps, families)
    assert all(p <= a <= 1 for p, a in zip(ps, adjusted, strict=True))
    assert gatekept(ps, [1] * len(ps)) == holm(ps)


def test_one_claim_alone_has_its_own_interval():
    values = np.random.default_rng(1).normal(3, 2, 20_000)
    ((low, high),) = simultaneous([3.0], [values], 0.95)
    assert (low, high) == pytest.approx((3 - 1.96 * 2, 3 + 1.96 * 2), rel=0.03)


def test_joint_intervals_cover_together():
    """Five independent means: as wide as Sidak says, and no wider where all are one."""
    rng = np.random.default_rng(2)
    apart = [rng.normal(0, 1, 40_000) for _ in range(5)]
    reach = simultaneous([0.0] * 5, apart, 0.95)[0].high
    assert reach == pytest.approx(2.569, rel=0.02)  # the normal quantile at (1 + .95 ** .2) / 2
    same = simultaneous([0.0] * 5, [apart[0]] * 5, 0.95)
    assert same[0].high == pytest.approx(1.96, rel=0.02)


def test_what_does_not_vary_has_no_joint_interval():
    some = np.random.default_rng(3).normal(0, 1, 500)
    odd = [np.zeros(500), np.full(500, np.inf), np.full(500, np.nan), np.array([]), some]
    found = simultaneous([0.0, 1.0, 1.0, 1.0, 0.0], odd, 0.95)
    assert [one.low is None for one in found] == [True] * 4 + [False]
    assert simultaneous([0.0], [np.zeros(9)], 0.95) == ((None, None),)
