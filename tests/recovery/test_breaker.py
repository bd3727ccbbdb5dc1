"""Circuit breakers: the four conditions, probes, cooldowns, and the registry (paper §4.7)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.terms import Channel, FaultClass
from hfr_bench.recovery import breaker
from hfr_bench.recovery.breaker import (
    SLOTS,
    Circuit,
    Heard,
    State,
    Trip,
    admit,
    admit_all,
    allows,
    by_scope,
    circuit,
    first_open,
    record,
    record_all,
    retry_at_us,
    scopes,
    why,
)

OK, ERROR, LIMITED = Heard.OK, Heard.ERROR, Heard.RATE_LIMITED
SECOND = 1_000_000
TRIP = Trip()
STEADY = Trip(cooldown_jitter=0)

fractions = st.floats(0, 1, exclude_max=True)
times = st.integers(0, 10**9)
reports = st.tuples(st.sampled_from(Heard), times, st.integers(0, 10**7), fractions)
trips = st.builds(
    Trip,
    error_rate=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    rate_limit_rate=st.sampled_from([0.0, 0.5, 1.0]),
    p95_us=st.none() | st.integers(0, 10**7),
    consecutive=st.integers(0, 6),
    min_sample=st.integers(1, 12),
    window_us=st.integers(SLOTS, 10**8),
    cooldown_us=st.integers(1, 10**8),
    cooldown_jitter=fractions,
    cooldown_factor=st.floats(1, 4),
    cooldown_max_us=st.integers(10**8, 10**10),
    half_open_probes=st.integers(1, 3),
)


def told(
    trip: Trip, *heard: Heard, state: State | None = None, at_us: int = 0, latency_us: int = 0
) -> State | None:
    """The state after these reports, all at one time."""
    for each in heard:
        state = record(trip, state, at_us, each, latency_us, 0.0)
    return state


def opened(trip: Trip = STEADY, at_us: int = 0) -> State:
    state = told(trip, *[ERROR] * trip.consecutive, at_us=at_us)
    assert state is not None
    assert circuit(trip, state, at_us) is Circuit.OPEN
    return state


# -- the four conditions ------------------------------------------------------------------------


def test_more_than_half_of_ten_errors_open_it() -> None:
    nine = told(TRIP, OK, ERROR, ERROR, OK, ERROR, ERROR, OK, ERROR, OK)
    assert why(nine) == ""  # five of nine are more than half, but too few to tell
    five_of_ten = told(TRIP, OK, state=nine)
    assert circuit(TRIP, five_of_ten, 0) is Circuit.CLOSED
    six_of_ten = told(TRIP, ERROR, state=nine)
    assert circuit(TRIP, six_of_ten, 0) is Circuit.OPEN
    assert why(six_of_ten) == "error_rate"


def test_a_429_counts_for_its_own_rate() -> None:
    mixed = (OK, LIMITED, LIMITED, OK, LIMITED, LIMITED, OK, ERROR, OK)
    assert why(told(TRIP, *mixed, OK)) == ""
    assert why(told(TRIP, *mixed, LIMITED)) == ""  # five of ten is not more than half
    assert why(told(TRIP, *mixed, LIMITED, LIMITED)) == "rate_limit_rate"
    assert why(told(Trip(rate_limit_rate=1), *mixed, LIMITED, LIMITED)) == ""


def test_one_slow_request_in_twenty_is_allowed_and_two_are_not() -> None:
    trip = Trip(p95_us=100)
    nineteen = told(trip, *[OK] * 19, latency_us=100)
    once = told(trip, OK, state=nineteen, latency_us=101)
    assert why(once) == ""
    assert why(told(trip, OK, state=once, latency_us=101)) == "p95"
    assert why(told(TRIP, *[OK] * 30, latency_us=10**9)) == ""


def test_five_failures_in_a_row_open_it_whatever_they_are() -> None:
    assert why(told(TRIP, ERROR, LIMITED, ERROR, LIMITED)) == ""
    assert why(told(TRIP, ERROR, LIMITED, ERROR, LIMITED, ERROR)) == "consecutive"
    assert why(told(TRIP, *[ERROR] * 4, OK, *[ERROR] * 4)) == ""
    assert why(told(Trip(consecutive=0, min_sample=100), *[ERROR] * 50)) == ""


def test_what_is_older_than_the_window_is_forgotten() -> None:
    trip = Trip(consecutive=0)
    bad = told(trip, *[ERROR, ERROR, ERROR] * 3)
    assert why(told(trip, ERROR, state=bad, at_us=49 * SECOND)) == "error_rate"
    later = told(trip, ERROR, state=bad, at_us=60 * SECOND)
    assert why(later) == ""
    assert why(told(trip, *[ERROR] * 9, state=later, at_us=61 * SECOND)) == "error_rate"


@pytest.mark.parametrize(
    ("trip", "bad", "cause"),
    [
        (Trip(consecutive=0, min_sample=11, error_rate=0.25), ERROR, "error_rate"),
        (Trip(consecutive=0, min_sample=11, rate_limit_rate=0.25), LIMITED, "rate_limit_rate"),
        (Trip(min_sample=11, p95_us=100), OK, "p95"),
    ],
    ids=["error_rate", "rate_limit_rate", "p95"],
)
def test_a_slot_leaves_the_window_whole(trip: Trip, bad: Heard, cause: str) -> None:
    nine = told(trip, *[bad] * 9, latency_us=101)
    ten = told(trip, OK, state=nine, at_us=30 * SECOND)
    assert why(told(trip, OK, state=ten, at_us=60 * SECOND - 1)) == cause
    assert why(told(trip, *[OK] * 12, state=ten, at_us=60 * SECOND)) == ""


@pytest.mark.parametrize(
    ("fault_class", "wanted"),
    [
        (None, OK),
        *((f, ERROR) for f in ("T1", "T3", "T4", "T5")),
        ("T2", LIMITED),
        *((f, OK) for f in ("T6", "T7", "T8", "V1")),
    ],
)
def test_what_a_fault_says_about_its_target(fault_class: str | None, wanted: Heard) -> None:
    assert breaker.heard(FaultClass(fault_class) if fault_class else None) is wanted


@pytest.mark.parametrize(
    "wrong",
    [
        {"error_rate": 1.5},
        {"rate_limit_rate": -1},
        {"p95_us": -1},
        {"consecutive": -1},
        {"min_sample": 0},
        {"window_us": 5},
        {"cooldown_us": 0},
        {"cooldown_jitter": 2},
        {"cooldown_factor": 0.5},
        {"cooldown_max_us": 1},
        {"half_open_probes": 0},
    ],
    ids=str,
)
def test_settings_that_make_no_breaker_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"breaker: {next(iter(wrong))} must be"):
        Trip(**wrong)


# -- open, half-open, closed --------------------------------------------------------------------


def test_it_cools_down_lets_two_probes_through_and_closes() -> None:
    state: State | None = opened()
    assert retry_at_us(state) == 30 * SECOND
    assert not allows(STEADY, state, 30 * SECOND - 1)
    at = 30 * SECOND
    assert circuit(STEADY, state, at) is Circuit.HALF_OPEN
    for _ in range(2):
        assert allows(STEADY, state, at)
        state = admit(STEADY, state, at)
    assert not allows(STEADY, state, at)
    state = record(STEADY, state, at, OK, 0, 0.0)
    assert circuit(STEADY, state, at) is Circuit.HALF_OPEN
    assert not allows(STEADY, state, at)  # one passed, one is out: no third
    state = record(STEADY, state, at, OK, 0, 0.0)
    assert circuit(STEADY, state, at) is Circuit.CLOSED
    assert why(told(STEADY, *[ERROR] * 4, state=state, at_us=at)) == ""  # a clean sheet


def test_probes_may_go_out_one_after_another() -> None:
    trip = Trip(half_open_probes=3, cooldown_jitter=0)
    state: State | None = opened(trip)
    at = 30 * SECOND
    for _ in range(3):
        assert circuit(trip, state, at) is Circuit.HALF_OPEN
        assert allows(trip, state, at)
        state = record(trip, admit(trip, state, at), at, OK, 0, 0.0)
    assert circuit(trip, state, at) is Circuit.CLOSED
    early = told(trip, OK, state=admit(trip, opened(trip), at), at_us=at)
    assert allows(trip, admit(trip, early, at), at)  # one passed, one is out: a third may go


def test_each_failed_probe_doubles_the_wait_up_to_the_maximum() -> None:
    state, at, waits = opened(), 0, []
    for _ in range(6):
        at = state[0]
        reopened = record(STEADY, admit(STEADY, state, at), at, LIMITED, 0, 0.0)
        assert reopened is not None
        state = reopened
        waits.append((state[0] - at) // SECOND)
        assert why(state) == "probe"
    assert waits == [60, 120, 240, 300, 300, 300]


def test_a_breaker_that_closed_starts_again_with_the_short_wait() -> None:
    state: State | None = opened()
    state = told(STEADY, ERROR, state=state, at_us=30 * SECOND)
    state = told(STEADY, OK, OK, *[ERROR] * 5, state=state, at_us=90 * SECOND)
    assert retry_at_us(state) == 120 * SECOND


def test_a_wait_is_jittered_upwards_only() -> None:
    waits = [retry_at_us(_opened_with(u)) for u in (0.0, 0.5, 0.999)]
    assert waits == [30 * SECOND, 33 * SECOND, 35_994_000]


def _opened_with(u: float) -> State | None:
    state = None
    for _ in range(5):
        state = record(TRIP, state, 0, ERROR, 0, u)
    return state


def test_a_lost_probe_is_given_up_after_a_cooldown() -> None:
    at = 30 * SECOND
    state = admit(STEADY, admit(STEADY, opened(), at), at)
    assert not allows(STEADY, state, 2 * at - 1)
    assert allows(STEADY, state, 2 * at)
    assert circuit(STEADY, told(STEADY, OK, OK, state=state, at_us=2 * at), 2 * at) == "closed"


def test_an_open_breaker_does_not_listen_to_stragglers() -> None:
    state = opened()
    for heard in Heard:
        assert record(STEADY, state, 29 * SECOND, heard, 0, 0.0) is state
    assert admit(STEADY, state, 29 * SECOND) is state


def test_a_probe_that_is_too_slow_has_failed() -> None:
    trip = Trip(p95_us=100, cooldown_jitter=0)
    state = told(trip, OK, state=opened(trip), at_us=30 * SECOND, latency_us=101)
    assert circuit(trip, state, 30 * SECOND) is Circuit.OPEN


def test_a_clock_that_starts_again_does_not_hold_anything_shut() -> None:
    state = opened(at_us=10**12)
    assert not allows(STEADY, state, 10**12 - SECOND)
    assert allows(STEADY, state, 0)
    lost = admit(STEADY, admit(STEADY, state, 10**13), 10**13)
    assert allows(STEADY, lost, 0)


def test_a_window_is_dropped_once_the_clock_goes_back_by_as_much() -> None:
    trip = Trip(consecutive=0, window_us=60)  # slots of 10
    bad = told(trip, *[ERROR] * 9, at_us=100)
    assert why(told(trip, ERROR, state=bad, at_us=50)) == "error_rate"
    assert why(told(trip, ERROR, state=bad, at_us=49)) == ""


# -- laws ---------------------------------------------------------------------------------------


def history(trip: Trip, past: list[Any]) -> list[State | None]:
    """Every state on the way through reports (heard, step in time, latency, u)."""
    state, now, states = None, 0, [None]
    for heard, step, latency, u in past:
        now += step
        state = record(trip, admit(trip, state, now), now, heard, latency, u)
        states.append(state)
    return states


@settings(deadline=None)
@given(trips, st.lists(reports, max_size=40), fractions)
def test_nothing_gets_through_before_the_cooldown(trip: Trip, past: list[Any], at: float) -> None:
    now = 0
    state: State | None = None
    for heard, step, latency, u in past:
        now += step
        before, state = state, record(trip, state, now, heard, latency, u)
        if circuit(trip, state, now) is Circuit.OPEN and state is not before:
            assert state is not None
            end = state[0]
            assert end - now >= trip.cooldown_us
            assert not allows(trip, state, now + int((end - now) * at))
            assert not allows(trip, state, end - 1)
            assert allows(trip, state, end)


@settings(deadline=None)
@given(trips.filter(lambda t: t.consecutive), st.lists(reports, max_size=30), times)
def test_enough_failures_in_a_row_open_it_whatever_came_before(
    trip: Trip, past: list[Any], latency: int
) -> None:
    now = sum(step for _, step, _, _ in past)
    state = history(trip, past)[-1]
    for _ in range(trip.consecutive):
        state = record(trip, state, now, ERROR, latency, 0.5)
    assert circuit(trip, state, now) is Circuit.OPEN


@settings(deadline=None)
@given(trips, st.lists(times, max_size=60))
def test_successes_in_time_never_open_it(trip: Trip, steps: list[int]) -> None:
    past = [(OK, step, trip.p95_us or 0, 0.9) for step in steps]
    assert all(why(state) == "" for state in history(trip, past))


@settings(deadline=None)
@given(trips.filter(lambda t: t.consecutive), st.lists(fractions, min_size=1, max_size=12))
def test_a_failed_probe_never_shortens_the_wait(trip: Trip, chances: list[float]) -> None:
    state, wait = opened(trip), trip.cooldown_us
    for u in chances:
        at = state[0]
        again = record(trip, admit(trip, state, at), at, ERROR, 0, u)
        assert again is not None
        state = again
        least = max(trip.cooldown_us, min(trip.cooldown_max_us, int(wait * trip.cooldown_factor)))
        assert least >= wait
        assert least <= state[0] - at <= least * (1 + trip.cooldown_jitter)
        wait = least


@settings(deadline=None)
@given(trips.filter(lambda t: t.consecutive), st.integers(0, 10))
def test_half_open_no_more_than_the_probes_go_out_and_all_of_them_close_it(
    trip: Trip, eager: int
) -> None:
    state: State | None = opened(trip)
    assert state is not None
    at, out = state[0], 0
    for _ in range(trip.half_open_probes + eager):
        if allows(trip, state, at):
            state, out = admit(trip, state, at), out + 1
    assert out == trip.half_open_probes
    for _ in range(out):
        assert circuit(trip, state, at) is Circuit.HALF_OPEN
        state = record(trip, state, at, OK, 0, 0.0)
    assert circuit(trip, state, at) is Circuit.CLOSED


# -- the registry -------------------------------------------------------------------------------


def test_scopes_name_what_a_request_concerns() -> None:
    assert scopes(Channel.MODEL, "m", "p", "t") == ("model:m", "provider:p", "tenant:t")
    assert scopes(Channel.TOOL, "a:b", tenant="t") == ("tool:a:b", "tenant:t")
    assert scopes(Channel.TOOL, "s", "p") == ("tool:s", "provider:p")
    assert scopes(Channel.MODEL, "m") == ("model:m",)


def test_a_bad_model_shuts_itself_before_its_provider() -> None:
    settings_, states = by_scope(STEADY), {}
    first, second = (scopes(Channel.MODEL, name, "p", "t") for name in ("m", "n"))
    for _ in range(5):
        states = record_all(settings_, states, first, 0, ERROR, 0, 0.0)
    assert first_open(settings_, states, first, 0) == "model:m"
    assert first_open(settings_, states, second, 0) is None
    for _ in range(15):
        states = record_all(settings_, states, second, 0, ERROR, 0, 0.0)
    assert first_open(settings_, states, scopes(Channel.MODEL, "o", "p"), 0) == "provider:p"
    assert json.loads(json.dumps(states)) == states


def test_probes_are_taken_in_every_scope() -> None:
    settings_ = {"model": Trip(half_open_probes=1), "provider": Trip(half_open_probes=1)}
    where = scopes(Channel.MODEL, "m", "p", "t")
    states: breaker.Breakers = {}
    assert admit_all(settings_, states, where, 0) is states
    for _ in range(5):
        states = record_all(settings_, states, where, 0, ERROR, 0, 0.0)
    assert breaker.any_open(states)
    assert states.keys() == {"model:m", "provider:p"}  # nobody set up a breaker for tenants
    at = 30 * SECOND
    assert first_open(settings_, states, where, at) is None
    probing = admit_all(settings_, states, where, at)
    assert first_open(settings_, states, where, at) is None  # the old value is as it was
    assert first_open(settings_, probing, where, at) == "model:m"
    assert first_open(settings_, probing, where[1:], at) == "provider:p"
    states = record_all(settings_, probing, where, at, OK, 0, 0.0)
    assert not any(states.values())
    assert not breaker.any_open(states)


def test_a_scope_of_its_own_settings_comes_before_its_kind() -> None:
    settings_ = {"tool": Trip(consecutive=1), "tool:slow": Trip(consecutive=2)}
    fresh: breaker.Breakers = {}
    states = record_all(settings_, fresh, ("tool:slow", "tool:other"), 0, ERROR, 0, 0.0)
    assert not fresh
    assert first_open(settings_, states, ("tool:slow",), 0) is None
    assert first_open(settings_, states, ("tool:other",), 0) == "tool:other"
