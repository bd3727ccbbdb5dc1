"""How many tasks an effect takes, and what effect so many tasks can show.

Paired differences, clustered by task: with K trials (seeds) a task, the mean difference of a task
has variance between² + within²/K, or sd² (1 + (K - 1) icc) / K from the sd of one pair and the
likeness of pairs of one task. Shares and amounts: the normal approximation, detectable effect =
(z(1 - alpha/2) + z(power)) sd / √n (facts/statistics.md §1.6; Miller 2024). Rare counts: the exact
power of the sign test.
"""

from collections.abc import Mapping, Sequence
from math import ceil, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

from hfr_bench.stats.binomial import at_most, edge, more_than, pmf

MOST = 10_000_000
"""Tasks beyond which an answer is no answer."""


class Aim(NamedTuple):
    """What a test is to reach. `alpha`: two-sided error, already divided among the claims."""

    power: float = 0.8
    alpha: float = 0.05

    @property
    def reach(self) -> float:
        """How many standard errors an effect must be."""
        return float(ndtri(1 - self.alpha / 2) + ndtri(self.power))


class Spread(NamedTuple):
    """Standard deviations of paired differences: of task means between tasks, and within a task."""

    between: float
    within: float

    def of(self, seeds: int) -> float:
        """The sd of a task's mean difference over so many seeds."""
        return sqrt(self.between**2 + self.within**2 / seeds)

    @property
    def icc(self) -> float:
        """How alike pairs of one task are: 0 (independent) to 1 (copies)."""
        total = self.between**2 + self.within**2
        return self.between**2 / total if total else 0.0


def spread(sd: float, icc: float) -> Spread:
    """Both parts from the sd of one pair's difference and the likeness within a task (0 to 1)."""
    return Spread(sd * sqrt(icc), sd * sqrt(1 - icc))


def binary_sd(better: float, worse: float) -> float:
    """The sd of one pair's difference (-1, 0, 1), from the shares of discordant pairs.

    Raises:
        ValueError: shares that are negative or more than 1 together.
    """
    if min(better, worse) < 0 or better + worse > 1:
        raise ValueError("discordant shares must not be negative, nor more than 1 together")
    return sqrt(better + worse - (better - worse) ** 2)


class Pilot(NamedTuple):
    """What a pilot says: tasks, mean seeds a task, mean difference, discordant shares, spread."""

    tasks: int
    seeds: float
    mean: float
    better: float
    worse: float
    spread: Spread


def pilot(differences: Mapping[str, Sequence[float]]) -> Pilot:
    """Split the variance of paired differences into its parts (one-way analysis of variance).

    Args:
        differences: of every pair, by task; tasks may have unlike numbers of pairs.

    Raises:
        ValueError: fewer than two tasks: there is no variance between them.
    """
    groups = [np.asarray(found, dtype=np.float64) for found in differences.values() if len(found)]
    if len(groups) < 2:
        raise ValueError("a pilot needs two tasks at least")
    every = np.concatenate(groups)
    sizes = np.array([group.size for group in groups])
    left = every.size - len(groups)
    inside = float(sum(((group - group.mean()) ** 2).sum() for group in groups))
    within = inside / left if left else 0.0
    means = np.array([group.mean() for group in groups])
    apart = float((sizes * (means - every.mean()) ** 2).sum()) / (len(groups) - 1)
    typical = (every.size - float((sizes**2).sum()) / every.size) / (len(groups) - 1)
    between = max(0.0, (apart - within) / typical)
    better, worse = float((every > 0).mean()), float((every < 0).mean())
    parts = Spread(sqrt(between), sqrt(within))
    return Pilot(len(groups), float(sizes.mean()), float(every.mean()), better, worse, parts)


def tasks_for(effect: float, sd: float, aim: Aim) -> int | None:
    """Tasks that show an effect, given the sd of a task's mean difference in the same unit.

    None for no effect, or where MOST would not do. At least 2.
    """
    if effect == 0:
        return None
    needed = (aim.reach * sd / abs(effect)) ** 2
    return max(2, ceil(round(needed, 9))) if needed <= MOST else None


def effect_for(tasks: int, sd: float, aim: Aim) -> float:
    """The smallest effect that so many tasks show, in the unit of `sd`."""
    return aim.reach * sd / sqrt(tasks)


def power_for(effect: float, sd: float, tasks: int, alpha: float) -> float:
    """The chance that a two-sided test of so many tasks finds an effect."""
    if sd == 0:
        return 1.0 if effect else alpha
    shift, edge = abs(effect) * sqrt(tasks) / sd, float(ndtri(1 - alpha / 2))
    return float(ndtr(shift - edge) + ndtr(-shift - edge))


def worth(tasks: int, seeds: int, icc: float) -> int:
    """Independent pairs that the pairs of so many tasks are worth, rounded down."""
    return int(tasks * seeds / (1 + (seeds - 1) * icc) + 1e-9)


def exact_power(better: float, worse: float, pairs: int, alpha: float) -> float:
    """The chance that the exact two-sided sign test rejects.

    Args:
        better: chance that an independent pair has an event in the second arm alone.
        worse: chance that it has one in the first arm alone.
        pairs: independent pairs (`worth`).
        alpha: two-sided error; the test keeps below it.
    """
    discordant = better + worse
    if pairs < 1 or discordant <= 0:
        return 0.0
    middle, sd = pairs * discordant, sqrt(pairs * discordant * (1 - discordant))
    low, high = max(0, int(middle - 10 * sd - 10)), min(pairs, int(middle + 10 * sd + 10))
    d = np.arange(low, high + 1)
    need = edge(alpha / 2, d, 0.5) + 1  # wins at which one tail is at most alpha / 2
    share = better / discordant
    rejects = more_than(need - 1, d, share) + at_most(d - need, d, share)
    return float(min(1.0, (pmf(d, pairs, discordant) * rejects).sum()))


def tasks_for_rare(better: float, worse: float, seeds: int, icc: float, aim: Aim) -> int | None:
    """Tasks at which the exact test reaches its power; None where MOST would not do.

    Exact power is a sawtooth in the number of pairs: a few tasks more may have a little less.
    """
    if better == worse:
        return None

    def enough(tasks: int) -> bool:
        return exact_power(better, worse, worth(tasks, seeds, icc), aim.alpha) >= aim.power

    high = 1
    while not enough(high):
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def rate_for(tasks: int, worse: float, seeds: int, icc: float, aim: Aim) -> float | None:
    """The smallest chance of an event in the worse arm that so many tasks tell from `worse`.

    None where not even a certain event would do.
    """
    pairs = worth(tasks, seeds, icc)
    low, high = worse, 1 - worse
    if exact_power(high, worse, pairs, aim.alpha) < aim.power:
        return None
    for _ in range(40):
        middle = (low + high) / 2
        found = exact_power(middle, worse, pairs, aim.alpha) >= aim.power
        low, high = (low, middle) if found else (middle, high)
    return high
