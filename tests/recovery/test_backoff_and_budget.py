"""Full jitter, stated waits, budgets and the deadline."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.recovery.backoff import effective_us, full_jitter_us
from hfr_bench.recovery.budget import Budget, in_time

fractions = st.floats(0, 1, exclude_max=True)


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(0, 10**6), st.integers(0, 10**8), fractions)
def test_full_jitter_lies_below_the_doubling_ceiling(k: int, base: int, cap: int, u: float) -> None:
    delay = full_jitter_us(k, base, cap, u)
    assert 0 <= delay <= min(cap, base * 2 ** (k - 1))


def test_full_jitter_doubles_until_the_cap() -> None:
    delays = [full_jitter_us(k, 200_000, 2_000_000, 0.5) for k in range(1, 7)]
    assert delays == [100_000, 200_000, 400_000, 800_000, 1_000_000, 1_000_000]
    assert full_jitter_us(3, 200_000, 2_000_000, 0.0) == 0


def test_retries_count_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        full_jitter_us(0, 1, 1, 0.5)


@settings(deadline=None)
@given(st.integers(0, 10**8), st.none() | st.integers(0, 10**9))
def test_a_stated_wait_is_never_undercut(backoff: int, stated: int | None) -> None:
    assert effective_us(backoff, stated) == max(backoff, stated or 0)


@settings(deadline=None)
@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_a_budget_is_refused_rather_than_overdrawn(step: int, task: int, retries: int) -> None:
    budget = Budget(step, task)
    if budget.affords(retries):
        left = budget.less(retries)
        assert left == (step - retries, task - retries)
        assert min(left) >= 0
    else:
        with pytest.raises(ValueError, match="cannot afford"):
            budget.less(retries)


def test_a_view_says_what_is_left() -> None:
    view = Budget(1, 2).view(3)
    assert (view.step_left, view.task_left, view.deadline_left_us) == (1, 2, 3)


def test_a_retry_that_ends_on_the_deadline_is_in_time() -> None:
    assert in_time(10, 20, 30, 60)
    assert not in_time(10, 20, 31, 60)
