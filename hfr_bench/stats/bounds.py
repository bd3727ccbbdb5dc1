"""When resampled values make an interval, and when they would only look like one.

A percentile bootstrap knows nothing but the tasks it draws from. Of nine tasks its 95 % interval of
a mean holds the truth in 80 to 90 % of cases, of two in 44 to 50 % (from ten on its percentiles
are read further out, `stats.expand`); if all tasks are alike it is a
point; and no draw brings a value beyond the largest one: of a p95 with fewer than ten trials beyond
it the interval holds the truth in as few as 81 to 87 %. There is none then, and the note says why.
"""

from typing import Any

import numpy as np

from hfr_bench.stats.bootstrap import Floats, Sample, per_task, percentile
from hfr_bench.stats.exact import effective_n
from hfr_bench.stats.metrics import Kind, Metric
from hfr_bench.stats.names import FEW

FEW_UNITS = f"fewer than {FEW} tasks: no interval"
"""Or cohorts, where these are drawn. Of what not every trial has: `few_units`."""
ALIKE = "no spread: no interval"
"""As where all tasks are alike: a point would be certainty about tasks that nobody saw."""
FEW_UNLIKE = f"alike but for fewer than {FEW} tasks: no interval"
"""As with few events: a resample may draw none of them, and no resample one that is not there."""
FAR_OUT = "too few trials beyond it: no interval"


def bootstrapped(metric: Metric, values: Floats, units: int, level: float) -> dict[str, Any]:
    """low, high, method and note of a percentile interval, for an Estimate or a PairedEstimate.

    Args:
        metric: what is bounded, itself or as a difference.
        values: it in every resample, shape (resamples,).
        units: tasks (or cohorts) with something below the line, in the arm that has fewest.
        level: of the percentiles (`stats.expand.read_at`: further out where units are few).
    """
    if units < FEW:
        return {"method": "none", "note": few_units(metric)}
    (low, high), undefined = percentile(values, level)
    note = f"undefined in {undefined:.1%} of the resamples" if undefined else ""
    if low is None:
        return {"method": "none", "note": f"{note}: no interval"}
    if low == high:
        return {"method": "none", "note": ALIKE}
    return {"low": low, "high": high, "method": "bootstrap", "note": note}


def few_units(metric: Metric) -> str:
    """Why there is no interval, where fewer than FEW tasks have what the metric divides by."""
    return FEW_UNITS if metric.per == "trials" else f"{metric.per} in {FEW_UNITS}"


def too_few_differ(metric: Metric, differing: int, units: int) -> bool:
    """Whether too few units make all of a value, or of a difference, for a bootstrap.

    Shares have exact bounds then. Of rates fewer than FEW are too few; of amounts and quotients
    only where most units are alike: with one to nine of 12 to 200 tasks, all in one direction, the
    interval of their mean holds the truth in 65 to 85 % of cases.

    Args:
        metric: what is bounded.
        differing: units that differ from most, or between two arms.
        units: all there are.
    """
    few = 0 < differing < FEW
    return few and (
        metric.kind is Kind.RATE or (metric.kind is Kind.RATIO and 2 * differing <= units)
    )


def unlike(num: Floats, den: Floats) -> int:
    """How many units have another quotient than most.

    Args:
        num: sums per unit, shape (units,).
        den: the same, of what is divided by; units without it are left out.
    """
    made = num[den > 0] / den[den > 0]
    return made.size - int(np.unique(made, return_counts=True)[1].max(initial=0))


def far_out(one: Sample, value: float, tasks: int) -> bool:
    """Whether a quantile has fewer than FEW trials beyond it, on its thinner side.

    Its bounds are then among the last few values, and at the very last nothing bounds it. n is the
    effective one, for trials of one task are alike: a median needs 20, a p95 200, a p99 1000.

    Args:
        one: the trials of a quantile metric.
        value: the quantile.
        tasks: rows of the weight matrix.
    """
    if one.metric.kind is not Kind.QUANTILE:
        return False
    beyond = ((one.num > value) & (one.den > 0)).astype(np.int64)
    worth = effective_n(per_task(beyond, one.task, tasks), per_task(one.den, one.task, tasks))
    return worth * min(one.metric.percent, 100 - one.metric.percent) < 100 * FEW
