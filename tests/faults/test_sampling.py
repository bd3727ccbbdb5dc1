"""Stratified draws: of the registered size, covering every stratum, the same for everybody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.faults.sampling import allocate, drawn, thirds

SIZES = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 40), min_size=1)


@given(SIZES, st.data())
def test_a_sample_is_shared_out_whole_and_covers_what_it_can(sizes, data):
    total = sum(sizes.values())
    n = data.draw(st.integers(0, total))
    quota = allocate(sizes, n)
    assert sum(quota.values()) == n
    assert all(0 <= quota[name] <= size for name, size in sizes.items())
    if n >= len(sizes):
        assert min(quota.values()) >= 1


@given(SIZES, st.data())
def test_large_strata_get_their_share(sizes, data):
    total = sum(sizes.values())
    n = data.draw(st.integers(0, total))
    for name, count in allocate(sizes, n).items():
        # One more for the remainder; one a stratum may be given to those that had none.
        assert count <= n * sizes[name] / total + 1
        assert count >= n * sizes[name] / total - 1 - len(sizes)


def test_shares_are_proportional():
    assert allocate({"easy": 60, "hard": 30, "rare": 10}, 20) == {"easy": 12, "hard": 6, "rare": 2}
    assert allocate({"easy": 98, "rare": 2}, 10) == {"easy": 9, "rare": 1}


def test_more_than_there_are_is_refused():
    with pytest.raises(ValueError, match="4 of 3 tasks cannot be drawn"):
        allocate({"a": 3}, 4)


POOL = {f"t{n}": "odd" if n % 2 else "even" for n in range(60)}


def test_the_draw_is_keyed_and_keeps_the_pools_order():
    chosen = drawn(POOL, 12, seed=1, suite="s")
    assert len(set(chosen)) == 12
    assert list(chosen) == [task for task in POOL if task in chosen]
    assert sum(POOL[task] == "odd" for task in chosen) == 6
    backwards = dict(reversed(POOL.items()))
    assert set(drawn(backwards, 12, seed=1, suite="s")) == set(chosen)
    assert drawn(POOL, 12, seed=2, suite="s") != chosen
    assert drawn(POOL, 12, seed=1, suite="other") != chosen


def test_a_draw_never_changes():
    """Pinned: an earlier sample must be drawn alike by every later version."""
    assert drawn(POOL, 4, seed=17, suite="tau2") == ("t3", "t8", "t11", "t20")


def test_a_larger_sample_contains_a_smaller_one():
    small, large = (drawn(POOL, n, seed=3, suite="s") for n in (10, 30))
    assert set(small) < set(large)


def test_thirds_are_named_by_what_is_in_them_and_equal_numbers_stay_together():
    values = {f"t{n}": n for n in range(1, 10)}
    assert thirds(values, "steps")["t1"] == "steps 1-3"
    assert thirds(values, "steps")["t9"] == "steps 7-9"
    assert set(thirds({"a": 2, "b": 2, "c": 2}, "steps").values()) == {"steps 2"}
    assert thirds({}, "steps") == {}
