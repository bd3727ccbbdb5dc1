"""The paired percentile bootstrap: tasks are drawn, and bring all their seeds and arms along.

One weight matrix (how often each task was drawn in each resample) serves all metrics, arms and
rates, which is what makes every difference a paired one. Strata are suites. Reasons and measured
coverage: facts/statistics.md §1.1, §1.2.

Reproducible to the last digit on any machine and thread count: raw words of Philox (a stream
that numpy guarantees), keyed by SHA-256 of the preregistration's digest and the suite; sums are
of integers below 2^53 in float64, hence exact in any order; bounds are order statistics, not
interpolated.
"""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.exact import NOTHING, Interval
from hfr_bench.stats.metrics import Kind, Metric, each

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int32]

_BLOCK = 1000
_EXACT = 2**53
MAX_UNDEFINED = 0.025
"""An interval is refused if more than this share of the resamples leave a metric undefined."""

Unit = tuple[str, str]
"""What is drawn: (suite, task_id); where cohorts are registered, (suite, block of tasks)."""


class Sample(NamedTuple):
    """One metric of one arm at one rate, trial by trial; arrays of shape (trials,)."""

    metric: Metric
    task: Ints
    num: Ints
    den: Ints


def units(trials: Iterable[TrialResult]) -> tuple[Unit, ...]:
    """The tasks behind some trials, in order."""
    return tuple(sorted({(trial.suite, trial.task_id) for trial in trials}))


def task_rows(trials: Sequence[Any], index: dict[Unit, int]) -> Ints:
    """The row of each trial's task, or of its cohort, in the weight matrix.

    `index`: by task; tasks that are drawn together have the same row.
    """
    return np.array([index[trial.suite, trial.task_id] for trial in trials], dtype=np.int64)


def sample(metric: Metric, trials: Sequence[Any], rows: Ints) -> Sample | None:
    """A metric's columns, in the order of the trials; None if a value is unknown (a price).

    `trials`: what the metric is about (TrialResult, or `stats.further.Judged`).
    `rows`: see `task_rows`; made once for all metrics of an arm.
    """
    nums = [metric.num(trial) for trial in trials]
    if None in nums:
        return None
    dens = (
        np.ones(len(trials), dtype=np.int64)
        if metric.den is each
        else np.array([metric.den(trial) or 0 for trial in trials], dtype=np.int64)
    )
    return Sample(metric, rows, np.array(nums, dtype=np.int64), dens)


def point(one: Sample) -> float | None:
    """The metric itself; the digits of `metrics.value`. None without a denominator."""
    total = int(one.den.sum())
    if total == 0:
        return None
    if one.metric.kind is not Kind.QUANTILE:
        return one.metric.scale * int(one.num.sum()) / total
    ordered = np.sort(one.num[one.den > 0])
    return float(ordered[-(-one.metric.percent * total // 100) - 1])


def per_task(values: Ints, task: Ints, tasks: int) -> Floats:
    """Sums per task, shape (tasks,)."""
    return np.bincount(task, weights=values, minlength=tasks).astype(np.float64)


def draw(drawn: Sequence[Unit], resamples: int, seed: str) -> Counts:
    """The weight matrix: how often each task is drawn, shape (tasks, resamples).

    Every column adds up to the number of tasks, suite by suite. `drawn` must be sorted.
    `seed`: the preregistration's digest. A suite's draws do not depend on the other suites.
    """
    counts = np.empty((len(drawn), resamples), dtype=np.int32)
    first = 0
    for suite, members in groupby(drawn, key=lambda unit: unit[0]):
        size = len(list(members))
        stratum = counts[first : first + size]
        bits = _stream(seed, suite)
        for start in range(0, resamples, _BLOCK):
            width = min(_BLOCK, resamples - start)
            words = bits.random_raw(width * size).reshape(width, size)
            picked = ((words >> np.uint64(32)) * np.uint64(size) >> np.uint64(32)).astype(np.int64)
            picked += np.arange(width, dtype=np.int64)[:, None] * size
            block = np.bincount(picked.ravel(), minlength=width * size).reshape(width, size)
            stratum[:, start : start + width] = block.T
        first += size
    return counts


def _stream(seed: str, suite: str) -> np.random.Philox:
    key = hashlib.sha256(f"hfr-bootstrap-v1\x00{seed}\x00{suite}".encode()).digest()
    return np.random.Philox(key=int.from_bytes(key[:16], "big"))


def resample(samples: Sequence[Sample], counts: Counts) -> list[Floats]:
    """Each sample's metric in every resample, arrays of shape (resamples,).

    NaN where it is 0/0, infinite where only the denominator is zero (cost without success).
    """
    tasks = counts.shape[0]
    columns: dict[bytes, int] = {}
    stack: list[Floats] = []

    def place(values: Ints, task: Ints) -> int:
        sums = per_task(values, task, tasks)
        if float(np.abs(sums).max(initial=0.0)) * tasks >= _EXACT:
            raise OverflowError("sums beyond 2^53 would no longer be exact")
        if sums.tobytes() not in columns:
            columns[sums.tobytes()] = len(stack)
            stack.append(sums)
        return columns[sums.tobytes()]

    places = [(place(one.num, one.task), place(one.den, one.task)) for one in samples]
    sums = _matmul(np.array(stack).reshape(len(stack), tasks), counts)
    return [
        _quantile(one, sums[den], counts)
        if one.metric.kind is Kind.QUANTILE
        else _ratio(one.metric.scale * sums[num], sums[den])
        for one, (num, den) in zip(samples, places, strict=True)
    ]


def _matmul(columns: Floats, counts: Counts) -> Floats:
    """Weighted sums, shape (columns, resamples), by blocks to bound the float64 copy."""
    out = np.empty((columns.shape[0], counts.shape[1]))
    for start in range(0, counts.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        np.matmul(columns, counts[:, block].astype(np.float64), out=out[:, block])
    return out


def _ratio(num: Floats, den: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = num / den
    return quotient


def _quantile(one: Sample, totals: Floats, counts: Counts) -> Floats:
    """Weighted inverse-CDF quantile: the rank at which the running weight meets its target.

    Rows are whole resample vectors, so that a pass over the sorted trials needs no large
    temporary. Below `low` no resample is expected to have met its target; that is checked, and
    if it fails the pass is made again from the first trial.
    """
    kept = one.den > 0
    order = np.argsort(one.num[kept], kind="stable")
    values, tasks = one.num[kept][order].astype(np.float64), one.task[kept][order]
    if values.size == 0:
        return np.full(counts.shape[1], np.nan)
    share = one.metric.percent / 100
    target = -(-one.metric.percent * totals.astype(np.int64) // 100).astype(np.int32)
    spread = 5 * np.sqrt(values.size * share * (1 - share) * max(1.0, values.size / len(counts)))
    low = max(0, int(values.size * share - spread))
    ranks = _ranks(tasks, target, low, counts)
    if ranks is None:
        ranks = _ranks(tasks, target, 0, counts)
    assert ranks is not None
    found: Floats = np.where(totals > 0, values[np.minimum(ranks, values.size - 1)], np.nan)
    return found


def _ranks(tasks: Ints, target: Counts, low: int, counts: Counts) -> Counts | None:
    """How many of the sorted trials lie below each resample's target; None if `low` was too high.

    Shapes: tasks (trials,), target and result (resamples,).
    """
    run = np.zeros(counts.shape[1], dtype=np.int32)
    below = np.empty(counts.shape[1], dtype=np.bool_)
    for task in tasks[:low]:
        run += counts[task]
    if low and not (run < target).all():
        return None
    ranks = np.full(counts.shape[1], low, dtype=np.int32)
    for task in tasks[low:]:
        run += counts[task]
        np.less(run, target, out=below)
        if not below.any():
            break
        ranks += below
    return ranks


def percentile(values: Floats, level: float) -> tuple[Interval, float]:
    """The central interval of resampled values, and the share of undefined ones.

    Infinite values keep their place at the ends; 0/0 is left out. Refused (no bounds) where more
    than MAX_UNDEFINED of the resamples, or than one tail, are not finite.
    """
    undefined = float(np.mean(~np.isfinite(values))) if values.size else 1.0
    tail = (1 - level) / 2
    if undefined > min(MAX_UNDEFINED, tail):
        return NOTHING, undefined
    kept = values[~np.isnan(values)] if undefined else values
    low = int(round(tail * kept.size, 6))
    high = kept.size - 1 - low
    ends = np.partition(kept, (low, high))
    return Interval(float(ends[low]), float(ends[high])), undefined
