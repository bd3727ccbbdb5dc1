"""The back-off's ceiling, the jitter below it, and stated waits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.recovery.backoff import ceiling_us, effective_us, full_jitter_us

QUICK = settings(deadline=None)
fractions = st.floats(0, 1, exclude_max=True)
micros = st.integers(0, 10**9)
multipliers = st.floats(1, 10)


@QUICK
@given(st.integers(1, 10_000), micros, micros, multipliers)
def test_the_ceiling_grows_up_to_the_cap(k: int, base: int, cap: int, multiplier: float) -> None:
    now, later = (ceiling_us(n, base, cap, multiplier) for n in (k, k + 1))
    assert min(base, cap) <= now <= later <= cap


@QUICK
@given(st.integers(1, 10_000), micros, micros, fractions, multipliers)
def test_full_jitter_lies_between_nothing_and_the_ceiling(
    k: int, base: int, cap: int, u: float, multiplier: float
) -> None:
    delay = full_jitter_us(k, base, cap, u, multiplier)
    assert isinstance(delay, int)
    assert 0 <= delay <= ceiling_us(k, base, cap, multiplier) <= cap


@QUICK
@given(st.integers(1, 50), micros, micros, fractions, st.none() | st.integers(0, 10**10))
def test_a_stated_wait_is_never_undercut_and_jitter_never_dropped(
    k: int, base: int, cap: int, u: float, stated: int | None
) -> None:
    jitter = full_jitter_us(k, base, cap, u)
    wait = effective_us(jitter, stated)
    assert wait >= (stated or 0)
    assert wait >= jitter
    assert wait in (stated, jitter)


def test_the_ceiling_doubles() -> None:
    ceilings = [ceiling_us(k, 200_000, 2_000_000) for k in range(1, 7)]
    assert ceilings == [200_000, 400_000, 800_000, 1_600_000, 2_000_000, 2_000_000]
    assert ceiling_us(3, 100, 10_000, 3.0) == 900


@pytest.mark.parametrize("attempt", [0, -1])
def test_retries_count_from_one(attempt: int) -> None:
    with pytest.raises(ValueError, match="from 1"):
        ceiling_us(attempt, 1, 1)
