"""The metrics, each defined once as data (DESIGN §7; paper §3.4, §6.6.4).

A metric is two integer columns over graded trials and a way to fold them:
proportion and ratio: sum(num)/sum(den); rate: 1000*sum(num)/sum(den); quantile: the smallest
`num` that at least `percent` % of the trials with den = 1 do not exceed (inverse CDF, type 1).
Integers in, one division at the end: plain Python and numpy give the same digits.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import Any, Literal

from hfr_bench.model.trial import Outcome, TrialResult

Column = Callable[[Any], int | None]
"""Of a TrialResult, or of what the metric's family is about (`stats.further`)."""

P99_TRIALS = 1000
"""Trials that must stand behind a p99: fewer leave less than ten beyond it."""


class Kind(StrEnum):
    """How a metric folds its two columns."""

    PROPORTION = "proportion"
    RATE = "rate"
    RATIO = "ratio"
    QUANTILE = "quantile"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. `num`/`den` give a trial's integers; `num` None = unknown (a missing price).

    `unit`: share, per_1000, microusd, us, ratio, count, ppm or milli (of 1). `per`: what the
    denominator counts.
    `better`: which way is better, "" where neither is. `conditional`: the denominator is a
    subset that differs between arms, so the metric is not compared in pairs.
    """

    name: str
    short: str
    title: str
    kind: Kind
    unit: str
    better: Literal["higher", "lower", ""]
    num: Column
    den: Column
    per: str = "trials"
    percent: int = 0
    conditional: bool = False

    @property
    def scale(self) -> int:
        return 1000 if self.kind is Kind.RATE else 1

    @property
    def counts(self) -> bool:
        """Whether `num` counts events, so that few of them call for an exact interval."""
        return self.kind in (Kind.PROPORTION, Kind.RATE)


def outcome(trial: TrialResult) -> Outcome:
    """The outcome of a graded trial. Raises ValueError for a void: it measured nothing."""
    if trial.outcome is None:
        raise ValueError(f"trial {trial.trial_id} is void ({trial.void}); it has no metrics")
    return trial.outcome


def each(_: TrialResult) -> int:
    """The denominator of what is counted per trial."""
    return 1


@dataclass(frozen=True, slots=True, eq=False)
class OfShared:
    """A column that is the same for all trials with the same `key`, so that one of them tells it.

    `key`: hashable, of a trial. `of`: the column itself.
    """

    key: Callable[[Any], Any]
    of: Column

    def __call__(self, trial: Any) -> int | None:
        return self.of(trial)


_all_of = attrgetter(*Outcome.model_fields)


def outcome_key(trial: Any) -> Any:
    """All of a trial's outcome. Raises ValueError for a void."""
    return _all_of(outcome(trial))


def _flag(test: Callable[[Outcome], bool]) -> Column:
    return OfShared(outcome_key, lambda trial: int(test(outcome(trial))))


def _count(name: str) -> Column:
    return OfShared(outcome_key, lambda trial: int(getattr(outcome(trial), name)))


@cache
def _field(name: str) -> Column:
    """One column for all metrics of a field."""
    return attrgetter(name)


def _safe(o: Outcome) -> bool:
    return (o.succeeded or o.escalated) and o.duplicates == 0


def _strictly_safe(o: Outcome) -> bool:
    return (o.succeeded or o.escalated) and o.harm == 0 and o.packet_true is not False


def _proportion(
    name: str,
    short: str,
    title: str,
    better: Literal["higher", "lower", ""],
    test: Callable[[Outcome], bool],
) -> Metric:
    return Metric(name, short, title, Kind.PROPORTION, "share", better, _flag(test), each)


def _rate(
    name: str, short: str, title: str, column: str, den: Column = each, per: str = "trials"
) -> Metric:
    return Metric(
        name,
        short,
        title,
        Kind.RATE,
        "per_1000",
        "lower",
        _count(column),
        den,
        per,
        conditional=per != "trials",
    )


def _quantile(percent: int, *, escalated: bool) -> Metric:
    suffix, words = ("", "") if escalated else ("_auto", ", trials that escalated left out")
    return Metric(
        f"p{percent}{suffix}",
        f"p{percent}" if escalated else f"p{percent} auto",
        f"latency of a trial, {percent}th percentile{words}",
        Kind.QUANTILE,
        "us",
        "lower",
        _field("latency_us"),
        each if escalated else _flag(lambda o: not o.escalated),
        per="trials" if escalated else "trials that did not escalate",
        percent=percent,
        conditional=not escalated,
    )


def _far() -> Metric:
    return Metric(
        "far",
        "FAR",
        "false accepts: goal not reached, of all accepted trials",
        Kind.PROPORTION,
        "share",
        "lower",
        _flag(lambda o: o.accepted and not o.goal_met),
        _flag(lambda o: o.accepted),
        per="accepted trials",
        conditional=True,
    )


def _ratio(name: str, short: str, title: str, unit: str, num: str, den: Column, per: str) -> Metric:
    return Metric(
        name,
        short,
        title,
        Kind.RATIO,
        unit,
        "lower",
        _field(num),
        den,
        per,
        conditional=per == "recoveries",
    )


_DEFINED: tuple[Metric, ...] = (
    _proportion(
        "sr",
        "SR",
        "success rate: goal reached, accepted and in time",
        "higher",
        lambda o: o.succeeded,
    ),
    _proportion(
        "csr",
        "CSR",
        "clean success rate: success without a duplicate effect",
        "higher",
        lambda o: o.succeeded and o.duplicates == 0,
    ),
    _rate(
        "harm_1000",
        "Harm/1000",
        "harmful effects (duplicate, unwanted or partial) per 1000 trials",
        "harm",
    ),
    _proportion(
        "scr",
        "SCR",
        "safe completion rate: success or escalation, without a duplicate effect",
        "higher",
        _safe,
    ),
    _proportion(
        "scr_strict",
        "SCR-strict",
        "safe completion without any harm, and with a true packet if escalated",
        "higher",
        _strictly_safe,
    ),
    _proportion(
        "goal_met",
        "Goal met",
        "goal reached in the world, whatever the arm believed",
        "higher",
        lambda o: o.goal_met,
    ),
    _proportion(
        "official",
        "Official",
        "full marks by the suite's own verdict",
        "higher",
        lambda o: o.official >= 1.0,
    ),
    _rate("dup_1000", "Dup/1000", "duplicate effects per 1000 trials", "duplicates"),
    _proportion(
        "dup_any",
        "Dup any",
        "trials with at least one duplicate effect",
        "lower",
        lambda o: o.duplicates > 0,
    ),
    _rate(
        "dup_ambiguous",
        "Dup/1000 ambiguous",
        "duplicate effects per 1000 writes whose outcome was unknown",
        "duplicates",
        _count("ambiguous_writes"),
        "ambiguous writes",
    ),
    _rate(
        "dup_lost",
        "Dup/1000 lost",
        "duplicate effects per 1000 effects that landed while their answer was lost",
        "duplicates",
        _count("lost_effects"),
        "effects with a lost answer",
    ),
    _rate("unwanted_1000", "Unwanted/1000", "unwanted effects per 1000 trials", "unwanted"),
    _rate(
        "dispatch_1000",
        "Dup dispatch/1000",
        "repeated dispatches that changed nothing, per 1000 trials",
        "duplicate_dispatches",
    ),
    _proportion(
        "late",
        "Late",
        "deadline misses: trials that ended after their deadline",
        "lower",
        lambda o: not o.in_time,
    ),
    _ratio(
        "wait_mean",
        "Injected wait",
        "mean waiting that faults caused (kept apart from working time; latency contains it)",
        "us",
        "injected_wait_us",
        each,
        "trials",
    ),
    _ratio(
        "cps",
        "CPS",
        "cost per success: cost of all trials over successes",
        "microusd",
        "cost_microusd",
        _flag(lambda o: o.succeeded),
        "successes",
    ),
    _ratio(
        "cost_mean",
        "Cost",
        "mean cost of a trial, people included",
        "microusd",
        "cost_microusd",
        each,
        "trials",
    ),
    _proportion("esc", "ESC", "trials handed to a person", "", lambda o: o.escalated),
    _proportion(
        "deg",
        "DEG",
        "trials with at least one degraded step",
        "",
        lambda o: o.degraded_steps > 0,
    ),
    _ratio(
        "ra",
        "RA",
        "retry amplification: attempts per logical step",
        "ratio",
        "attempts",
        _field("steps"),
        "steps",
    ),
    _far(),
    _ratio(
        "latency_mean", "Latency", "mean latency of a trial", "us", "latency_us", each, "trials"
    ),
    *(_quantile(p, escalated=e) for e in (True, False) for p in (50, 95, 99)),
    _ratio(
        "recovery_mean",
        "Recovery",
        "mean time from a fault to recovery or escalation",
        "us",
        "recovery_us",
        _field("recoveries"),
        "recoveries",
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _DEFINED}


def value(metric: Metric, trials: Iterable[TrialResult]) -> float | None:
    """The metric over graded trials in plain Python: the reference that numpy must equal.

    None where it is undefined: no denominator, an unknown price, a p99 of under 1000 trials.
    """
    pairs = [(metric.num(trial), metric.den(trial) or 0) for trial in trials]
    known = [(num, den) for num, den in pairs if num is not None]
    total = sum(den for _, den in known)
    if len(known) < len(pairs) or total == 0:
        return None
    if metric.kind is not Kind.QUANTILE:
        return metric.scale * sum(num for num, _ in known) / total
    if metric.percent == 99 and total < P99_TRIALS:
        return None
    ordered = sorted(num for num, den in known if den)
    return float(ordered[-(-metric.percent * total // 100) - 1])
