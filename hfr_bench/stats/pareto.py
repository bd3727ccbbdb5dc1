"""The Pareto front over the resamples that all metrics share: how often is an arm on it?

Three things count, as on the page's figure: success (more is better), what is spent (less is
better) and harm (less is better). An arm is off the front where another does as well in all three
and better in one. Equal arms are on it together. Since every arm is measured on the same drawn
tasks, the share of resamples in which an arm is on the front takes the pairing along, which
comparing intervals would not (DESIGN §8).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.bootstrap import Floats
from hfr_bench.stats.estimate import Measured, Setting, measure
from hfr_bench.stats.metrics import METRICS
from hfr_bench.stats.names import FEW, SPENT

SUCCESS, HARM = "sr", "harm_1000"


class Member(NamedTuple):
    """An arm on the front or not; `share` of the `resamples` that can be told.

    None without any, and where fewer than FEW tasks (or cohorts) are drawn: they are no sample.
    """

    on_front: bool
    share: float | None
    resamples: int


def membership(
    arms: Mapping[str, Sequence[TrialResult]], setting: Setting, spent: Sequence[str] = SPENT
) -> dict[str, dict[str, Member]]:
    """Each arm's membership of the front, by what is spent.

    Arms of which one of the three is not known (a price, no trials) are left out of that front.

    Args:
        arms: graded trials by arm, at one rate or pool; yardsticks left out.
        setting: the shared weight matrix, shape (tasks, resamples).
        spent: metrics of which less is better.
    """
    listed = list(arms.values())
    names = dict.fromkeys((SUCCESS, HARM, *spent))
    found = {
        name: dict(zip(arms, measure(METRICS[name], listed, setting), strict=True))
        for name in names
    }
    fronts = {}
    for metric in spent:
        three = [[found[name][arm] for name in (SUCCESS, metric, HARM)] for arm in arms]
        known = {arm: told for arm, of in zip(arms, three, strict=True) if (told := _told(of))}
        fronts[metric] = _members(known, few=len(setting.counts) < FEW) if known else {}
    return fronts


def _told(three: Sequence[Measured | None]) -> tuple[Measured, ...]:
    """All three, or nothing if one of them is not known."""
    known = tuple(one for one in three if one is not None and one.value is not None)
    return known if len(known) == len(three) else ()


def _members(known: Mapping[str, Sequence[Measured]], *, few: bool) -> dict[str, Member]:
    values = np.array([[one.value for one in three] for three in known.values()], dtype=np.float64)
    drawn = np.array([[one.resampled for one in three] for three in known.values()])
    told = np.isfinite(drawn).all(axis=(0, 1))
    observed, resampled = on_front(values[:, :, None])[:, 0], on_front(drawn[:, :, told])
    n = 0 if few else int(told.sum())
    return {
        arm: Member(bool(observed[i]), float(resampled[i].mean()) if n else None, n)
        for i, arm in enumerate(known)
    }


def on_front(points: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which arms no other beats, shape (arms, resamples).

    `points`: shape (arms, 3, resamples); success, spent, harm.
    """
    better = points * np.array([-1.0, 1.0, 1.0])[None, :, None]  # now less is better throughout
    kept = np.ones((points.shape[0], points.shape[2]), dtype=np.bool_)
    for i, one in enumerate(better):
        for j, other in enumerate(better[:i]):
            # Nowhere worse, and not everywhere as good from the other side: better somewhere.
            ahead, behind = _nowhere_worse(one, other), _nowhere_worse(other, one)
            kept[j] &= ~ahead | behind
            kept[i] &= ~behind | ahead
    return kept


def _nowhere_worse(one: Floats, other: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """In which resamples one is not above the other in any of the three, shape (resamples,)."""
    a, b, c = one <= other
    made: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = a & b & c
    return made
