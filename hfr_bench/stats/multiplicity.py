"""Several claims at once: Holm inside a family, families in their registered order, joint bounds.

Reasons: facts/statistics.md §1.5. Pure; p-values in, p-values out.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from hfr_bench.stats.exact import NOTHING, Interval

Floats = npt.NDArray[np.float64]


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values (Holm 1979), in the order given.

    All claims with an adjusted p of at most alpha may be made together, with a chance of at most
    alpha that any of them is wrong, however they depend on each other.
    """
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda n: ps[n])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = largest
    return tuple(adjusted)


def gatekept(
    ps: Sequence[float], families: Sequence[int], borne: Sequence[bool] = ()
) -> tuple[float, ...]:
    """Adjusted p-values of families that are tested one after the other (serial gatekeeping).

    A family is tested, by Holm, only if every claim of all families before it was made: so no
    claim gets a smaller p than the worst of an earlier family. A claim without a p-value has 1.0.

    Args:
        ps: p-values.
        families: the family of each, lower numbers first.
        borne: whether the interval bears each claim, too; what it does not bear is not made, and
            shuts the gate whatever its p. None given: p alone decides.

    Raises:
        ValueError: not one family (and, if given, one of `borne`) for each p-value.
    """
    adjusted, open_ = [1.0] * len(ps), list(borne) or [True] * len(ps)
    if len(open_) != len(ps):
        raise ValueError("gatekept: borne must tell of every p-value")
    gate = 0.0
    of = list(zip(ps, families, strict=True))
    for family in sorted(set(families)):
        places = [n for n, (_, one) in enumerate(of) if one == family]
        for place, p in zip(places, holm([ps[n] for n in places]), strict=True):
            adjusted[place] = max(p, gate)
        gate = max(adjusted[n] if open_[n] else 1.0 for n in places)
    return tuple(adjusted)


def simultaneous(
    values: Sequence[float],
    resampled: Sequence[Floats],
    level: float,
    widened: Callable[[float], float] = float,
) -> tuple[Interval, ...]:
    """Intervals that hold all together: single-step max-|t| over the shared weights.

    Each estimate is standardised by the spread of its resamples; the `level` quantile of the
    largest deviation in a resample bounds them all (Westfall and Young 1993, §2.5).

    Args:
        values: the estimates, shape (m,).
        resampled: each estimate in every resample, m arrays of shape (resamples,), of one weight
            matrix.
        level: joint coverage.
        widened: what so many standard errors become where units are few (`stats.expand.reach`).

    Returns:
        A symmetric interval for each, in its unit. None for one whose resamples are not all
        finite or do not vary: it has no standard error, and takes no part in the maximum.
    """
    spreads = [
        float(one.std(ddof=1)) if one.size > 1 and np.isfinite(one).all() else 0.0
        for one in resampled
    ]
    sound = [n for n, spread in enumerate(spreads) if spread > 0 and np.isfinite(values[n])]
    if not sound:
        return tuple(NOTHING for _ in values)
    largest = np.zeros_like(resampled[sound[0]])
    for n in sound:
        np.maximum(largest, np.abs(resampled[n] - values[n]) / spreads[n], out=largest)
    place = min(largest.size - 1, int(np.ceil(level * largest.size)) - 1)
    reach = widened(float(np.partition(largest, place)[place]))
    return tuple(
        Interval(values[n] - reach * spreads[n], values[n] + reach * spreads[n])
        if n in sound
        else NOTHING
        for n in range(len(values))
    )
