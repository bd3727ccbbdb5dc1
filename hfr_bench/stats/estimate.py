"""Estimates and paired differences of one fault rate, each with the interval that fits it.

Many events: the paired bootstrap. Few events of a share or rate: exact bounds. Where neither
can say anything honest, no interval and a note that says why; never NaN, never a false [0, 0].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hfr_bench.model.report import Estimate, PairedEstimate
from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.bootstrap import (
    Counts,
    Floats,
    Ints,
    Sample,
    Unit,
    per_task,
    percentile,
    point,
    resample,
    sample,
    task_rows,
)
from hfr_bench.stats.bounds import (
    ALIKE,
    FAR_OUT,
    FEW_UNLIKE,
    bootstrapped,
    far_out,
    too_few_differ,
    unlike,
)
from hfr_bench.stats.columns import Picked, picked
from hfr_bench.stats.exact import difference_interval, share_interval
from hfr_bench.stats.expand import read_at
from hfr_bench.stats.metrics import METRICS, P99_TRIALS, Kind, Metric
from hfr_bench.stats.names import FEW, SAME, TOO_FEW

PAIRED = tuple(
    name
    for name, metric in METRICS.items()
    if not metric.conditional and name not in ("p99", "dispatch_1000", "official")
)
"""Metrics whose denominators are the same trials in every arm (or all of them, as for CPS)."""

AMOUNTS = ("microusd", "us", "count", "ratio")
"""Units whose differences are also told as relative changes, with bounds (paper §6.6.5)."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all estimates of one rate share.

    `index`: row of a task in `counts`, the weight matrix (tasks, resamples).
    `pairs`: the contrasts (arm, against). `strata`: how many the units are drawn from.
    """

    rate: float
    level: float
    index: dict[Unit, int]
    counts: Counts
    pairs: Sequence[tuple[str, str]] = ()
    strata: int = 1

    def read_at(self, units: int) -> float:
        """The level of the percentiles that bound what so many units stand behind."""
        return read_at(self.level, units, self.strata)


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric of one arm: its columns, its value, its value in every resample."""

    sample: Sample
    value: float | None
    resampled: Floats

    def sums(self, tasks: int) -> tuple[Floats, Floats]:
        one = self.sample
        return per_task(one.num, one.task, tasks), per_task(one.den, one.task, tasks)


def estimate(
    arms: Mapping[str, Sequence[Any]],
    setting: Setting,
    metrics: Mapping[str, Metric] = METRICS,
    paired: Sequence[str] = PAIRED,
) -> tuple[list[Estimate], list[PairedEstimate]]:
    """All metrics of all arms at one rate, and the contrasts.

    Args:
        arms: graded trials by arm, of the type that the metrics are about; each arm the same
            tasks and seeds, in any order.
        setting: weights and contrasts.
        metrics: which, by name.
        paired: those of them that are contrasted.

    Raises:
        ValueError: a trial is void, or two contrasted arms have different tasks or seeds.
    """
    ordered = {arm: picked(trials).in_pairs() for arm, trials in arms.items()}
    measured = _measure(ordered, setting, metrics)
    estimates = [
        _estimate(metric, arm, trials, measured.get((arm, name)), setting)
        for arm, trials in ordered.items()
        for name, metric in metrics.items()
    ]
    contrasts = []
    for arm, against in setting.pairs:
        if arm not in ordered or against not in ordered:
            continue
        if not ordered[arm].paired_with(ordered[against]):
            raise ValueError(f"{arm} and {against} are not paired: their tasks or seeds differ")
        for name in paired:
            ours, theirs = measured.get((arm, name)), measured.get((against, name))
            contrasts.append(_contrast(metrics[name], arm, against, ours, theirs, setting))
    return estimates, contrasts


def contrast(
    metric: Metric,
    ours: tuple[str, Sequence[TrialResult]],
    theirs: tuple[str, Sequence[TrialResult]],
    setting: Setting,
) -> PairedEstimate:
    """One metric's paired difference, as `estimate` makes it among all others.

    Args:
        metric: one of PAIRED.
        ours: the arm and its graded trials.
        theirs: the arm that it is held against, and its trials.
        setting: weights; its own pairs are not looked at.

    Raises:
        ValueError: the two have different tasks or seeds.
    """
    (arm, mine), (against, other) = ours, theirs
    return contrasts(metric, (arm, against), [(mine, other)], setting)[0]


def contrasts(
    metric: Metric,
    arms: tuple[str, str],
    parts: Sequence[tuple[Sequence[TrialResult], Sequence[TrialResult]]],
    setting: Setting,
) -> list[PairedEstimate]:
    """The same of several choices of trials, resampled in one go.

    Raises:
        ValueError: the two arms have different tasks or seeds in one of them.
    """
    listed = []
    for ours, theirs in parts:
        mine, other = picked(ours).in_pairs(), picked(theirs).in_pairs()
        if not mine.paired_with(other):
            raise ValueError(f"{arms[0]} and {arms[1]} are not paired: their tasks or seeds differ")
        listed += [mine, other]
    found = measure(metric, listed, setting)
    both = zip(found[::2], found[1::2], strict=True)
    return [_contrast(metric, *arms, a, b, setting) for a, b in both]


def measure(
    metric: Metric, listed: Sequence[Sequence[TrialResult]], setting: Setting
) -> list[Measured | None]:
    """A metric of several lists of trials, and its resamples; None where a price is unknown."""
    samples = [sample(metric, one, task_rows(one, setting.index)) for one in listed]
    known = [one for one in samples if one is not None]
    made = iter(resample(known, setting.counts) if known else [])
    return [None if one is None else Measured(one, point(one), next(made)) for one in samples]


def _measure(
    arms: Mapping[str, Picked], setting: Setting, metrics: Mapping[str, Metric]
) -> dict[tuple[str, str], Measured]:
    """Every known metric of every arm, resampled in one go."""
    keys, samples = [], []
    for arm, trials in arms.items():
        rows = task_rows(trials, setting.index)
        for name, metric in metrics.items():
            one = sample(metric, trials, rows)
            if one is not None and not _too_few_for(metric, int(one.den.sum())):
                keys.append((arm, name))
                samples.append(one)
    resampled = resample(samples, setting.counts)
    return {
        key: Measured(one, point(one), values)
        for key, one, values in zip(keys, samples, resampled, strict=True)
    }


def _too_few_for(metric: Metric, n: int) -> bool:
    return metric.percent == 99 and n < P99_TRIALS


def _estimate(
    metric: Metric,
    arm: str,
    trials: Picked,
    measured: Measured | None,
    setting: Setting,
) -> Estimate:
    row: dict[str, Any] = {"metric": metric.name, "arm": arm, "rate": setting.rate, "value": None}
    if measured is None:
        n = int(trials.filled(metric.den).sum())
        known = trials.column(metric.num) is not None
        note = f"needs {P99_TRIALS} trials" if known else "a price is unknown"
        return Estimate(**row, n=n, method="none", note=note)
    num, den = measured.sums(len(setting.counts))
    row |= {"value": measured.value, "n": int(den.sum())}
    if metric.counts:
        row["events"] = int(num.sum())
    if measured.value is None:
        return Estimate(**row, method="none", note=f"no {metric.per}")
    few = metric.counts and _few(metric, num, den)
    found = {} if few else _bootstrapped(measured, num, den, setting)
    if few or (metric.counts and found["note"] == ALIKE):
        low, high = share_interval(num, den, setting.level)
        return Estimate(
            **row,
            low=_scaled(metric, low),
            high=_scaled(metric, high),
            method="exact",
            note="one-sided" if num.sum() in (0, den.sum()) else "",
        )
    return Estimate(**row, **found)


def _contrast(
    metric: Metric,
    arm: str,
    against: str,
    ours: Measured | None,
    theirs: Measured | None,
    setting: Setting,
) -> PairedEstimate:
    row: dict[str, Any] = {
        "metric": metric.name,
        "arm": arm,
        "against": against,
        "rate": setting.rate,
        "pairs": 0,
        "tasks": 0,
        "difference": None,
    }
    if ours is None or theirs is None:
        return PairedEstimate(**row, method="none", note="a price is unknown")
    task, a, b = ours.sample.task, ours.sample.num, theirs.sample.num
    row |= {"pairs": int(a.size), "tasks": _different(task)}
    binary = metric.kind is Kind.PROPORTION
    if binary:
        row |= {"better": int((a > b).sum()), "worse": int((a < b).sum())}
    if ours.value is None or theirs.value is None:
        return PairedEstimate(**row, method="none", note=f"no {metric.per} in one of the arms")
    row["difference"] = ours.value - theirs.value
    if theirs.value:
        row["relative"] = row["difference"] / theirs.value
    differing = (a != b) | (ours.sample.den != theirs.sample.den)
    row |= _paired_interval(metric, ours, theirs, differing, setting)
    if row["method"] == "bootstrap" and metric.unit in AMOUNTS and "relative" in row:
        row |= _relative_interval(ours, theirs, setting)
    return PairedEstimate(**row)


def _relative_interval(ours: Measured, theirs: Measured, setting: Setting) -> dict[str, Any]:
    """Bounds of the relative change, made anew in each resample; none where they are undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        change = (ours.resampled - theirs.resampled) / theirs.resampled
    bounds, _ = percentile(change, setting.read_at(units_behind(ours, theirs)))
    return {"relative_low": bounds.low, "relative_high": bounds.high}


def _paired_interval(
    metric: Metric,
    ours: Measured,
    theirs: Measured,
    differing: np.ndarray[Any, np.dtype[np.bool_]],
    setting: Setting,
) -> dict[str, Any]:
    """low, high, method and note of a paired difference."""
    task, a, b = ours.sample.task, ours.sample.num, theirs.sample.num
    tasks = len(setting.counts)
    few = _different(task[differing]) < FEW
    den = per_task(ours.sample.den, task, tasks)
    share = metric.kind is Kind.PROPORTION
    if not share and not differing.any():
        return {"method": "none", "note": SAME}
    if too_few_differ(metric, _different(task[differing]), units_behind(ours, theirs)):
        return {"method": "none", "note": TOO_FEW}
    if not (share and few):
        found = paired_bounds(ours, theirs, setting)
        if not (share and found["note"] == ALIKE):
            return found
    better = per_task((a > b).astype(np.int64), task, tasks)
    worse = per_task((a < b).astype(np.int64), task, tasks)
    low, high = difference_interval(better, worse, den, setting.level)
    return {"low": low, "high": high, "method": "exact"}


def _different(tasks: Ints) -> int:
    """How many tasks there are among these."""
    return int(np.count_nonzero(np.bincount(tasks)))


def _few(metric: Metric, num: Floats, den: Floats) -> bool:
    """Whether too few events, or too few of their opposite, stand behind a share or rate."""
    sides = [num, den - num] if metric.kind is Kind.PROPORTION else [num]
    return any(min(float(s.sum()), float(np.count_nonzero(s))) < FEW for s in sides)


def _bootstrapped(measured: Measured, num: Floats, den: Floats, setting: Setting) -> dict[str, Any]:
    """low, high, method and note of an arm's own value."""
    one, value = measured.sample, measured.value
    if value is not None and far_out(one, value, len(setting.counts)):
        return {"method": "none", "note": FAR_OUT}
    units = int(np.count_nonzero(den))
    if units >= FEW and too_few_differ(one.metric, unlike(num, den), units):
        return {"method": "none", "note": FEW_UNLIKE}
    return bootstrapped(one.metric, measured.resampled, units, setting.read_at(units))


def paired_bounds(ours: Measured, theirs: Measured, setting: Setting) -> dict[str, Any]:
    """low, high, method and note of a resampled difference; both arms must bear an interval."""
    for arm in (ours, theirs):
        if arm.value is not None and far_out(arm.sample, arm.value, len(setting.counts)):
            return {"method": "none", "note": FAR_OUT}
    with np.errstate(invalid="ignore"):
        difference = ours.resampled - theirs.resampled
    units = units_behind(ours, theirs)
    return bootstrapped(ours.sample.metric, difference, units, setting.read_at(units))


def units_behind(ours: Measured, theirs: Measured) -> int:
    """Units with something below the line, in the arm that has fewest."""
    return min(_different(arm.sample.task[arm.sample.den > 0]) for arm in (ours, theirs))


def _scaled(metric: Metric, bound: float | None) -> float | None:
    return None if bound is None else metric.scale * bound
