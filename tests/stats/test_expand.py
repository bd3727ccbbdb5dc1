"""Percentiles read further out: as far as a t interval asks, and back again."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm, t

from hfr_bench.stats.expand import reach, read_at, told

levels, sizes = st.floats(0.5, 0.999), st.integers(2, 500)


@pytest.mark.parametrize(("units", "level"), [(10, 0.98290), (30, 0.96249), (200, 0.95195)])
def test_percentiles_of_few_units_are_read_further_out(units, level):
    """Of 10: t = 2.262, times sqrt(10/9), is a normal 2.385, and beyond that lie 0.85 %."""
    assert read_at(0.95, units) == pytest.approx(level, abs=1e-5)


@given(level=levels, units=sizes)
def test_it_is_the_width_of_a_t_interval(level, units):
    tail = (1 - read_at(level, units)) / 2
    asked = t.isf((1 - level) / 2, units - 1) * (units / (units - 1)) ** 0.5
    assert norm.isf(tail) == pytest.approx(asked, rel=1e-6) or tail < 1e-15
    assert level <= read_at(level, units) <= 1


@given(level=levels, units=st.integers(10, 500), strata=st.integers(1, 5))
def test_the_p_of_a_share_is_small_exactly_where_the_percentile_lies_beyond(level, units, strata):
    tail = (1 - read_at(level, units, strata)) / 2
    assume(tail > 1e-12)  # beyond, 1 less a level has too few digits
    for share in (tail * 0.999, tail * 1.001):
        assert (told(share, units, strata) < (1 - level) / 2) == (share < tail)


@given(z=st.floats(0.1, 4), units=st.integers(10, 500))
def test_standard_errors_and_percentiles_are_widened_alike(z, units):
    level = 1 - 2 * norm.sf(z)
    assert norm.isf((1 - read_at(level, units)) / 2) == pytest.approx(reach(z, units), rel=1e-4)


def test_strata_take_their_degrees_of_freedom():
    """Two suites of six: each is drawn six of six, and varies by 5/6 of what it should."""
    asked = t.isf(0.025, 10) * (12 / 10) ** 0.5
    assert norm.isf((1 - read_at(0.95, 12, 2)) / 2) == pytest.approx(asked)
    assert read_at(0.95, 12, 12) == read_at(0.95, 12, 11) <= 1  # a suite each: one degree is left


def test_with_many_units_nothing_is_left_of_it():
    assert read_at(0.95, 10**6) == pytest.approx(0.95, abs=1e-6)
    assert told(0.025, 10**6) == pytest.approx(0.025, abs=1e-6)
