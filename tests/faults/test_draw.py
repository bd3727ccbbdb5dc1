"""Keyed draws: pinned, even, and independent of each other."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.faults.draw import choose, joined, uniform, uniforms


def test_draws_are_pinned_so_that_schedules_are_the_same_everywhere() -> None:
    assert uniform("onset", 1, "tau2", "t", "model:agent", 1, 1) == 0.990650825207958
    head = hashlib.sha256(b"a\x001").hexdigest()[:16]
    assert uniform("a", 1) == (int(head, 16) >> 11) / 2**53


@settings(deadline=None)
@given(st.lists(st.integers() | st.text(max_size=8), max_size=5))
def test_a_draw_lies_in_the_unit_interval(key: list[int | str]) -> None:
    assert 0 <= uniform(*key) < 1
    assert uniform(*key) == uniform(*key)


def test_draws_of_different_keys_are_spread_evenly() -> None:
    drawn = [uniform("even", n) for n in range(4000)]
    assert len(set(drawn)) == 4000
    for tenth in range(10):
        share = sum(tenth / 10 <= u < (tenth + 1) / 10 for u in drawn) / 4000
        assert abs(share - 0.1) < 0.02


def test_parts_of_a_key_do_not_run_together() -> None:
    assert uniform("ab", "c") != uniform("a", "bc")


def test_parts_that_are_joined_before_draw_the_same() -> None:
    assert uniform("p", joined("s", 3, ""), 1) != uniform("p", joined("s", 3), 1)
    assert uniform("p", joined("s", 3), 1) == uniform("p", "s", 3, 1)
    assert uniform(f"{joined('p', 's', '')}{1}") == uniform("p", "s", 1)


def test_the_only_item_is_chosen_whatever_is_drawn() -> None:
    assert {choose([(0.3, "a")], n) for n in range(50)} == {"a"}
    with pytest.raises(ValueError, match="zero"):
        choose([(0.0, "a")], "k")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 10), min_size=1, max_size=5), st.integers())
def test_choose_takes_only_what_weighs_something(weights: list[float], key: int) -> None:
    items = list(enumerate(weights))
    weighted = [(weight, n) for n, weight in items]
    if sum(weights) <= 0:
        with pytest.raises(ValueError, match="zero"):
            choose(weighted, key)
        return
    assert weights[choose(weighted, key)] > 0


def test_choose_follows_the_weights() -> None:
    picks = [choose([(3.0, "a"), (1.0, "b")], "w", n) for n in range(2000)]
    assert abs(picks.count("a") / 2000 - 0.75) < 0.04


@settings(deadline=None)
@given(
    st.lists(st.integers() | st.text(max_size=8), max_size=5),
    st.lists(st.integers(), max_size=4),
    st.lists(st.integers() | st.text(max_size=8), max_size=2),
)
def test_many_draws_at_once_are_the_same_draws(
    before: list[int | str], counts: list[int], after: list[int | str]
) -> None:
    drawn = uniforms(before, counts, *after)
    assert drawn == [uniform(*before, n, *after) for n in counts]
