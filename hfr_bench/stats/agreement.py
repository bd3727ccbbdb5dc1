"""How well people agree, and what a weighted sample of their answers says of all trials.

Cohen's kappa (1960) of two judgements; Krippendorff's alpha (2004) of any number of them, nominal,
with missing values. Both are undefined where only one answer was ever given: nothing can then be
told apart from chance. Both are low at high raw agreement where one answer is rare (83 % agreement
at 10 % prevalence gave 0.37), so raw agreement and the 2x2 stand beside them, with a percentile
bootstrap over the trials.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hfr_bench.stats.exact import NOTHING, Interval, clopper_pearson, effective_n

Floats = npt.NDArray[np.float64]
RESAMPLES = 2000
UNDEFINED_MAX = 0.05
"""So many resamples may be undefined; beyond it an interval would describe only the others."""


class Coefficient(NamedTuple):
    """A coefficient, its interval, and why there is none."""

    value: float | None
    interval: Interval = NOTHING
    why: str = ""


def tabulated(pairs: Sequence[tuple[str, str]]) -> Floats:
    """Each pair as a one-hot table: shape (pairs, k, k) over the k answers that occur, sorted."""
    kinds = sorted({answer for pair in pairs for answer in pair})
    made = np.zeros((len(pairs), len(kinds), len(kinds)))
    for n, (first, second) in enumerate(pairs):
        made[n, kinds.index(first), kinds.index(second)] = 1
    return made


def coincidences(units: Sequence[Sequence[str | None]]) -> Floats:
    """Each unit's share in the coincidence matrix: shape (units, k, k); None is a missing value.

    A unit with fewer than two values pairs nothing and contributes nothing.
    """
    kinds = sorted({value for unit in units for value in unit if value is not None})
    made = np.zeros((len(units), len(kinds), len(kinds)))
    for n, unit in enumerate(units):
        counts = np.array([sum(value == kind for value in unit) for kind in kinds], dtype=float)
        if (values := counts.sum()) >= 2:
            made[n] = (np.outer(counts, counts) - np.diag(counts)) / (values - 1)
    return made


def _kappa_of(tables: Floats) -> Floats:
    """Cohen's kappa of tables of counts, shape (..., k, k) -> (...); nan where undefined."""
    n = tables.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.trace(tables, axis1=-2, axis2=-1) / n
        chance = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1) / n**2
        made: Floats = np.where(chance < 1, (seen - chance) / (1 - chance), np.nan)
    return made


def _alpha_of(tables: Floats) -> Floats:
    """Nominal alpha of coincidence matrices, shape (..., k, k) -> (...); nan where undefined."""
    margins = tables.sum(axis=-1)
    n = margins.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = n - np.trace(tables, axis1=-2, axis2=-1)
        chance = (n**2 - (margins**2).sum(axis=-1)) / (n - 1)
        made: Floats = np.where(chance > 0, 1 - seen / chance, np.nan)
    return made


def raw_agreement(pairs: Sequence[tuple[str, str]]) -> float | None:
    """The share of pairs whose answers are equal; None without a pair."""
    return sum(first == second for first, second in pairs) / len(pairs) if pairs else None


def kappa(pairs: Sequence[tuple[str, str]], level: float, seed: int) -> Coefficient:
    """Cohen's kappa of two judgements of the same units, with its bootstrap interval.

    Args:
        pairs: both answers to each unit; none missing.
        level: of the interval, such as 0.95.
        seed: of the resamples.
    """
    if not pairs:
        return Coefficient(None, why="nothing was judged by both")
    return _coefficient(tabulated(pairs), _kappa_of, level, seed)


def alpha(units: Sequence[Sequence[str | None]], level: float, seed: int) -> Coefficient:
    """Krippendorff's alpha, nominal, of any number of judgements; None is a missing value."""
    made = coincidences(units)
    if not made.any():
        return Coefficient(None, why="nothing was judged twice")
    # A unit with a single value takes no part, in the value or in the resamples.
    return _coefficient(made[made.any(axis=(1, 2))], _alpha_of, level, seed)


def _coefficient(
    made: Floats, of: Callable[[Floats], Floats], level: float, seed: int
) -> Coefficient:
    value = float(of(made.sum(axis=0)))
    if np.isnan(value):
        return Coefficient(None, why="only one answer was given")
    units, size = len(made), made.shape[-1]
    # Units that look alike are drawn together: how often each look comes up is multinomial.
    looks, alike = np.unique(made.reshape(units, -1), axis=0, return_counts=True)
    counts = np.random.default_rng(seed).multinomial(units, alike / units, RESAMPLES)
    sums = (counts @ looks).reshape(-1, size, size)
    found = of(sums)
    defined = found[~np.isnan(found)]
    if len(defined) < (1 - UNDEFINED_MAX) * RESAMPLES:
        return Coefficient(value, why="too one-sided for an interval")
    if np.ptp(defined) == 0:  # nothing to resample: certainty that nobody has
        total = made.sum(axis=0)
        apart = total.sum() > np.trace(total)  # as where one side gave a single answer throughout
        why = "too one-sided for an interval" if apart else "no disagreement was seen"
        return Coefficient(value, why=why)
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Coefficient(value, Interval(float(low), float(high)))


class Weighted(NamedTuple):
    """A weighted share, its exact interval, and how many independent trials it rests on."""

    value: float | None
    interval: Interval
    effective_n: float


def weighted_share(
    hits: Sequence[bool], weights: Sequence[float], tasks: Sequence[str], level: float
) -> Weighted:
    """The share of all trials that a sample with unequal weights stands for.

    The value is sum(w·hit)/sum(w). Its interval is Clopper-Pearson's on the effective n (Korn and
    Graubard): what unequal weights leave of n (Kish: (sum w)²/sum w²), less what trials of one task
    tell twice. That few trials of a finite number were drawn is not subtracted: it is wider.

    Args:
        hits: whether each sampled trial has it.
        weights: how many trials each stands for; above 0.
        tasks: the task of each.
        level: of the interval.
    """
    if not hits:
        return Weighted(None, NOTHING, 0.0)
    w = np.asarray(weights, dtype=float)
    worth = float(w.sum() ** 2 / (w**2).sum())
    scaled = w * worth / w.sum()
    kinds = sorted(set(tasks))
    place = np.array([kinds.index(task) for task in tasks])
    hit = np.asarray(hits, dtype=float)
    den, num = np.zeros(len(kinds)), np.zeros(len(kinds))
    np.add.at(den, place, scaled)
    np.add.at(num, place, scaled * hit)
    worth = min(worth, effective_n(num, den))
    value = float((w * hit).sum() / w.sum())
    return Weighted(value, clopper_pearson(value * worth, worth, level), worth)
