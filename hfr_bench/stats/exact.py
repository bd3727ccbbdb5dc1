"""Intervals for few events, where a bootstrap would claim certainty it does not have.

Clopper-Pearson on the effective number of trials (Korn and Graubard): trials of one task are
alike, so they count for less than independent ones. Measured coverage: facts/statistics.md §1.4.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, gammaincinv  # type: ignore[import-untyped]


class Interval(NamedTuple):
    """Bounds in the unit of the value; None where nothing can be said."""

    low: float | None
    high: float | None


NOTHING = Interval(None, None)


def clopper_pearson(events: float, n: float, level: float) -> Interval:
    """Exact bounds of a share from `events` of `n` (both may be effective, so fractions).

    No events, or nothing but events, leave one side open: the bound is then one-sided at
    `level` (0 of 600 gives at most 0.00498 at 0.95). Without trials there is no interval.
    """
    if n <= 0:
        return NOTHING
    alpha = 1 - level
    if events <= 0:
        return Interval(0.0, float(-np.expm1(np.log(alpha) / n)))
    if events >= n:
        return Interval(float(np.exp(np.log(alpha) / n)), 1.0)
    low = float(betaincinv(events, n - events + 1, alpha / 2))
    return Interval(low, float(betaincinv(events + 1, n - events, 1 - alpha / 2)))


def poisson(events: float, n: float, level: float) -> Interval:
    """Exact bounds (Garwood) of a mean count per trial, for more events than trials."""
    if n <= 0:
        return NOTHING
    alpha = 1 - level
    low = float(gammaincinv(events, alpha / 2)) if events > 0 else 0.0
    return Interval(low / n, float(gammaincinv(events + 1, 1 - alpha / 2)) / n)


def effective_n(num: npt.NDArray[np.float64], den: npt.NDArray[np.float64]) -> float:
    """How many independent trials the clustered ones are worth.

    Args:
        num: events per task, shape (tasks,).
        den: trials (or writes) per task, shape (tasks,).

    Returns:
        p(1-p)/SE² with the clustered standard error of p, kept between the number of tasks and
        of trials; the number of tasks where there are no events, or nothing else.
    """
    tasks, n = float(np.count_nonzero(den)), float(den.sum())
    if n == 0:
        return 0.0
    p = float(num.sum()) / n
    if not 0 < p < 1 or tasks < 2:
        return tasks
    residuals = num - p * den
    variance = tasks / (tasks - 1) * float(residuals @ residuals) / n**2
    return float(np.clip(p * (1 - p) / variance, tasks, n)) if variance > 0 else n


def share_interval(
    num: npt.NDArray[np.float64], den: npt.NDArray[np.float64], level: float
) -> Interval:
    """Exact bounds of sum(num)/sum(den) from per-task sums, on the effective n."""
    n = float(den.sum())
    if n == 0:
        return NOTHING
    worth, p = effective_n(num, den), float(num.sum()) / n
    return (clopper_pearson if p <= 1 else poisson)(p * worth, worth, level)


def difference_interval(
    better: npt.NDArray[np.float64],
    worse: npt.NDArray[np.float64],
    pairs: npt.NDArray[np.float64],
    level: float,
) -> Interval:
    """Conservative exact bounds of a paired difference of shares with few discordant pairs.

    The difference is q(2w - 1): q the share of discordant pairs, w the share of them that the
    first arm wins. Both are bounded exactly at half the error (Bonferroni). So it excludes zero
    only where an exact sign test would, and no discordant pair at all leaves room on both sides.

    Args:
        better: pairs per task in which only the first arm has it, shape (tasks,).
        worse: pairs per task in which only the second arm has it.
        pairs: pairs per task.
        level: of the interval.
    """
    half = 1 - (1 - level) / 2
    q = share_interval(better + worse, pairs, half)
    if q.low is None or q.high is None:
        return NOTHING
    w = share_interval(better, better + worse, half)
    if w.low is None or w.high is None:
        return Interval(-q.high, q.high)
    low, high = 2 * w.low - 1, 2 * w.high - 1
    return Interval(low * (q.high if low < 0 else q.low), high * (q.high if high > 0 else q.low))
