"""The tenant's token bucket: bounded over every window, whatever the clock does."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.recovery.bucket import Bucket, State, left, take

QUICK = settings(deadline=None)
MINUTE = 60_000_000

buckets = st.builds(Bucket, st.integers(0, 1000), st.integers(0, 20))
gaps = st.lists(st.tuples(st.integers(0, 3 * MINUTE), st.integers(1, 3)), max_size=40)
jumps = st.lists(st.integers(-MINUTE, MINUTE), max_size=40)


def takings(bucket: Bucket, asked: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(time, tokens) of what was granted; `asked`: (gap since the last request, tokens)."""
    state: State | None = None
    now, granted = 0, []
    for gap, n in asked:
        now += gap
        state, ok = take(bucket, state, now, n)
        if ok:
            granted.append((now, n))
    return granted


@QUICK
@given(buckets, gaps)
def test_no_window_grants_more_than_rate_times_time_plus_burst(
    bucket: Bucket, asked: list[tuple[int, int]]
) -> None:
    granted = takings(bucket, asked)
    for i, (start, _) in enumerate(granted):
        taken = 0
        for end, n in granted[i:]:
            taken += n
            allowed = Fraction(bucket.rate_per_min * (end - start), MINUTE) + bucket.burst
            assert taken <= allowed


@QUICK
@given(buckets, jumps)
def test_a_clock_that_jumps_grants_no_more_than_its_furthest_reach(
    bucket: Bucket, moves: list[int]
) -> None:
    state: State | None = None
    now, first, furthest, taken = 0, None, 0, 0
    for move in moves:
        now = max(0, now + move)
        state, ok = take(bucket, state, now)
        if ok:
            first = now if first is None else first
            taken += 1
        furthest = max(furthest, now)
    reach = furthest - (first or 0)
    assert taken <= Fraction(bucket.rate_per_min * reach, MINUTE) + bucket.burst


@QUICK
@given(buckets, gaps)
def test_the_state_is_the_same_after_json(bucket: Bucket, asked: list[tuple[int, int]]) -> None:
    plain: State | None = None
    restored: State | None = None
    now = 0
    for gap, n in asked:
        now += gap
        plain, granted = take(bucket, plain, now, n)
        restored, also = take(bucket, json.loads(json.dumps(restored)), now, n)
        assert granted == also
        assert json.dumps(plain) == json.dumps(restored)


@QUICK
@given(buckets, gaps)
def test_a_refusal_takes_nothing_and_what_is_left_can_be_taken(
    bucket: Bucket, asked: list[tuple[int, int]]
) -> None:
    state: State | None = None
    now = 0
    for gap, n in asked:
        now += gap
        there = left(bucket, state, now)
        after, ok = take(bucket, state, now, n)
        assert ok == (there >= n)
        assert left(bucket, after, now) == (there - n if ok else there)
        assert ok or after is state
        state = after


def test_tokens_come_back_with_time_and_up_to_the_burst() -> None:
    bucket = Bucket(rate_per_min=60, burst=2)
    state, first = take(bucket, None, 0)
    state, second = take(bucket, state, 0)
    assert (first, second) == (True, True)
    assert take(bucket, state, 999_999) == (state, False)
    state, third = take(bucket, state, 1_000_000)
    assert third
    assert left(bucket, state, 1_000_000) == 0
    assert left(bucket, state, 10 * MINUTE) == 2


@pytest.mark.parametrize("rate", [1, 7, 59, 61, 600])
def test_a_crowd_of_refusals_does_not_starve_a_slow_bucket(rate: int) -> None:
    """Asked every 10 us, a fraction of a micro-token comes back each time; it adds up."""
    bucket = Bucket(rate, 1)
    state, _ = take(bucket, None, 0)
    due = -(-MINUTE // rate)
    for now in range(due - 500, due, 10):
        state, ok = take(bucket, state, now)
        assert not ok
    assert take(bucket, state, due)[1]


def test_a_clock_that_goes_back_gives_and_takes_nothing() -> None:
    bucket = Bucket(60, 5)
    state, _ = take(bucket, None, MINUTE)
    assert left(bucket, state, 0) == 4
    state, ok = take(bucket, state, 0)
    assert ok
    assert left(bucket, state, MINUTE) == 3


def test_nothing_comes_of_an_empty_bucket() -> None:
    assert take(Bucket(600, 0), None, MINUTE) == (None, False)
    state, _ = take(Bucket(0, 1), None, 0)
    assert not take(Bucket(0, 1), state, 10**15)[1]


@pytest.mark.parametrize(("rate", "burst"), [(-1, 1), (1, -1), (True, 1), (1, 1.5)])
def test_a_bucket_is_made_of_whole_numbers(rate: int, burst: int) -> None:
    with pytest.raises(ValueError, match="whole number"):
        Bucket(rate, burst)


@pytest.mark.parametrize("n", [0, -1])
def test_at_least_one_token_is_taken(n: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        take(Bucket(1, 1), None, 0, n)
