"""An experiment's traces as the metrics, alerts and decision events of paper §5.5.

Control trials are left out, as in the report. One group of traces is held at a time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from hfr_bench.errors import BadInputError
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.rounds import Counted, last_rounds
from hfr_bench.model.record import Record
from hfr_bench.model.terms import Origin
from hfr_bench.recovery.metering import (
    AMPLIFICATION,
    ATTEMPTS,
    CIRCUIT,
    CIRCUITS,
    COST_PER_SUCCESS,
    DEGRADED,
    DUPLICATES,
    ESCALATED,
    EXHAUSTED,
    P95,
    QUALITY_DELTA,
    RECONCILED,
    REJECTED,
    Metrics,
)
from hfr_bench.recovery.telemetry import Alert, Thresholds, alerts, decision_events, measure, total

WINDOW = 20
"""Trials a window of the alert rules, by default."""

DELTAS = (-0.5, -0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2, 0.5)
"""Upper bounds of the quality delta's buckets."""

# Name -> type and help, in the paper's order.
METRICS: Mapping[str, tuple[str, str]] = {
    ATTEMPTS: ("counter", "Attempts of the agent's calls, by the class believed and their outcome"),
    AMPLIFICATION: ("gauge", "Attempts over logical steps"),
    EXHAUSTED: ("counter", "Failures for which no retry was left"),
    DEGRADED: ("counter", "Degradations by rung and fault class"),
    QUALITY_DELTA: ("histogram", "Checked quality after a degradation minus before (1 if unknown)"),
    DUPLICATES: ("counter", "Duplicate side effects, as the world shows them"),
    RECONCILED: ("counter", "Answers of reconcile queries"),
    REJECTED: ("counter", "Rejections of checks by level and reason"),
    ESCALATED: ("counter", "Tasks handed to a person, by reason"),
    COST_PER_SUCCESS: ("gauge", "Cost of all trials over successes, US dollars"),
    P95: ("gauge", "95th percentile of the latency of trials that did not escalate, seconds"),
    CIRCUIT: ("gauge", "Worst state seen of a circuit breaker: 0 closed, 1 half-open, 2 open"),
}


class Raised(NamedTuple):
    """A rule that spoke up about a target: in which windows (from 1), and what it said last."""

    alert: Alert
    windows: tuple[int, ...]


class Arm(NamedTuple):
    """One arm's trials: their sum, and which rules spoke up, window after window."""

    arm: str
    trials: int
    metrics: Metrics
    alerts: tuple[Raised, ...]


class Telemetry(NamedTuple):
    """What the traces of an experiment add up to, arm by arm in the order of registration.

    `graded`, `planned`: trials without controls.
    """

    name: str
    origin: Origin
    prereg_digest: str
    graded: int
    planned: int
    arms: tuple[Arm, ...]


class Sample(Record):
    """One number and its labels; a histogram has names ending in `_bucket`, `_sum`, `_count`."""

    name: str
    labels: dict[str, str]
    value: float


def telemetry(
    experiment: Experiment,
    arms: Sequence[str] = (),
    window: int = WINDOW,
    thresholds: Thresholds | None = None,
) -> Telemetry:
    """Read every trace that counts, once.

    Args:
        experiment: the frozen experiment; it need not be finished.
        arms: only these; none = all.
        window: trials a window of the alert rules; what is left at the end goes to the last one.
        thresholds: of the alert rules.

    Raises:
        BadInputError: an arm that is not registered.
    """
    wanted = chosen_arms(experiment, arms)
    parts: dict[str, list[Metrics]] = {arm: [] for arm in wanted}
    for one in counted(experiment, wanted):
        parts[one.row.trial.arm].append(measure(one.reading.events))
    found = tuple(
        Arm(arm, len(own), total(own), _raised(own, window, thresholds or Thresholds()))
        for arm, own in parts.items()
    )
    planned = sum(row.control is None and row.trial.arm in wanted for row in experiment.plan)
    return Telemetry(
        experiment.prereg.name,
        experiment.prereg.origin,
        experiment.lock.prereg_digest,
        sum(arm.trials for arm in found),
        planned,
        found,
    )


def _raised(parts: Sequence[Metrics], window: int, to: Thresholds) -> tuple[Raised, ...]:
    """The rules over trials in order: each window is judged as it would have been at its end."""
    ends = [*range(window, len(parts) - window + 1, window), len(parts)]
    last: list[Metrics] = []
    older = Metrics()
    found: dict[tuple[str, str], Raised] = {}
    for number, (begin, end) in enumerate(pairwise([0, *ends]), 1):
        last.append(total(parts[begin:end])._replace(latencies_us={}))  # no rule looks at them
        if len(last) > to.windows:
            older = total((older, last.pop(0)))
        for one in alerts(last, to, older):
            key = (one.rule, one.about)
            before = found[key].windows if key in found else ()
            found[key] = Raised(one, (*before, number))
    return tuple(found[key] for key in sorted(found))


def chosen_arms(experiment: Experiment, arms: Sequence[str]) -> tuple[str, ...]:
    """The named arms, all if none is named. Raises BadInputError for one that is not registered."""
    registered = tuple(arm.name for arm in experiment.prereg.arms)
    for arm in arms:
        if arm not in registered:
            raise BadInputError(f"no arm {arm!r}; registered are: {', '.join(registered)}")
    return tuple(arm for arm in registered if not arms or arm in arms)


def counted(experiment: Experiment, arms: Sequence[str]) -> Iterator[Counted]:
    """The trials of these arms that count, in plan order, without controls."""
    for group in last_rounds(experiment):
        for one in group:
            if one.row.control is None and one.row.trial.arm in arms:
                yield one


def decisions(
    experiment: Experiment, arms: Sequence[str], redactor: Redactor
) -> Iterator[dict[str, Any]]:
    """Every decision event as a JSON object: trial, arm and origin, and the paper's fields."""
    for one in counted(experiment, chosen_arms(experiment, arms)):
        trial = one.row.trial
        head = {"trial_id": trial.trial_id, "arm": trial.arm, "origin": experiment.prereg.origin}
        for event in decision_events(one.reading.events):
            yield redactor.value({**head, **event.plain()})


def samples(found: Telemetry, redactor: Redactor) -> Iterator[Sample]:
    """Every number of the twelve metrics, by metric, then by arm; labels are redacted."""
    for name in METRICS:
        for arm in found.arms:
            more = {"arm": arm.arm, "origin": str(found.origin)}
            for suffix, labels, value in _values(name, arm.metrics):
                clean = {key: redactor.text(text) for key, text in labels.items()}
                yield Sample(name=name + suffix, labels=clean | more, value=value)


Value = tuple[str, Mapping[str, str], float]


def _values(name: str, metrics: Metrics) -> Iterable[Value]:
    """(suffix, labels, value) of one metric; a gauge without a value has none."""
    gauges: dict[str, float | None] = {
        AMPLIFICATION: metrics.amplification,
        COST_PER_SUCCESS: _millionth(metrics.cost_per_success_microusd),
        P95: _millionth(metrics.p95_us),
    }
    if name in gauges:
        value = gauges[name]
        return [] if value is None else [("", {}, value)]
    if name == QUALITY_DELTA:
        return _histogram(metrics.quality_deltas)
    if name == CIRCUIT:
        states = sorted(metrics.circuits.items())
        return [("", {"target": target}, CIRCUITS[state]) for target, state in states]
    found = sorted(metrics.labelled(name).items())
    if not found and name in (EXHAUSTED, DUPLICATES):  # a counter without labels says 0
        return [("", {}, 0)]
    return [("", dict(one.labels), count) for one, count in found]


def _histogram(deltas: Mapping[int, int]) -> Iterator[Value]:
    """Cumulative buckets, sum and count of quality deltas, which are given in thousandths."""
    n = sum(deltas.values())
    for bound in DELTAS:
        below = sum(count for delta, count in deltas.items() if delta <= bound * 1000)
        yield "_bucket", {"le": f"{bound:g}"}, below
    yield "_bucket", {"le": "+Inf"}, n
    yield "_sum", {}, sum(delta * count for delta, count in deltas.items()) / 1000
    yield "_count", {}, n


def _millionth(value: float | None) -> float | None:
    return None if value is None else value / 1e6


def exposition(found: Telemetry, redactor: Redactor) -> Iterator[str]:
    """The metrics in Prometheus' text format (0.0.4), line by line, all twelve announced."""
    made = list(samples(found, redactor))
    for name, (kind, told) in METRICS.items():
        yield f"# HELP {name} {told}."
        yield f"# TYPE {name} {kind}"
        names = (name, *(name + suffix for suffix in ("_bucket", "_sum", "_count")))
        for one in made:
            if one.name in names:
                labels = ",".join(f'{key}="{_escaped(text)}"' for key, text in one.labels.items())
                yield f"{one.name}{{{labels}}} {one.value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
