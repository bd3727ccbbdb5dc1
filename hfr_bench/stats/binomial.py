"""The binomial distribution, as far as exact power needs it, from `scipy.special` alone.

`scipy.stats` has all of it and takes half a second to load, which every verification of a bundle
with a registered claim would pay; a test holds the two together.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

Counts = NDArray[np.int64]
Chances = NDArray[np.float64]


def pmf(k: Counts, n: int, p: float) -> Chances:
    """The chance of exactly k of n, each with chance p; 0 <= k <= n."""
    ways = -np.log(n + 1.0) - special.betaln(n - k + 1.0, k + 1.0)
    found: Chances = np.exp(ways + special.xlogy(k, p) + special.xlog1py(n - k, -p))
    return found


def at_most(k: Counts, n: Counts, p: float) -> Chances:
    """The chance of k of n or fewer; 0 for negative k."""
    found: Chances = np.where(k < 0, 0.0, special.bdtr(np.clip(k, 0, n), n, p))
    return found


def more_than(k: Counts, n: Counts, p: float) -> Chances:
    """The chance of more than k of n; 1 for negative k."""
    found: Chances = np.where(k < 0, 1.0, special.bdtrc(np.clip(k, 0, n), n, p))
    return found


def edge(q: float, n: Counts, p: float) -> Counts:
    """The smallest k of which there is more with chance q at most; 0 < q < 1, 0 < p < 1."""
    near = np.where(n > 0, np.ceil(special.bdtrik(1.0 - q, np.maximum(n, 1), p)), 0)
    k: Counts = np.clip(near, 0, n).astype(np.int64)
    while (lower := (k > 0) & (more_than(k - 1, n, p) <= q)).any():
        k = k - lower
    while (higher := more_than(k, n, p) > q).any():
        k = k + higher
    return k
