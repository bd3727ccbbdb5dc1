"""What one fault does, and what single faults come to under a mix of them.

An effect is a paired difference: a trial with one fault minus its fault-free twin, over the same
task and seed, in the same arm. All numbers are made over the one weight matrix of the report, so
effects, mixes and differences between arms are paired with each other, too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from hfr_bench.model.mixed import KindEffect
from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.bootstrap import Floats, Ints, Sample, per_task, resample, task_rows
from hfr_bench.stats.bounds import bootstrapped, too_few_differ
from hfr_bench.stats.columns import picked
from hfr_bench.stats.estimate import Setting
from hfr_bench.stats.exact import difference_interval, share_interval
from hfr_bench.stats.metrics import METRICS, Kind, Metric
from hfr_bench.stats.names import FEW, SAME, TOO_FEW, keyed

SHOWN = ("sr", "csr", "harm_1000", "esc", "cost_mean", "latency_mean")
"""Whose effects are published. All count each trial once, so that they add up under a mix."""
UNPRICED = "a price is unknown"


class Single(NamedTuple):
    """Trials of one arm with one fault of a kind, each beside its fault-free twin.

    `lands`: of lost outcomes, those that landed or were lost; None: all of the kind.
    """

    kind: str
    layer: str
    lands: bool | None
    arm: str
    faulted: Sequence[TrialResult]
    calm: Sequence[TrialResult]

    @property
    def key(self) -> str:
        """How a mix names it."""
        return keyed(self.kind, self.lands)


@dataclass(frozen=True, slots=True)
class Pairs:
    """One metric of faulted trials and of their twins: arrays of shape (trials,)."""

    metric: Metric
    task: Ints
    faulted: Ints
    calm: Ints

    @property
    def difference(self) -> Ints:
        return self.faulted - self.calm

    @property
    def value(self) -> float:
        """The mean difference, in the metric's unit."""
        return self.metric.scale * int(self.difference.sum()) / self.difference.size

    def sample(self, values: Ints) -> Sample:
        """Those values as the bootstrap takes them; the denominator is the trials."""
        return Sample(self.metric, self.task, values, np.ones(self.task.size, dtype=np.int64))

    def sums(self, tasks: int) -> tuple[Floats, Floats, Floats]:
        """Per task: pairs in which only the faulted trial has it, only the twin, and all."""
        up = per_task((self.difference > 0).astype(np.int64), self.task, tasks)
        down = per_task((self.difference < 0).astype(np.int64), self.task, tasks)
        return up, down, per_task(np.ones(self.task.size, dtype=np.int64), self.task, tasks)


def pairs(
    metric: Metric, faulted: Sequence[TrialResult], calm: Sequence[TrialResult], setting: Setting
) -> Pairs | None:
    """A metric's columns; None if a value is unknown (a price)."""
    mine, other = picked(faulted), picked(calm)
    ours, theirs = mine.column(metric.num), other.column(metric.num)
    if ours is None or theirs is None:
        return None
    return Pairs(metric, task_rows(mine, setting.index), ours, theirs)


def effects(singles: Iterable[Single], setting: Setting) -> Iterator[KindEffect]:
    """The effect of each on every metric of SHOWN, in order; arms of a kind must lie together."""
    for _, members in groupby(singles, key=lambda one: one.key):
        group = [
            (single, name, pairs(METRICS[name], single.faulted, single.calm, setting))
            for single in members
            for name in SHOWN
        ]
        # All arms of a kind in one go: what costs is the weight matrix, not the columns.
        known = [found for _, _, found in group if found is not None]
        drawn = iter(resample([one.sample(one.difference) for one in known], setting.counts))
        for single, name, found in group:
            values = None if found is None else next(drawn)
            yield _effect(single, METRICS[name], found, values, setting)


def _effect(
    single: Single, metric: Metric, found: Pairs | None, drawn: Floats | None, setting: Setting
) -> KindEffect:
    row: dict[str, Any] = {
        "kind": single.kind, "layer": single.layer, "lands": single.lands, "arm": single.arm,
        "metric": metric.name, "faults": len(single.faulted),
        "tasks": picked(single.faulted).tasks(),
    }  # fmt: skip
    if found is None or drawn is None:
        return KindEffect(**row, method="none", note=UNPRICED)
    row |= {
        "base": metric.scale * int(found.calm.sum()) / found.calm.size,
        "difference": found.value,
    }
    if metric.kind is Kind.PROPORTION:
        gone = found.difference
        row |= {"better": int((gone > 0).sum()), "worse": int((gone < 0).sum())}
    return KindEffect(**row, **_interval(found, drawn, setting))


def _interval(found: Pairs, drawn: Floats, setting: Setting) -> dict[str, Any]:
    """low, high, method and note, by the rules of every paired difference of a report."""
    metric, tasks = found.metric, len(setting.counts)
    changed = np.unique(found.task[found.difference != 0]).size
    if metric.kind is Kind.PROPORTION and changed < FEW:
        low, high = difference_interval(*found.sums(tasks), setting.level)
        return {"low": low, "high": high, "method": "exact"}
    if not changed:
        return {"method": "none", "note": SAME}
    units = int(np.unique(found.task).size)
    if too_few_differ(metric, changed, units):
        return {"method": "none", "note": TOO_FEW}
    return bootstrapped(metric, drawn, units, setting.read_at(units))


# -- under a mix ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric of one arm: without faults, and by key with one fault of it.

    Raises ValueError where a kind and the fault-free trials are of different metrics.
    """

    metric: Metric
    base: Pairs
    """Fault-free trials; its `calm` is zero, so that its difference is the value itself."""
    single: Mapping[str, Pairs]

    def value(self, masses: Mapping[str, float]) -> float:
        """The metric if a trial has so many faults of each key: fault-free plus their effects."""
        return self.base.value + sum(
            mass * self.single[key].value for key, mass in masses.items() if mass
        )

    def drawn(self, masses: Mapping[str, float | Floats], setting: Setting) -> Floats:
        """The same in every resample; a mass may itself be one of each resample."""
        keys = [key for key, mass in masses.items() if np.any(mass)]
        used = [self.base, *(self.single[key] for key in keys)]
        base, *rest = resample([one.sample(one.difference) for one in used], setting.counts)
        total = base.copy()
        for key, effect in zip(keys, rest, strict=True):
            total += masses[key] * effect
        return total

    def used(self, masses: Mapping[str, float]) -> list[tuple[float, Pairs]]:
        """The effects that play a part, with their masses."""
        return [(mass, self.single[key]) for key, mass in masses.items() if mass]


def scarce(found: Measured, masses: Mapping[str, float]) -> bool:
    """Whether too few events, or too few of their opposite, stand behind a share or rate."""
    metric = found.metric
    if not metric.counts:
        return False
    columns = [found.base.faulted, *(one.faulted for _, one in found.used(masses))]
    places = [found.base.task, *(one.task for _, one in found.used(masses))]
    sides = list(zip(columns, places, strict=True))
    if metric.kind is Kind.PROPORTION:
        sides += [(1 - column, place) for column, place in sides]
    return any(min(int(n.sum()), np.unique(at[n != 0]).size) < FEW for n, at in sides)


def bounded(found: Measured, masses: Mapping[str, float], setting: Setting) -> tuple[float, float]:
    """Conservative exact bounds of a share or rate under a mix: those of its terms, added up.

    Each term is bounded at its part of the error (Bonferroni). Of harm, which no sign test holds,
    the faulted trials and their twins are bounded apart. Masses are taken as they are.
    """
    used, tasks, metric = found.used(masses), len(setting.counts), found.metric
    apart = metric.kind is not Kind.PROPORTION
    level = 1 - (1 - setting.level) / (1 + len(used) * (2 if apart else 1))
    low, high = _share(found.base, found.base.faulted, tasks, level)
    for mass, one in used:
        if apart:
            ours = _share(one, one.faulted, tasks, level)
            theirs = _share(one, one.calm, tasks, level)
            bounds = (ours[0] - theirs[1], ours[1] - theirs[0])
        else:
            least, most = difference_interval(*one.sums(tasks), level)
            bounds = (-1.0 if least is None else least, 1.0 if most is None else most)
        low, high = low + mass * bounds[0], high + mass * bounds[1]
    return metric.scale * max(0.0, low), metric.scale * (high if apart else min(1.0, high))


def _share(one: Pairs, values: Ints, tasks: int, level: float) -> tuple[float, float]:
    trials = np.ones(one.task.size, dtype=np.int64)
    bounds = share_interval(
        per_task(values, one.task, tasks), per_task(trials, one.task, tasks), level
    )
    return bounds.low or 0.0, 1.0 if bounds.high is None else bounds.high
