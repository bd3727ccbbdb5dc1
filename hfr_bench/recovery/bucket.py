"""A tenant's retries within a time window: a token bucket as a function (paper §4.3).

Every retry takes a token, time gives tokens back, and where there is none there is no retry:
one tenant's retry storm does not become its neighbours'.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_MICRO = 1_000_000
_MICRO_PER_RATE_US = 60  # one token a minute is one micro-token in 60 us

# (micro-tokens, the trial-clock time in us that they were counted at); a list once it has been
# through JSON. None = nothing has been taken yet: full.
State = Sequence[int]


@dataclass(frozen=True, slots=True)
class Bucket:
    """`rate_per_min` tokens come back each minute, up to `burst` (both whole, 0 or more)."""

    rate_per_min: int
    burst: int

    def __post_init__(self) -> None:
        for name, value in (("rate_per_min", self.rate_per_min), ("burst", self.burst)):
            if type(value) is not int or value < 0:
                raise ValueError(f"{name} must be a whole number of 0 or more, got {value!r}")


def take(bucket: Bucket, state: State | None, now_us: int, n: int = 1) -> tuple[State | None, bool]:
    """Takes `n` tokens if they are there: (the new state, True), or (the same state, False).

    Over any window of t minutes at most rate * t + burst tokens are taken. A clock that went
    backwards gives nothing back and takes nothing away. Raises ValueError if n < 1.
    """
    if n < 1:
        raise ValueError(f"at least one token is taken, got {n}")
    micro, at_us = _counted(bucket, state, now_us)
    if micro < n * _MICRO:
        # The old state, not the refilled one: a crowd of refusals must not round time away.
        return state, False
    return (micro - n * _MICRO, at_us), True


def left(bucket: Bucket, state: State | None, now_us: int) -> int:
    """How many tokens could be taken now."""
    if state is None:
        return bucket.burst
    return _counted(bucket, state, now_us)[0] // _MICRO


def _counted(bucket: Bucket, state: State | None, now_us: int) -> tuple[int, int]:
    """Micro-tokens there are by now, and the time that this is true of."""
    full = bucket.burst * _MICRO
    if state is None:
        return full, now_us
    micro, at_us = state
    if now_us <= at_us:
        return min(full, micro), at_us
    back = (now_us - at_us) * bucket.rate_per_min // _MICRO_PER_RATE_US
    return min(full, micro + back), now_us
