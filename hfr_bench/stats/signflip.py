"""The sign-flip test of paired differences: tasks, not trials, change sides.

If two arms are exchangeable, the difference of each task (summed over its seeds and rates) is as
likely to have the other sign. Flipping whole tasks keeps what their trials have in common, which
McNemar's test on trials does not: it rejects true hypotheses in 8 to 11 % of cases at 5 % where
seeds of a task are alike (facts/statistics.md §1.3).

Small integer differences (counts) are summed over all 2^n assignments by convolution: exact. Others
(money, time) are flipped at random by a keyed stream, the observed assignment counted in.
"""

import hashlib
from math import gcd
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

REACH = 20_000
"""Largest sum of absolute differences that is still convolved."""
FLIPS = 20_000
_BLOCK = 1000
_TINY = float(np.finfo(np.float64).tiny)


class SignFlip(NamedTuple):
    """What the test found.

    `above`, `below`: shares of assignments whose sum is at least (at most) the observed one: the
    one-sided p-values of "greater" and "less". `better`, `worse`: tasks with a positive (negative)
    difference. `exact`: whether all assignments were summed.
    """

    above: float
    below: float
    better: int
    worse: int
    exact: bool

    @property
    def two_sided(self) -> float:
        """Twice the smaller one-sided p-value; the null distribution is symmetric."""
        return min(1.0, 2 * min(self.above, self.below))


def sign_flip(differences: npt.ArrayLike, key: str, flips: int = FLIPS) -> SignFlip:
    """Test whether differences of tasks lean to one side.

    Args:
        differences: per unit of resampling (task or cohort), shape (units,); any unit. Zeros say
            nothing and are left out. Nothing but zeros gives p = 1.
        key: of the random stream, where one is needed: the preregistration's digest and the claim.
        flips: random assignments, where not all are summed.

    Raises:
        ValueError: a difference is not finite.
    """
    given = np.asarray(differences, dtype=np.float64)
    if not np.isfinite(given).all():
        raise ValueError("sign_flip: every difference must be finite")
    kept = given[given != 0]
    better, worse = int((kept > 0).sum()), int((kept < 0).sum())
    sizes = np.abs(kept)
    if kept.size == 0:
        return SignFlip(1.0, 1.0, 0, 0, True)
    if (sizes == np.rint(sizes)).all() and sizes.max() < 2**53 // kept.size:
        steps = [int(size) for size in sizes]
        unit = gcd(*steps)
        if sum(steps) // unit <= REACH:
            observed = round(float(kept.sum())) // unit
            above, below = _convolved([step // unit for step in steps], observed)
            return SignFlip(above, below, better, worse, True)
    above, below = _flipped(kept, key, flips)
    return SignFlip(above, below, better, worse, False)


def _convolved(steps: list[int], observed: int) -> tuple[float, float]:
    """Shares of all assignments at or beyond the observed sum, on either side.

    `half[k]`: share of assignments in which the positive steps sum to k; the sum is 2k - total.
    """
    total = sum(steps)
    half = np.zeros(total + 1)
    half[0] = 1.0
    reached = 0
    for step in steps:
        moved = half[: reached + 1] / 2
        half[: reached + 1] = moved
        half[step : reached + step + 1] += moved
        reached += step
    at = (observed + total) // 2
    above, below = float(half[at:].sum()), float(half[: at + 1].sum())
    return min(1.0, max(above, _TINY)), min(1.0, max(below, _TINY))


def _flipped(kept: Floats, key: str, flips: int) -> tuple[float, float]:
    """The same by random assignments: (1 + those at or beyond) / (1 + all)."""
    digest = hashlib.sha256(f"hfr-sign-flip-v1\x00{key}".encode()).digest()
    bits = np.random.Philox(key=int.from_bytes(digest[:16], "big"))
    observed = float(kept.sum())
    slack = 1e-12 * float(np.abs(kept).sum())  # sums of one assignment may differ in a last digit
    above = below = 1
    for start in range(0, flips, _BLOCK):
        width = min(_BLOCK, flips - start)
        words = bits.random_raw(width * kept.size).reshape(width, kept.size)
        sums = np.where(words >> np.uint64(63), -kept, kept).sum(axis=1)
        above += int((sums >= observed - slack).sum())
        below += int((sums <= observed + slack).sum())
    return above / (flips + 1), below / (flips + 1)
