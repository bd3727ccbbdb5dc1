"""The twelve metrics of paper §5.5. Pure: traces in, numbers out.

`measure` folds one trial's trace, `total` adds trials up; adding is associative and commutative,
so the windows of an alert and the sum of an experiment are the same numbers.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from hfr_bench.model.terms import Action, FaultClass, Rung
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import TrialResult

Key = TypeVar("Key")

ATTEMPTS: Final = "harness_attempts_total"
AMPLIFICATION: Final = "harness_retry_amplification"
EXHAUSTED: Final = "harness_retry_budget_exhausted_total"
DEGRADED: Final = "harness_degradation_total"
QUALITY_DELTA: Final = "harness_degradation_quality_delta"
DUPLICATES: Final = "harness_duplicate_side_effects_total"
RECONCILED: Final = "harness_reconcile_total"
REJECTED: Final = "harness_verification_failures_total"
ESCALATED: Final = "harness_escalations_total"
COST_PER_SUCCESS: Final = "harness_cost_per_success"
P95: Final = "harness_p95_latency_non_escalated"
CIRCUIT: Final = "harness_circuit_state"

# Denominators; the paper names none of them, so they are not among the twelve.
STEPS: Final = "hfr_steps_total"
TRIALS: Final = "hfr_trials_total"
SUCCESSES: Final = "hfr_successes_total"
VERDICTS: Final = "hfr_verdicts_total"
CALLED: Final = "hfr_escalated_trials_total"

CIRCUITS: Mapping[str, int] = MappingProxyType({"closed": 0, "half_open": 1, "open": 2})
"""Values of the gauge; between two of them the worse one is kept."""

NONE: Final = "none"
"""The label of what has no fault class: an attempt that was answered, or nobody classified it."""

UNHEARD: Final = "unheard"
"""The outcome of an attempt whose end nobody saw: the runtime crashed, or the trial was cut off."""

_LABEL = 60
_LADDER = (
    Action.COMPRESS,
    Action.DEGRADE_MODEL,
    Action.DEGRADE_TOOL,
    Action.DEGRADE_SCOPE,
)
_RUNGS = {Action.COMPRESS: Rung.COMPRESSED, Action.DEGRADE_SCOPE: Rung.FALLBACK}
_GIVES_UP = (Action.REPLAN, Action.ESCALATE, Action.FAIL, *_LADDER)
_INCURABLE = (FaultClass.PERMANENT, FaultClass.REFUSAL)
# Where a reason stops being the kind of thing that went wrong and tells of this one case.
_CASE = re.compile(r"\s*(?:[:(\"'`=]|\d)")


class Series(NamedTuple):
    """One time series: a metric's name and its labels, sorted by name."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()


def series(name: str, **labels: str) -> Series:
    """A series; `class_` stands for the label `class`."""
    return Series(name, tuple(sorted((key.rstrip("_"), text) for key, text in labels.items())))


class Metrics(NamedTuple):
    """What one or more trials add up to; everything in it is a sum, or the worse of two.

    `counts`: the paper's counters and the denominators. `latencies_us`: how many trials that did
    not escalate took so long. `quality_deltas`: how many degradations changed the quality by so
    many thousandths. `cost_microusd`: None = a price is unknown. `circuits`: the worst state seen
    of a target's breaker.
    """

    counts: Mapping[Series, int] = MappingProxyType({})
    latencies_us: Mapping[int, int] = MappingProxyType({})
    quality_deltas: Mapping[int, int] = MappingProxyType({})
    cost_microusd: int | None = 0
    circuits: Mapping[str, str] = MappingProxyType({})

    def of(self, name: str) -> int:
        """A counter's sum over all of its labels."""
        return sum(count for one, count in self.counts.items() if one.name == name)

    def labelled(self, name: str) -> dict[Series, int]:
        """A counter's series."""
        return {one: count for one, count in self.counts.items() if one.name == name}

    @property
    def amplification(self) -> float | None:
        """Attempts per logical step; None without a step."""
        steps = self.of(STEPS)
        return self.of(ATTEMPTS) / steps if steps else None

    @property
    def cost_per_success_microusd(self) -> float | None:
        """Cost of all trials over successes; None without one, or with an unknown price."""
        won = self.of(SUCCESSES)
        return self.cost_microusd / won if won and self.cost_microusd is not None else None

    @property
    def p95_us(self) -> int | None:
        """95th percentile (nearest rank) of the latency of trials that did not escalate."""
        rank = -(-95 * sum(self.latencies_us.values()) // 100)
        for latency_us in sorted(self.latencies_us):
            rank -= self.latencies_us[latency_us]
            if rank <= 0:
                return latency_us
        return None


def total(parts: Iterable[Metrics]) -> Metrics:
    """The sum; takes one part at a time."""
    counts: dict[Series, int] = {}
    latencies: dict[int, int] = {}
    deltas: dict[int, int] = {}
    circuits: dict[str, str] = {}
    cost: int | None = 0
    for part in parts:
        _add(counts, part.counts)
        _add(latencies, part.latencies_us)
        _add(deltas, part.quality_deltas)
        unknown = cost is None or part.cost_microusd is None
        cost = None if unknown else (cost or 0) + (part.cost_microusd or 0)
        for target, state in part.circuits.items():
            circuits[target] = _worse(circuits.get(target, "closed"), state)
    return Metrics(counts, latencies, deltas, cost, circuits)


def with_circuits(metrics: Metrics, circuits: Mapping[str, str]) -> Metrics:
    """The metrics with breakers seen in these states, by target.

    Raises ValueError for a state that is none of CIRCUITS.
    """
    return total((metrics, Metrics(circuits=circuits)))


def measure(events: Iterable[TraceEvent]) -> Metrics:
    """One trial's metrics from its trace, records or their like (`lab.decode`).

    Attempts are the agent's own; their sum over steps is the retry amplification of §3.4. What
    only the world knows (duplicates, success) is in the trace's last line: a trial that was cut
    off, or void, adds its attempts and nothing else.
    """
    fold = _Fold()
    for event in events:
        if event.step > fold.step:
            fold.next_step(event.step)
        hear = _HEARS.get(event.body.type)
        if hear is not None:
            hear(fold, event.body)
    fold.close_attempt(NONE)
    return Metrics(fold.counts, fold.latencies, fold.deltas, fold.cost, fold.circuits)


class _Fold:
    """The numbers of one trial while its trace is read; local to `measure`."""

    def __init__(self) -> None:
        self.counts: dict[Series, int] = {}
        self.latencies: dict[int, int] = {}
        self.deltas: dict[int, int] = {}
        self.circuits: dict[str, str] = {}
        self.cost: int | None = 0
        self.step = 0
        self._own = False
        self._outcome = ""  # of the attempt that nobody has classified yet
        self._quality = 1.0  # of the step's last checked answer
        self._before: float | None = None  # its quality before the last degradation

    def next_step(self, number: int) -> None:
        self.step, self._quality, self._before = number, 1.0, None
        self._count(_STEP)

    def close_attempt(self, fault_class: str) -> None:
        """Count the attempt at hand under the class that the strategy believed in."""
        if self._outcome:
            self._count(series(ATTEMPTS, class_=fault_class, outcome=self._outcome))
            self._outcome = ""

    def started(self, body: Any) -> None:
        self.close_attempt(NONE)
        self._own = body.purpose == "agent"
        self._outcome = UNHEARD if self._own else ""

    def ended(self, body: Any) -> None:
        if self._own:
            self._outcome = _outcome(body)

    def decided(self, body: Any) -> None:
        fault_class, action = body.fault_class or NONE, body.action
        if body.on == "Attempted":
            self.close_attempt(fault_class)
        if action in _LADDER:
            level = body.rung or _RUNGS.get(action, NONE)
            self._count(series(DEGRADED, level=level, reason=fault_class))
            self._before = self._quality
        if _is_exhausted(body):
            self._count(_EXHAUSTED)
        if action == Action.ESCALATE:
            self._count(series(ESCALATED, reason=kind_of(body.reason) or fault_class))

    def reconciled(self, body: Any) -> None:
        self._count(series(RECONCILED, outcome=body.landed))

    def verified(self, body: Any) -> None:
        self._count(_VERDICT)
        if not body.passed:
            reason = kind_of(body.reasons[0]) if body.reasons else ""
            self._count(series(REJECTED, level=body.level, reason=reason or NONE))
        if self._before is not None:
            delta = round((body.quality - self._before) * 1000)
            self.deltas[delta] = self.deltas.get(delta, 0) + 1
            self._before = None
        self._quality = body.quality

    def circuit(self, body: Any) -> None:
        self.circuits[body.target] = _worse(self.circuits.get(body.target, "closed"), body.state)

    def over(self, body: Any) -> None:
        result: TrialResult = body.result
        outcome = result.outcome
        if outcome is None:
            return
        self._count(_TRIAL)
        self.cost = result.cost_microusd
        escalated = outcome.end == "escalated"
        for counted, n in (
            (_DUPLICATES, outcome.duplicates),
            (_SUCCESS, int(outcome.goal_met and outcome.accepted and outcome.in_time)),
            (_CALLED, int(escalated)),
        ):
            if n:
                self._count(counted, n)
        if not escalated:
            self.latencies[result.latency_us] = 1

    def _count(self, one: Series, n: int = 1) -> None:
        self.counts[one] = self.counts.get(one, 0) + n


_STEP, _TRIAL, _SUCCESS, _VERDICT, _CALLED, _DUPLICATES, _EXHAUSTED = map(
    Series, (STEPS, TRIALS, SUCCESSES, VERDICTS, CALLED, DUPLICATES, EXHAUSTED)
)
_HEARS: Mapping[str, Callable[[_Fold, Any], None]] = {
    "attempt_started": _Fold.started,
    "attempt_ended": _Fold.ended,
    "decided": _Fold.decided,
    "reconciled": _Fold.reconciled,
    "verified": _Fold.verified,
    "circuit_moved": _Fold.circuit,
    "trial_ended": _Fold.over,
}


def kind_of(reason: str) -> str:
    """A reason as a label: what kind of thing it was, without this case's numbers and names."""
    match = _CASE.search(reason)
    return (reason if match is None else reason[: match.start()]).strip(" ,;.")[:_LABEL]


def _outcome(body: Any) -> str:
    """How an attempt ended, as the strategy saw it."""
    if body.answered:
        return "domain_error" if body.domain_error else "answered"
    return "lost" if body.exception else "refused"


def _is_exhausted(body: Any) -> bool:
    """A failure that might have been retried, but that no retry was left for."""
    if body.action not in _GIVES_UP or body.debit or body.fault_class is None:
        return False
    return body.fault_class not in _INCURABLE and 0 in (body.step_left, body.task_left)


def _worse(one: str, other: str) -> str:
    for state in (one, other):
        if state not in CIRCUITS:
            raise ValueError(f"no circuit state {state!r}; there are: {', '.join(CIRCUITS)}")
    return max(one, other, key=CIRCUITS.__getitem__)


def _add(sums: dict[Key, int], more: Mapping[Key, int]) -> None:
    for key, count in more.items():
        sums[key] = sums.get(key, 0) + count
