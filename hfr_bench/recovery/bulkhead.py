"""Bulkheads and adaptive concurrency (paper §4.7; third seed's AdaptiveRecovery), pure.

A pool of slots for each provider, tool or tenant keeps one failing place from using up what all
share. Part of it is kept for critical tasks; tasks of low criticality are told to degrade before
it is full. How much of it may be used at a time is found out by AIMD: one more after successes,
half after a failure.

A state is a short list of numbers, JSON as it is, and never changed in place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hfr_bench.model.terms import Criticality

InUse = list[int]  # [slots held by critical tasks, slots held by all others]
Uses = dict[str, InUse]
Workers = list[int]  # [workers, when their number was last changed or confirmed by a failure]


@dataclass(frozen=True, slots=True)
class Pool:
    """`capacity` slots, of which others than critical tasks leave `reserved_for_critical`.

    `degrade_low_at`: the pressure (0..1) from which tasks of low criticality should rather take
    a cheaper path than a slot. Raises ValueError for a pool that lets nobody in or keeps more
    than it has.
    """

    capacity: int
    reserved_for_critical: int = 0
    degrade_low_at: float = 0.75

    def __post_init__(self) -> None:
        if self.capacity < 1:
            raise ValueError(f"bulkhead: capacity must be 1 or more, got {self.capacity}")
        if not 0 <= self.reserved_for_critical <= self.capacity:
            raise ValueError(
                f"bulkhead: reserved_for_critical must be between 0 and the capacity "
                f"({self.capacity}), got {self.reserved_for_critical}"
            )
        if not 0 <= self.degrade_low_at <= 1:
            raise ValueError(
                f"bulkhead: degrade_low_at must be between 0 and 1, got {self.degrade_low_at}"
            )


def shared(pool: Pool, limit: int | None = None) -> int:
    """How many slots others than critical tasks may hold at a time.

    `limit`: use no more than so many of the pool (AIMD's workers); None = all. The reserve is
    kept whole as long as it leaves them a slot: a pool without traffic would never grow again.
    """
    open_to_all = pool.capacity - pool.reserved_for_critical
    if limit is None or limit >= pool.capacity:
        return open_to_all
    return max(limit - pool.reserved_for_critical, min(1, open_to_all, limit))


def fits(pool: Pool, in_use: InUse | None, critical: bool, limit: int | None = None) -> bool:
    """Is there a slot for one more? Critical tasks may hold any, others their share."""
    if in_use is None:
        in_use = _NOBODY
    total = pool.capacity if limit is None or limit > pool.capacity else limit
    if in_use[0] + in_use[1] >= total:
        return False
    return critical or in_use[1] < shared(pool, limit)


def take(
    pool: Pool, in_use: InUse | None, critical: bool, limit: int | None = None
) -> tuple[InUse, bool]:
    """(what is in use then, whether a slot was had). Refused: nothing changes."""
    now = _NOBODY if in_use is None else in_use
    if not fits(pool, now, critical, limit):
        return now, False
    return ([now[0] + 1, now[1]] if critical else [now[0], now[1] + 1]), True


def give_back(in_use: InUse | None, critical: bool) -> InUse:
    """What is in use once one such task is done. Raises ValueError if none holds a slot."""
    critical_held, others_held = in_use or _NOBODY
    if (critical_held if critical else others_held) < 1:
        raise ValueError(f"bulkhead: no slot to give back (critical={critical}): {in_use}")
    return [critical_held - 1, others_held] if critical else [critical_held, others_held - 1]


def pressure(pool: Pool, in_use: InUse | None, limit: int | None = None) -> float:
    """The share of the pool (of `limit`, if smaller) that is in use: 0 = idle, 1 = full.

    More than 1 while a limit that has just been lowered is still exceeded.
    """
    if in_use is None:
        return 0.0
    total = pool.capacity if limit is None else max(1, min(limit, pool.capacity))
    return (in_use[0] + in_use[1]) / total


def should_degrade(
    pool: Pool, in_use: InUse | None, criticality: Criticality, limit: int | None = None
) -> bool:
    """Should such a task take a cheaper path instead of a slot here (paper §4.7)?

    Low criticality: from `degrade_low_at` on. Medium: when its share is used up. High: when the
    pool is full.
    """
    low = criticality is Criticality.LOW
    if low and pressure(pool, in_use, limit) >= pool.degrade_low_at:
        return True
    return not fits(pool, in_use, criticality is Criticality.HIGH, limit)


_NOBODY: Final[InUse] = [0, 0]


# -- several pools at once ----------------------------------------------------------------------


def take_all(
    pools: Mapping[str, Pool], uses: Uses, scopes: Sequence[str], critical: bool
) -> tuple[Uses, str | None]:
    """A slot in the pool of every scope, or in none: (what is in use then, who refused or None).

    `pools`: by scope (`tool:search`, see `breaker.scopes`) or by kind (`tool`), which means a
    pool of that size for each; a scope without a pool is not limited.
    """
    new = uses
    for scope in scopes:
        pool = _of(pools, scope)
        if pool is not None:
            held, had = take(pool, uses.get(scope), critical)
            if not had:
                return uses, scope
            new = {**new, scope: held}
    return new, None


def give_back_all(
    pools: Mapping[str, Pool], uses: Uses, scopes: Sequence[str], critical: bool
) -> Uses:
    """What is in use once the task that took those slots is done. Raises as `give_back`."""
    new = uses
    for scope in scopes:
        if _of(pools, scope) is not None:
            new = {**new, scope: give_back(uses.get(scope), critical)}
    return new


def _of(pools: Mapping[str, Pool], scope: str) -> Pool | None:
    return pools.get(scope) or pools.get(scope.partition(":")[0])


# -- adaptive concurrency -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Aimd:
    """Additive increase, multiplicative decrease of the workers (third seed, AdaptiveRecovery).

    `interval_us`: the least time between a change and the next increase. The seed stores its
    `scale_up_interval` of 300 s and never looks at it, so its workers grow with every success;
    here it is honoured, and 0 does what the seed's code does.
    """

    max_workers: int = 10
    interval_us: int = 300_000_000

    def __post_init__(self) -> None:
        if self.max_workers < 1:
            raise ValueError(f"aimd: max_workers must be 1 or more, got {self.max_workers}")
        if self.interval_us < 0:
            raise ValueError(f"aimd: interval_us must be 0 or more, got {self.interval_us}")


def workers(state: Workers | None) -> int:
    """How many may work at a time; a fresh state (None) starts with one."""
    return 1 if state is None else state[0]


def on_success(aimd: Aimd, state: Workers | None, now_us: int) -> Workers | None:
    """One more, up to the maximum, if the last change is an interval ago; else the same object.

    The first success may raise a fresh state. A clock that went back begins a new interval.
    """
    if state is None:
        return [2, now_us] if aimd.max_workers > 1 else None
    if state[0] >= aimd.max_workers:
        return state if state[0] == aimd.max_workers else [aimd.max_workers, state[1]]
    since_us = now_us - state[1]
    if aimd.interval_us == 0 or since_us >= aimd.interval_us:
        return [state[0] + 1, now_us]
    return state if since_us >= 0 else [state[0], now_us]


def on_failure(aimd: Aimd, state: Workers | None, now_us: int) -> Workers:
    """Half as many, at least one; the interval begins anew."""
    return [max(1, min(workers(state), aimd.max_workers) // 2), now_us]
