"""When resampled values make an interval, and when they would only look like one.

A percentile bootstrap knows nothing but the tasks it draws from. Of nine tasks its 95 % interval of
a mean holds the truth in 80 to 90 % of cases, of two in 44 to 50 %; if all tasks are alike it is a
point; and no draw brings a value beyond the largest one, so the bounds of a high quantile need
trials enough beyond it. There is no interval then, and the note says why.
"""

from typing import Any

import numpy as np

from hfr_bench.stats.bootstrap import Floats, Sample, per_task, percentile
from hfr_bench.stats.exact import FEW, effective_n
from hfr_bench.stats.metrics import Kind, Metric

FEW_UNITS = f"fewer than {FEW} tasks: no interval"
"""Or cohorts, where these are drawn. Of what not every trial has: `few_units`."""
ALIKE = "no spread: no interval"
"""As where all tasks are alike: a point would be certainty about tasks that nobody saw."""
FAR_OUT = "too few trials beyond it: no interval"


def bootstrapped(metric: Metric, values: Floats, units: int, level: float) -> dict[str, Any]:
    """low, high, method and note of a percentile interval, for an Estimate or a PairedEstimate.

    Args:
        metric: what is bounded, itself or as a difference.
        values: it in every resample, shape (resamples,).
        units: tasks (or cohorts) with something below the line, in the arm that has fewest.
        level: of the interval.
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


def far_out(one: Sample, value: float, tasks: int, level: float) -> bool:
    """Whether a quantile lies so far out that the trials cannot bound it on both sides.

    Of n independent trials all lie on one side of a quantile with chance share^n, and then no order
    statistic bounds it on the other. That chance must be within the interval's error on that side:
    at 95 % a median needs 6 trials, a p95 72. n is the effective one: trials of one task are alike.

    Args:
        one: the trials of a quantile metric.
        value: the quantile.
        tasks: rows of the weight matrix.
        level: of the interval.
    """
    if one.metric.kind is not Kind.QUANTILE:
        return False
    beyond = ((one.num > value) & (one.den > 0)).astype(np.int64)
    worth = effective_n(per_task(beyond, one.task, tasks), per_task(one.den, one.task, tasks))
    share = max(one.metric.percent, 100 - one.metric.percent) / 100
    return bool(share**worth > (1 - level) / 2)
