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
from hfr_bench.stats.columns import Picked, picked
from hfr_bench.stats.exact import NOTHING, Interval
from hfr_bench.stats.metrics import Kind, Metric

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int32]

_BLOCK = 1000
_EXACT, _EXACT_32 = 2**53, 2**24
_FAR = 5
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
    if isinstance(trials, Picked):
        return trials.rows(index)
    return np.array([index[trial.suite, trial.task_id] for trial in trials], dtype=np.int64)


def sample(metric: Metric, trials: Sequence[Any], rows: Ints) -> Sample | None:
    """A metric's columns, in the order of the trials; None if a value is unknown (a price).

    `trials`: what the metric is about (TrialResult, or `stats.further.Judged`).
    `rows`: see `task_rows`; made once for all metrics of an arm.
    """
    looked_at = picked(trials)
    nums = looked_at.column(metric.num)
    return None if nums is None else Sample(metric, rows, nums, looked_at.filled(metric.den))


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
    `seed`: the preregistration's digest. The draws of a suite of two tasks or more do not depend on
    the other suites, unless one of a single task is drawn with it (`_strata`).
    """
    counts = np.empty((len(drawn), resamples), dtype=np.int32)
    first = 0
    for suite, size in _strata(drawn):
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


def strata(drawn: Sequence[Unit]) -> int:
    """How many strata sorted units are drawn from: suites, lone units taken with a neighbour."""
    return len(_strata(drawn))


def _strata(drawn: Sequence[Unit]) -> list[tuple[str, int]]:
    """Suites and how many units each has, in order.

    A suite of one unit would be drawn once in every resample, as if it had no chance in it. It is
    drawn together with the suite before it (the first: after it), as surveys collapse strata: the
    interval is wider rather than narrower for that.
    """
    found: list[tuple[str, int]] = []
    for suite, members in groupby(drawn, key=lambda unit: unit[0]):
        size = len(list(members))
        if found and 1 in (size, found[-1][1]):
            before, others = found.pop()
            suite, size = f"{before}\x00{suite}", others + size  # noqa: PLW2901
        found.append((suite, size))
    return found


def _stream(seed: str, suite: str) -> np.random.Philox:
    key = hashlib.sha256(f"hfr-bootstrap-v1\x00{seed}\x00{suite}".encode()).digest()
    return np.random.Philox(key=int.from_bytes(key[:16], "big"))


def resample(samples: Sequence[Sample], counts: Counts) -> list[Floats]:
    """Each sample's metric in every resample, arrays of shape (resamples,).

    NaN where it is 0/0, infinite where only the denominator is zero (cost without success).
    Samples with the same columns and fold get one and the same array: do not write to it.
    """
    stack = _Stack(len(counts))
    places = [(stack.place(one.num, one.task), stack.place(one.den, one.task)) for one in samples]
    ranked: dict[tuple[bytes, bytes, int], _Ranked] = {}
    for one in samples:
        if one.metric.kind is Kind.QUANTILE and _quantile_key(one) not in ranked:
            ranked[_quantile_key(one)] = _ranked(one, stack)
    columns = np.array(stack.columns).reshape(len(stack.columns), len(counts))
    sums = _matmul(columns, counts)
    made: dict[tuple[int | bytes, ...], Floats] = {}
    found = []
    for one, (num, den) in zip(samples, places, strict=True):
        if one.metric.kind is Kind.QUANTILE:
            key: tuple[int | bytes, ...] = _quantile_key(one)
            if key not in made:
                made[key] = _quantile(one, ranked[_quantile_key(one)], sums, den, counts)
        else:
            key = (one.metric.scale, num, den)
            if key not in made:
                made[key] = _ratio(one.metric.scale * sums[num], sums[den])
        found.append(made[key])
    return found


def weighted(columns: Sequence[tuple[Ints, Ints]], counts: Counts) -> Floats:
    """Sums of columns (values, task) in every resample, shape (columns, resamples); exact."""
    stack = _Stack(len(counts))
    places = [stack.place(*one) for one in columns]
    made = np.array(stack.columns).reshape(len(stack.columns), len(counts))
    found: Floats = _matmul(made, counts)[places]
    return found


class _Stack:
    """Sums per task that are weighted in one go, each kept once."""

    def __init__(self, tasks: int) -> None:
        self.columns: list[Floats] = []
        self._tasks = tasks
        self._at: dict[bytes, int] = {}

    def place(self, values: Ints, task: Ints) -> int:
        """Where the sums of a column are. Raises OverflowError beyond 2^53."""
        sums = per_task(values, task, self._tasks)
        if float(np.abs(sums).max(initial=0.0)) * self._tasks >= _EXACT:
            raise OverflowError("sums beyond 2^53 would no longer be exact")
        key = sums.tobytes()
        if key not in self._at:
            self._at[key] = len(self.columns)
            self.columns.append(sums)
        return self._at[key]


def _matmul(columns: Floats, counts: Counts) -> Floats:
    """Weighted sums, shape (columns, resamples), by blocks to bound the floating-point copy.

    Columns whose sums stay below 2^24 are multiplied in float32, which is exact there, too.
    """
    out = np.empty((columns.shape[0], counts.shape[1]))
    small = np.abs(columns).max(axis=1, initial=0.0) * columns.shape[1] < _EXACT_32
    parts = [
        (rows, columns[rows].astype(kind), kind)
        for rows, kind in ((small, np.float32), (~small, np.float64))
        if rows.any()
    ]
    for start in range(0, counts.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        for rows, part, kind in parts:
            out[rows, block] = part @ counts[:, block].astype(kind)
    return out


def _ratio(num: Floats, den: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = num / den
    return quotient


class _Ranked(NamedTuple):
    """A quantile's trials in ascending order; arrays of shape (trials,).

    `values`, `tasks`: of each. `low`: so many of them no resample is expected to leave behind its
    target; `below`: where the sums of these are in the stack.
    """

    values: Floats
    tasks: Ints
    low: int
    below: int


def _quantile_key(one: Sample) -> tuple[bytes, bytes, int]:
    kept = one.den > 0
    return one.num[kept].tobytes(), one.task[kept].tobytes(), one.metric.percent


def _ranked(one: Sample, stack: _Stack) -> _Ranked:
    """Sort the trials, and say from which on a resample's quantile is to be looked for.

    The running weight at the sample's own quantile misses its target by a sum over drawn tasks,
    whose deviation follows from the tasks: five of them back.
    """
    kept = one.den > 0
    order = np.argsort(one.num[kept], kind="stable")
    values, tasks = one.num[kept][order].astype(np.float64), one.task[kept][order]
    share, size = one.metric.percent / 100, stack.columns[0].size if stack.columns else 0
    there = np.bincount(tasks[: int(values.size * share)], minlength=size)
    spread = np.sqrt(np.square(there - share * np.bincount(tasks, minlength=size)).sum())
    low = max(0, int(values.size * share - _FAR * spread) - 1)
    ones = np.ones(low, dtype=np.int64)
    return _Ranked(values, tasks, low, stack.place(ones, tasks[:low]))


def _quantile(one: Sample, ranked: _Ranked, sums: Floats, den: int, counts: Counts) -> Floats:
    """Weighted inverse-CDF quantile: the rank at which the running weight meets its target.

    That no resample meets it among the first `low` is checked; if one does, the pass is made from
    the first trial.
    """
    values, tasks, low, below = ranked
    if values.size == 0:
        return np.full(counts.shape[1], np.nan)
    totals = sums[den]
    target = -(-one.metric.percent * totals.astype(np.int64) // 100).astype(np.int32)
    run = sums[below].astype(np.int32)
    if not (run < target).all():
        low, run = 0, np.zeros(counts.shape[1], dtype=np.int32)
    ends = np.append(values[1:] != values[:-1], True)
    passed = _passed(tasks, ends.tolist(), target, (low, run), counts)
    distinct = values[low:][ends[low:]]
    found: Floats = np.where(totals > 0, distinct[np.minimum(passed, distinct.size - 1)], np.nan)
    return found


def _passed(
    tasks: Ints,
    ends: Sequence[bool],
    target: Counts,
    begun: tuple[int, Counts],
    counts: Counts,
) -> Counts:
    """How many different values lie below the quantile in each resample; shape (resamples,).

    Rows are whole resample vectors, so that a pass over the sorted trials needs no large
    temporary. `ends`: whether a trial is the last one with its value. `begun`: how many trials were
    passed before, and their weight in each resample; only values from there on are counted.
    """
    low, run = begun
    passed = np.zeros(counts.shape[1], dtype=np.int32)
    below = np.empty(counts.shape[1], dtype=np.bool_)
    for n in range(low, len(ends)):
        run += counts[tasks[n]]
        if not ends[n]:
            continue
        np.less(run, target, out=below)
        if not below.any():
            break
        passed += below  # a masked addition takes fifteen times as long
    return passed


def percentile(values: Floats, level: float) -> tuple[Interval, float]:
    """The central interval of resampled values, and the share of undefined ones.

    Infinite values keep their place at the ends; 0/0 is left out. Refused (no bounds) where more
    than MAX_UNDEFINED of the resamples, or than one tail, are not finite.
    """
    finite = int(np.count_nonzero(np.isfinite(values)))
    undefined = (values.size - finite) / values.size if values.size else 1.0
    tail = (1 - level) / 2
    if undefined > min(MAX_UNDEFINED, tail):
        return NOTHING, undefined
    kept = values[~np.isnan(values)] if undefined else values
    low = int(round(tail * kept.size, 6))
    above = np.partition(kept, low)[low:]  # one place at a time: a quarter of the time for two
    high = kept.size - 1 - 2 * low
    return Interval(float(above[0]), float(np.partition(above, high)[high])), undefined
