"""Circuit breakers per model, tool, provider and tenant (paper §4.7), pure and of constant size.

A state is a flat list of numbers (None = fresh, closed), never changed in place: JSON as it is.
The window is six slots; a report leaves it when its slot does, so the window is between five
sixths of `window_us` and all of it. Counters only grow; a mark for each slot of the window holds
what they stood at when it began, so the window is what they grew by since the first mark.

p95 needs no sample of latencies: p95 > threshold (nearest rank) says that more than one report in
twenty took longer than the threshold, and those are counted. The condition is exact; what p95
itself is nobody knows.

Times are microseconds of the caller's clock. A clock that goes back a little is taken to stand
still; one that goes back by more than a window or two cooldowns is taken for a new clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from hfr_bench.model.terms import Channel, FaultClass

State = list[Any]
Breakers = dict[str, State | None]

SLOTS: Final = 6


class Circuit(StrEnum):
    """What a breaker does with a request (paper §4.7)."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Heard(StrEnum):
    """How a request ended, as far as the health of its target is concerned."""

    OK = "ok"
    ERROR = "error"
    RATE_LIMITED = "429"


_OK: Final = Heard.OK
_RATE_LIMITED: Final = Heard.RATE_LIMITED

# What the caller brought about (T6, T7, T8) or the content (V1) says: the target is alive.
_HEARD: Final = {
    FaultClass.TRANSIENT: Heard.ERROR,
    FaultClass.RATE_LIMIT: Heard.RATE_LIMITED,
    FaultClass.TIMEOUT: Heard.ERROR,
    FaultClass.OVERLOAD: Heard.ERROR,
    FaultClass.TOOL_UNAVAILABLE: Heard.ERROR,
}


@dataclass(frozen=True, slots=True)
class Trip:
    """When a breaker opens, and for how long (paper §4.7; defaults of §5.2 where it has one).

    Opens when, of at least `min_sample` requests in the window, more than `error_rate` failed,
    more than `rate_limit_rate` met a 429, or p95 is over `p95_us` (None = never); or, whatever
    the window holds, at the `consecutive`-th failure in a row (0 = never). A 429 is no error but
    it is a failure; a rate of 1 never trips. A wait is `cooldown_us`, times `cooldown_factor`
    for each failed probe up to `cooldown_max_us`, and then longer by up to `cooldown_jitter` of
    itself, so that clients do not come back together. `half_open_probes` in a row close it.
    Raises ValueError for settings that could never open, close or wait.
    """

    error_rate: float = 0.5
    rate_limit_rate: float = 0.5
    p95_us: int | None = None
    consecutive: int = 5
    min_sample: int = 10
    window_us: int = 60_000_000
    cooldown_us: int = 30_000_000
    cooldown_jitter: float = 0.2
    cooldown_factor: float = 2.0
    cooldown_max_us: int = 300_000_000
    half_open_probes: int = 2

    def __post_init__(self) -> None:
        for name, fine, wanted in (
            ("error_rate", 0 <= self.error_rate <= 1, "between 0 and 1"),
            ("rate_limit_rate", 0 <= self.rate_limit_rate <= 1, "between 0 and 1"),
            ("p95_us", self.p95_us is None or self.p95_us >= 0, "0 or more, or None"),
            ("consecutive", self.consecutive >= 0, "0 or more"),
            ("min_sample", self.min_sample >= 1, "1 or more"),
            ("window_us", self.window_us >= SLOTS, f"{SLOTS} or more"),
            ("cooldown_us", self.cooldown_us >= 1, "1 or more"),
            ("cooldown_jitter", 0 <= self.cooldown_jitter <= 1, "between 0 and 1"),
            ("cooldown_factor", 1 <= self.cooldown_factor < float("inf"), "1 or more"),
            ("cooldown_max_us", self.cooldown_max_us >= self.cooldown_us, "cooldown_us or more"),
            ("half_open_probes", self.half_open_probes >= 1, "1 or more"),
        ):
            if not fine:
                raise ValueError(f"breaker: {name} must be {wanted}, got {getattr(self, name)!r}")


# The places of a state. Open: when it may be probed (None = closed), the wait before jitter, when
# each outstanding probe is given up, how many passed, and why it opened. Closed: failures in a
# row; then the window: its newest slot, the counters, and the marks [slot, *counters].
_UNTIL, _COOLDOWN, _PROBES, _PASSED, _WHY, _STREAK = range(6)
_SLOT, _REQUESTS, _ERRORS, _LIMITED, _SLOW, _MARKS = range(6, 12)
_FRESH: Final[State] = [None, 0, [], 0, "", 0, None, 0, 0, 0, 0, []]


def circuit(trip: Trip, state: State | None, now_us: int) -> Circuit:  # noqa: ARG001 (one shape)
    """Which of the three it is at `now_us`: an open breaker is half-open once it cooled down."""
    if state is None or state[_UNTIL] is None:
        return Circuit.CLOSED
    return Circuit.HALF_OPEN if _cooled(state, now_us) else Circuit.OPEN


def retry_at_us(state: State | None) -> int | None:
    """When an open breaker may first be probed, jitter included; None if it is closed."""
    return None if state is None else state[_UNTIL]


def why(state: State | None) -> str:
    """What opened it: `consecutive`, `error_rate`, `rate_limit_rate`, `p95`, `probe`; or ""."""
    return "" if state is None else str(state[_WHY])


def heard(fault_class: FaultClass | None) -> Heard:
    """What a fault's class (None = no fault) says about the health of the target.

    T1, T3, T4, T5: it is ill. T2: it wants less. All else was answered by a target in health.
    """
    return _OK if fault_class is None else _HEARD.get(fault_class, _OK)


def allows(trip: Trip, state: State | None, now_us: int) -> bool:
    """May a request go out? Half-open: only while probes are wanting."""
    if state is None or state[_UNTIL] is None:
        return True
    if not _cooled(state, now_us):
        return False
    return bool(state[_PASSED] + len(_outstanding(state, now_us)) < trip.half_open_probes)


def admit(trip: Trip, state: State | None, now_us: int) -> State | None:
    """The state once a request went out: half-open, a probe is taken; else the same object.

    A probe that never reports is given up after `cooldown_us`, as if it had not been sent.
    """
    if state is None or state[_UNTIL] is None or not _cooled(state, now_us):
        return state
    new = state.copy()
    new[_PROBES] = [*_outstanding(state, now_us), now_us + trip.cooldown_us]
    return new


def record(
    trip: Trip, state: State | None, now_us: int, heard: Heard, latency_us: int, u: float
) -> State | None:
    """The state once a request was answered, failed or given up.

    `u`: a uniform number in [0, 1) for the wait's jitter, looked at only if the breaker opens.
    Before it cooled down, an open breaker learns nothing from those who went out earlier; after
    that, whatever is heard counts as a probe's answer, whether it was admitted or not. A probe
    that took longer than `p95_us` has failed.
    """
    slot = now_us * SLOTS // trip.window_us
    if state is None:  # as `_turn` begins a window
        new: State = [None, 0, [], 0, "", 0, slot, 0, 0, 0, 0, [[slot, 0, 0, 0, 0]]]
    elif state[_UNTIL] is not None:
        return _probed(trip, state, now_us, heard, latency_us, u)
    else:
        new = state.copy()
        if slot != new[_SLOT]:
            _turn(new, slot)
    new[_REQUESTS] += 1
    if heard is _OK:
        new[_STREAK] = 0
    else:
        new[_STREAK] += 1
        new[_LIMITED if heard is _RATE_LIMITED else _ERRORS] += 1
    if trip.p95_us is not None and latency_us > trip.p95_us:
        new[_SLOW] += 1
    if not (new[_ERRORS] or new[_LIMITED] or new[_SLOW]):
        return new
    cause = _cause(trip, new)
    return _opened(trip, new, now_us, cause, u) if cause else new


def _turn(new: State, slot: int) -> None:
    """Begin another slot in a state that is still being made; what is too old leaves."""
    latest = new[_SLOT]
    if latest is None or slot <= latest - SLOTS or slot >= latest + SLOTS:
        new[_SLOT:] = [slot, 0, 0, 0, 0, [[slot, 0, 0, 0, 0]]]
    elif slot > latest:
        marks = [mark for mark in new[_MARKS] if mark[0] > slot - SLOTS]
        marks.append([slot, *new[_REQUESTS:_MARKS]])
        new[_SLOT] = slot
        new[_MARKS] = marks
    # Else a step back: what is heard now belongs to the newest slot.


def _cause(trip: Trip, state: State) -> str:
    """Which of the four conditions holds (paper §4.7); "" if none."""
    if 0 < trip.consecutive <= state[_STREAK]:
        return "consecutive"
    _, requests, errors, limited, slow = state[_MARKS][0]
    requests = state[_REQUESTS] - requests
    if requests < trip.min_sample:
        return ""
    if (state[_ERRORS] - errors) / requests > trip.error_rate:
        return "error_rate"
    if (state[_LIMITED] - limited) / requests > trip.rate_limit_rate:
        return "rate_limit_rate"
    return "p95" if (state[_SLOW] - slow) * 20 > requests else ""


def _opened(trip: Trip, state: State, now_us: int, cause: str, u: float) -> State:
    """Open from now on; longer than the last time if it has not been closed since."""
    wait = trip.cooldown_us
    if state[_COOLDOWN]:
        wait = max(wait, min(trip.cooldown_max_us, int(state[_COOLDOWN] * trip.cooldown_factor)))
    new = _FRESH.copy()
    new[_UNTIL] = now_us + wait + int(wait * trip.cooldown_jitter * u)
    new[_COOLDOWN] = wait
    new[_WHY] = cause
    return new


def _probed(
    trip: Trip, state: State, now_us: int, heard: Heard, latency_us: int, u: float
) -> State | None:
    """What an open breaker makes of a report."""
    if not _cooled(state, now_us):
        return state
    if heard is not _OK or (trip.p95_us is not None and latency_us > trip.p95_us):
        return _opened(trip, state, now_us, "probe", u)
    passed = state[_PASSED] + 1
    if passed >= trip.half_open_probes:
        return None
    new = state.copy()
    new[_PASSED] = passed
    new[_PROBES] = _outstanding(state, now_us)[1:]
    return new


def _cooled(state: State, now_us: int) -> bool:
    """No wait is longer than two cooldowns: a later end is of another clock, and means nothing."""
    left_us = state[_UNTIL] - now_us
    return bool(left_us <= 0 or left_us > 3 * state[_COOLDOWN])


def _outstanding(state: State, now_us: int) -> list[int]:
    """When each probe that is still waited for will be given up."""
    return [end for end in state[_PROBES] if now_us < end <= now_us + 3 * state[_COOLDOWN]]


# -- the registry: a breaker for each model, tool, provider and tenant --------------------------


def scopes(channel: Channel, target: str, provider: str = "", tenant: str = "") -> tuple[str, ...]:
    """Whose breakers a request concerns, narrowest first; the empty are left out.

    The same for every request to a target: make it once.
    """
    first = ("model:" if channel is Channel.MODEL else "tool:") + target
    if not provider:
        return (first, "tenant:" + tenant) if tenant else (first,)
    if not tenant:
        return first, "provider:" + provider
    return first, "provider:" + provider, "tenant:" + tenant


def by_scope(trip: Trip, wide: int = 4) -> dict[str, Trip]:
    """Settings for all four kinds of scope, from one.

    One bad model is no reason to shut its provider, nor one bad tool its tenant: else there would
    be nothing left to turn to. So providers and tenants need `wide` times the failures in a row
    and the sample.
    """
    wider = replace(trip, consecutive=trip.consecutive * wide, min_sample=trip.min_sample * wide)
    return {"model": trip, "tool": trip, "provider": wider, "tenant": wider}


def first_open(
    trips: Mapping[str, Trip],
    states: Mapping[str, State | None],
    scopes: Sequence[str],
    now_us: int,
) -> str | None:
    """The first scope that lets no request through now, or None.

    `trips`: settings by scope (`tool:search`) or by kind (`tool`); who has none has no breaker.
    """
    for scope in scopes:
        state = states.get(scope)
        if state is not None and state[_UNTIL] is not None:
            trip = _of(trips, scope)
            if trip is not None and not allows(trip, state, now_us):
                return scope
    return None


def any_open(states: Breakers) -> bool:
    """Is any of them not closed?"""
    return any(state is not None and state[_UNTIL] is not None for state in states.values())


def admit_all(
    trips: Mapping[str, Trip], states: Breakers, scopes: Sequence[str], now_us: int
) -> Breakers:
    """The breakers once a request went out; the same object if all of its own are closed."""
    new = states
    for scope in scopes:
        state = states.get(scope)
        if state is not None and state[_UNTIL] is not None:
            trip = _of(trips, scope)
            if trip is not None:
                new = {**new, scope: admit(trip, state, now_us)}
    return new


def record_all(
    trips: Mapping[str, Trip],
    states: Breakers,
    scopes: Sequence[str],
    now_us: int,
    heard: Heard,
    latency_us: int,
    u: float,
) -> Breakers:
    """The breakers once a request was answered or failed; `u` as in `record`, one for all."""
    new = states.copy()
    for scope in scopes:
        trip = _of(trips, scope)
        if trip is not None:
            new[scope] = record(trip, states.get(scope), now_us, heard, latency_us, u)
    return new


def _of(trips: Mapping[str, Trip], scope: str) -> Trip | None:
    return trips.get(scope) or trips.get(scope.partition(":")[0])
