"""A breaker against one that remembers every report and counts anew each time."""

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hfr_bench.recovery.breaker import (
    SLOTS,
    Circuit,
    Heard,
    State,
    Trip,
    admit,
    allows,
    circuit,
    record,
    retry_at_us,
    why,
)

COOLDOWN_US = 40
TRIPS = [
    Trip(
        error_rate=errors,
        rate_limit_rate=limited,
        p95_us=p95_us,
        consecutive=consecutive,
        min_sample=sample,
        window_us=60,
        cooldown_us=COOLDOWN_US,
        cooldown_jitter=0.25,
        cooldown_factor=1.5,
        cooldown_max_us=100,
        half_open_probes=probes,
    )
    for errors, limited, p95_us, consecutive, sample, probes in [
        (0.5, 0.5, None, 5, 10, 2),
        (0.2, 1.0, None, 0, 3, 1),
        (1.0, 0.3, 7, 3, 4, 3),
        (1.0, 1.0, 7, 0, 1, 2),
    ]
]


class Naive:
    """All the reports since it was last closed, as (slot, how, latency), and no cleverness."""

    def __init__(self, trip: Trip) -> None:
        self.trip = trip
        self.close()

    def close(self) -> None:
        self.heard: list[tuple[int, Heard, int]] = []
        self.row = 0
        self.until: int | None = None
        self.wait = 0
        self.probes: list[int] = []
        self.passed = 0
        self.cause = ""

    def open(self, now: int, cause: str, u: float) -> None:
        wait = min(self.trip.cooldown_max_us, int(self.wait * self.trip.cooldown_factor))
        wait = max(wait, self.trip.cooldown_us)
        self.close()
        self.wait, self.cause = wait, cause
        self.until = now + wait + int(wait * self.trip.cooldown_jitter * u)

    def circuit(self, now: int) -> Circuit:
        if self.until is None:
            return Circuit.CLOSED
        waiting = now < self.until <= now + 3 * self.wait
        return Circuit.OPEN if waiting else Circuit.HALF_OPEN

    def give_up(self, now: int) -> None:
        self.probes = [end for end in self.probes if now < end <= now + 3 * self.wait]

    def allows(self, now: int) -> bool:
        if self.circuit(now) is not Circuit.HALF_OPEN:
            return self.circuit(now) is Circuit.CLOSED
        alive = [end for end in self.probes if now < end <= now + 3 * self.wait]
        return len(alive) + self.passed < self.trip.half_open_probes

    def admit(self, now: int) -> None:
        if self.circuit(now) is Circuit.HALF_OPEN:
            self.give_up(now)
            self.probes.append(now + self.trip.cooldown_us)

    def record(self, now: int, how: Heard, latency: int, u: float) -> None:
        slow = self.trip.p95_us is not None and latency > self.trip.p95_us
        match self.circuit(now):
            case Circuit.CLOSED:
                self.listen(now, how, latency)
                if self.ill():
                    self.open(now, self.ill(), u)
            case Circuit.HALF_OPEN if how is not Heard.OK or slow:
                self.open(now, "probe", u)
            case Circuit.HALF_OPEN:
                self.give_up(now)
                self.probes = self.probes[1:]
                self.passed += 1
                if self.passed >= self.trip.half_open_probes:
                    self.wait = 0
                    self.close()

    def listen(self, now: int, how: Heard, latency: int) -> None:
        slot = now * SLOTS // self.trip.window_us
        newest = self.heard[-1][0] if self.heard else slot
        if newest - SLOTS < slot < newest:
            slot = newest
        self.heard = [old for old in self.heard if abs(slot - old[0]) < SLOTS and slot >= old[0]]
        self.heard.append((slot, how, latency))
        self.row = 0 if how is Heard.OK else self.row + 1

    def ill(self) -> str:
        total = len(self.heard)
        if self.trip.consecutive and self.row >= self.trip.consecutive:
            return "consecutive"
        if total < self.trip.min_sample:
            return ""
        how = [how for _, how, _ in self.heard]
        if how.count(Heard.ERROR) / total > self.trip.error_rate:
            return "error_rate"
        if how.count(Heard.RATE_LIMITED) / total > self.trip.rate_limit_rate:
            return "rate_limit_rate"
        latencies = sorted(latency for _, _, latency in self.heard)
        nearest_rank = latencies[-(-95 * total // 100) - 1]
        slow = self.trip.p95_us is not None and nearest_rank > self.trip.p95_us
        return "p95" if slow else ""


class Twins(RuleBasedStateMachine):
    """Ours, ours through JSON at every step, and the naive one hear and say the same."""

    @initialize(trip=st.sampled_from(TRIPS), now=st.integers(0, 1000))
    def begin(self, trip: Trip, now: int) -> None:
        self.trip, self.now = trip, now
        self.state: State | None = None
        self.saved = "null"
        self.naive = Naive(trip)

    def turn(self, change: Any) -> None:
        before = copy.deepcopy(self.state)
        new, again = change(self.state), change(json.loads(self.saved))
        assert self.state == before, "changed in place"
        assert again == new
        self.state, self.saved = new, json.dumps(new)
        assert json.loads(self.saved) == new

    @rule(us=st.integers(0, 15) | st.sampled_from([25, 40, 50, 60, 130, 10_000]))
    def time_passes(self, us: int) -> None:
        self.now += us

    @rule(us=st.sampled_from([1, 11, 45, 59, 130, 5000]))
    def the_clock_goes_back(self, us: int) -> None:
        self.now = max(0, self.now - us)

    @rule()
    def until_it_cooled_down(self) -> None:
        self.now = max(self.now, retry_at_us(self.state) or 0)

    @rule()
    def a_request_goes_out(self) -> None:
        if allows(self.trip, self.state, self.now):
            self.turn(lambda state: admit(self.trip, state, self.now))
            self.naive.admit(self.now)

    @rule(
        how=st.sampled_from(Heard),
        times=st.sampled_from([1, 1, 1, 2, 6]),
        latency=st.integers(0, 9),
        u=st.sampled_from([0.0, 0.4, 0.99]),
    )
    def a_report_comes(self, how: Heard, times: int, latency: int, u: float) -> None:
        for _ in range(times):
            self.turn(lambda state: record(self.trip, state, self.now, how, latency, u))
            self.naive.record(self.now, how, latency, u)

    @invariant()
    def they_agree(self) -> None:
        for at in (self.now, self.now + 1, self.now + COOLDOWN_US):
            assert circuit(self.trip, self.state, at) is self.naive.circuit(at)
            assert allows(self.trip, self.state, at) is self.naive.allows(at)
        assert why(self.state) == self.naive.cause
        assert retry_at_us(self.state) == self.naive.until

    @invariant()
    def it_stays_small(self) -> None:
        assert len(self.saved) < 600


TestTwins = Twins.TestCase
TestTwins.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)


MILD = [
    Trip(error_rate=0.6, rate_limit_rate=0.2, p95_us=8, consecutive=0, min_sample=6, window_us=60),
    Trip(error_rate=0.3, rate_limit_rate=0.4, consecutive=0, min_sample=2, window_us=17),
]
often_fine = st.sampled_from([Heard.OK, Heard.OK, Heard.OK, Heard.ERROR, Heard.RATE_LIMITED])


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(MILD),
    st.lists(st.tuples(often_fine, st.integers(0, 30), st.integers(0, 9)), max_size=80),
)
def test_the_window_is_counted_right(trip: Trip, past: list[tuple[Heard, int, int]]) -> None:
    naive, now = Naive(trip), 0
    state: State | None = None
    for how, step, latency in past:
        now += step
        state = record(trip, state, now, how, latency, 0.0)
        naive.record(now, how, latency, 0.0)
        assert why(state) == naive.cause
        if naive.cause:
            break
