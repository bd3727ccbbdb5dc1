"""Looking before the end: O'Brien-Fleming looks, and bounds that hold at any time.

Looking without correction rejects a true hypothesis in 10 % of experiments after 3 looks and in
29 % when looked at every 20 tasks (facts/statistics.md §1.7). A look counts complete blocks (a task
and seed finished in all arms) in the registered task order, so that slow tasks bias none.
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, ndtr, ndtri  # type: ignore[import-untyped]

Floats = npt.NDArray[np.float64]

_NODES = 300
_BETS = np.array([0.95, 0.8, 0.6, 0.4, 0.25, 0.15, 0.08, 0.04])
"""On values within [0, 1]; below 1. Large ones serve few tasks or rare events, small ones many."""


def spent(share: float, alpha: float) -> float:
    """Lan and DeMets' O'Brien-Fleming spending on one side, of `alpha` on both.

    Args:
        share: of the planned blocks that are in, above 0 to 1.
        alpha: two-sided error of the whole experiment; each side spends half of it.
    """
    return float(2 * ndtr(ndtri(alpha / 4) / np.sqrt(share)))


def looks(shares: Sequence[float], level: float = 0.95) -> tuple[float, ...]:
    """The critical |z| at each look.

    Three even looks at 0.95: 3.710, 2.511, 1.993 (spending half of alpha on each side; spending
    all of it as if one-sided gives other numbers).

    Args:
        shares: the information at each look, rising, the last at most 1.
        level: 1 - the two-sided error.

    Raises:
        ValueError: shares that do not rise from above 0 to at most 1.
    """
    given = np.array([0.0, *shares])
    if len(given) < 2 or (np.diff(given) <= 0).any() or given[-1] > 1:
        raise ValueError(f"looks must rise from above 0 to at most 1, not {tuple(shares)}")
    alpha = 1 - level
    nodes, weights = _gauss()
    at, density = np.zeros(1), np.ones(1)  # where the score is, among experiments that go on
    bounds: list[float] = []
    for before, now in pairwise(given):
        step = np.sqrt(now - before)
        due = spent(now, alpha) - (spent(before, alpha) if before else 0.0)

        bounds.append(_crossing(at, density, float(now), float(step), float(due)))
        edge = bounds[-1] * np.sqrt(now)
        there = nodes * edge
        moves = np.exp(-(((there[:, None] - at) / step) ** 2) / 2) / (step * np.sqrt(2 * np.pi))
        at, density = there, (moves @ density) * weights * edge
    return tuple(bounds)


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Nodes and weights of the quadrature: most of the work, and always the same."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def _crossing(at: Floats, density: Floats, now: float, step: float, due: float) -> float:
    """The z beyond which the share `due` lies at information `now`, by bisection.

    `at`, `density`: the scores of the experiments that went on, and their weights.
    """
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        over = float(density @ ndtr((at - middle * np.sqrt(now)) / step))
        low, high = (middle, high) if over > due else (low, middle)
    return (low + high) / 2


def confidence_sequence(differences: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Bounds of a mean paired difference that hold at every time together, in any sample size.

    An empirical Bernstein sequence (Howard, Ramdas, McAuliffe and Sekhon 2021, theorem 4), mixed
    over a few bets. It asks for no normal law, and not that the mean stay the same along the order
    of the tasks: at each time it is about the average, over the tasks so far, of what was to be
    expected of each. It may be looked at after every task; it is wider than an interval of fixed n,
    and is meant for deciding whether to go on, not for a headline.

    Args:
        differences: mean difference of each task in the registered order, each within [-1, 1],
            shape (n,).
        level: chance that no bound is ever wrong.

    Returns:
        Lower and upper bounds after each task, shapes (n,), with the mean so far between them.

    Raises:
        ValueError: a difference outside [-1, 1].
    """
    given = np.asarray(differences, dtype=np.float64)
    if given.size and not (np.abs(given) <= 1).all():
        raise ValueError("confidence_sequence: differences must lie within [-1, 1]")
    x = (given + 1) / 2
    n = np.arange(1, x.size + 1)
    guessed = np.concatenate([[0.5], (0.5 + np.cumsum(x)) / (n + 1)])[: x.size]  # before each task
    reach = _farthest(np.cumsum((x - guessed) ** 2), np.log(2 / (1 - level)))
    means = np.cumsum(given) / n
    return np.clip(means - 2 * reach / n, -1, 1), np.clip(means + 2 * reach / n, -1, 1)


def _farthest(spread: Floats, cost: float) -> Floats:
    """How far a sum may stray on one side, by bisection; shape (n,).

    For every bet, `exp(bet * strayed - psi(bet) * spread)` is a supermartingale that begins at 1,
    and so is their average: it ever exceeds `exp(cost)` with a chance of `exp(-cost)` at most.

    Args:
        spread: summed squares of each value's distance from what was guessed before it, (n,).
        cost: -log of one side's error.
    """
    psi = -np.log1p(-_BETS) - _BETS
    low: Floats = np.zeros_like(spread)
    high: Floats = (cost + np.log(_BETS.size) + psi[0] * spread) / _BETS[0]
    for _ in range(50):
        middle = (low + high) / 2
        logs = _BETS[:, None] * middle - psi[:, None] * spread
        beyond = logsumexp(logs, axis=0) - np.log(_BETS.size) > cost
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return high
