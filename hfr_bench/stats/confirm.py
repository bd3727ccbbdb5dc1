"""What a registered claim needs beyond an interval: a p-value, and how it stands without a part.

A claim of more or less, without a margin, of a metric that is counted per trial: the sign-flip
test. All others (margins, quotients, quantiles): the level at which the interval that the report
shows would just reach the margin, so that test and interval never contradict each other.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from hfr_bench.model.report import PairedEstimate
from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.bootstrap import Sample, per_task
from hfr_bench.stats.bounds import ALIKE, too_few_differ
from hfr_bench.stats.columns import picked
from hfr_bench.stats.estimate import (
    Measured,
    Setting,
    contrasts,
    measure,
    paired_bounds,
    units_behind,
)
from hfr_bench.stats.exact import difference_interval
from hfr_bench.stats.expand import told
from hfr_bench.stats.metrics import METRICS, Kind, Metric, each
from hfr_bench.stats.names import FEW
from hfr_bench.stats.signflip import sign_flip

Direction = Literal["greater", "less", "equal"]
Floats = npt.NDArray[np.float64]
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Claim:
    """`arm` is `direction` than `against` in a metric, by more than `margin` (record's unit)."""

    metric: str
    arm: str
    against: str
    direction: Direction
    margin: float = 0.0


class Tested(NamedTuple):
    """What the data says of a claim.

    `p`: at most 1 - level exactly where an interval of that level lies beyond the margin in the
    claimed direction (twice the one-sided p, at most 1); None where no test can be made. `test`:
    sign-flip, sign-flip sampled, bootstrap, exact, none. `better`, `worse`: units (tasks, cohorts)
    whose summed difference is positive, negative; None for quotients and quantiles. `resampled`:
    the difference in every resample, shape (resamples,), or None.
    """

    p: float | None
    test: str
    better: int | None = None
    worse: int | None = None
    difference: float | None = None
    resampled: Floats | None = None


def examine(
    claim: Claim,
    ours: Sequence[TrialResult],
    theirs: Sequence[TrialResult],
    setting: Setting,
    key: str,
) -> Tested:
    """Test a claim on the trials of its two arms.

    Args:
        claim: what is claimed.
        ours: graded trials of `arm`.
        theirs: those of `against`: the same tasks, seeds and schedules.
        setting: weights and level.
        key: of the random flips: the preregistration's digest and the claim's id.
    """
    metric = METRICS[claim.metric]
    mine, other = picked(ours).in_pairs(), picked(theirs).in_pairs()
    a, b = measure(metric, [mine, other], setting)
    if a is None or b is None or a.value is None or b.value is None:
        return Tested(None, "none")
    with np.errstate(invalid="ignore"):
        resampled = a.resampled - b.resampled
    difference = a.value - b.value
    units: tuple[int | None, int | None] = (None, None)
    if metric.den is each:
        flipped = sign_flip(_per_unit(a.sample, b.sample, setting), key)
        units = flipped.better, flipped.worse
        if claim.margin == 0 and claim.direction != "equal":
            one_sided = flipped.above if claim.direction == "greater" else flipped.below
            test = "sign-flip" if flipped.exact else "sign-flip sampled"
            return Tested(min(1.0, 2 * one_sided), test, *units, difference, resampled)
    p, test = _inverted(claim, metric, a, b, resampled, setting)
    return Tested(p, test, *units, difference, resampled)


def _per_unit(ours: Sample, theirs: Sample, setting: Setting) -> Floats:
    units = len(setting.counts)
    return per_task(ours.num, ours.task, units) - per_task(theirs.num, theirs.task, units)


def _inverted(
    claim: Claim, metric: Metric, ours: Measured, theirs: Measured, values: Floats, setting: Setting
) -> tuple[float | None, str]:
    """The p-value of the interval that the report shows, and what made it."""
    a, b = ours.sample, theirs.sample
    differing = (a.num != b.num) | (a.den != b.den)
    changed = int(np.unique(a.task[differing]).size)
    share = metric.kind is Kind.PROPORTION
    # Where the report has no interval, there is nothing that a p-value could be read from.
    found = paired_bounds(ours, theirs, setting)
    if share and (changed < FEW or found["note"] == ALIKE):
        units = len(setting.counts)
        better = per_task((a.num > b.num).astype(np.int64), a.task, units)
        worse = per_task((a.num < b.num).astype(np.int64), a.task, units)
        pairs = per_task(a.den, a.task, units)
        return _of(claim, lambda side, line: _exactly(better, worse, pairs, side, line)), "exact"
    scarce = too_few_differ(metric, changed, units_behind(ours, theirs))
    if not (share or changed) or scarce or "low" not in found:
        return None, "none"
    behind = units_behind(ours, theirs), setting.strata
    return _of(claim, lambda side, line: _resampled(values, side, line, behind)), "bootstrap"


def _of(claim: Claim, side_p: Callable[[int, float], float]) -> float:
    """Twice the one-sided p; of the worse side where both must hold.

    `side_p(1, line)`: p of "above the line"; with -1: of "below" it.
    """
    margin = claim.margin
    match claim.direction:
        case "greater":
            p = side_p(1, margin)
        case "less":
            p = side_p(-1, -margin)
        case _:
            p = max(side_p(1, -margin), side_p(-1, margin))
    return min(1.0, 2 * p)


def _resampled(values: Floats, side: int, line: float, behind: tuple[int, int]) -> float:
    """What the share of resamples not beyond the line comes to; what is undefined is not beyond.

    `behind`: units and strata.
    """
    beyond = int((side * values > side * line).sum())
    return told((1 + values.size - beyond) / (1 + values.size), *behind) if beyond else 1.0


def _exactly(better: Floats, worse: Floats, pairs: Floats, side: int, line: float) -> float:
    """Half the smallest error at which the exact interval excludes the line, by bisection."""

    def excluded(alpha: float) -> bool:
        low, high = difference_interval(better, worse, pairs, 1 - alpha)
        bound = low if side > 0 else high
        return bound is not None and side * bound > side * line

    if not excluded(0.999):
        return 1.0
    low, high = 1e-12, 0.999
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if excluded(middle) else (middle, high)
    return high / 2


class Without(NamedTuple):
    """A claim's contrast on what is left when `part` is left out of it."""

    part: str
    left: PairedEstimate


def left_out(
    claim: Claim,
    trials: Sequence[TrialResult],
    parts: Callable[[TrialResult], Iterable[str]],
    setting: Setting,
) -> list[Without]:
    """A claim's paired difference once for every part, without the trials that belong to it.

    Args:
        claim: its arms and metric.
        trials: graded trials, of any arm.
        parts: names of what a trial belongs to (its suite, its seed, the tools planned to fail in
            it); the same for all trials of a pair group, and nothing that a run decides.
        setting: weights and level; the weights of what is left stay as they are.

    Returns:
        Empty where no part can be left out: there is but one, or nothing would be left.
    """
    chosen, arms = picked(trials), (claim.arm, claim.against)  # all that is left is of one table
    own = [chosen.take(np.array([one.arm == arm for one in chosen], bool)) for arm in arms]
    belongs = [[frozenset(parts(trial)) for trial in of] for of in own]
    able = []
    for part in sorted({name for listed in belongs for names in listed for name in names}):
        ours, theirs = (
            of.take(np.array([part not in names for names in listed], bool))
            for of, listed in zip(own, belongs, strict=True)
        )
        if ours and theirs:
            able.append((part, (ours, theirs)))
    left = contrasts(METRICS[claim.metric], arms, [pair for _, pair in able], setting)
    return [Without(part, one) for (part, _), one in zip(able, left, strict=True)]
