"""How much further out the percentiles of a bootstrap are read where few units are drawn.

Resampled means of n units vary by sqrt((n-1)/n) too little, and by a normal law where a t law is
due. So the percentiles that bound them are those of the level at which a normal interval has the
width of a t interval: Hesterberg's *expanded percentile* interval (2015, The American Statistician
69, §4.5). With strata, n-1 is n - strata: each stratum spends a degree of freedom on its own mean.
"""

from functools import lru_cache

from scipy.special import ndtr, ndtri, stdtr, stdtrit  # type: ignore[import-untyped]


@lru_cache(maxsize=4096)
def read_at(level: float, units: int, strata: int = 1) -> float:
    """The level of the percentiles that make an interval of `level`.

    Args:
        level: of the interval, e.g. 0.95.
        units: tasks or cohorts behind it.
        strata: suites that they are drawn from.

    Returns:
        0.983 for 0.95 and 10 units, 0.952 for 200; at least `level`, at most 1.
    """
    free = _free(units, strata)
    far = (units / free) ** 0.5 * float(stdtrit(free, (1 + level) / 2))
    return 1 - 2 * float(ndtr(-far))


def told(share: float, units: int, strata: int = 1) -> float:
    """The one-sided p of a share of resamples that lie on the wrong side of a line.

    It is at most (1 - level)/2 exactly where the percentile that `read_at` chooses lies beyond.
    """
    free = _free(units, strata)
    return float(stdtr(free, float(ndtri(share)) / (units / free) ** 0.5))


def reach(z: float, units: int, strata: int = 1) -> float:
    """How many of a bootstrap's standard errors stand for z normal ones; z at least 0."""
    free = _free(units, strata)
    widest: float = (units / free) ** 0.5
    return widest * -float(stdtrit(free, float(ndtr(-z))))


def _free(units: int, strata: int) -> int:
    """Degrees of freedom; at least one, where every suite has one unit."""
    return max(1, units - strata)
