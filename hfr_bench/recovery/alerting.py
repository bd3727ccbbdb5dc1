"""The six alert rules of paper §5.5: patterns, never a single error.

Each rule looks at consecutive windows, oldest first, and says nothing before it has seen enough.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from hfr_bench.recovery.metering import (
    CALLED,
    DEGRADED,
    DUPLICATES,
    REJECTED,
    STEPS,
    TRIALS,
    VERDICTS,
    Metrics,
    total,
)


class Rule(StrEnum):
    """What may be wrong (paper §5.5)."""

    RETRY_STORM = "retry_amplification"
    DUPLICATES = "duplicate_side_effects"
    DEGRADATION = "degradation_jump"
    VERIFICATION = "verification_failures"
    CIRCUIT = "circuit_open"
    ESCALATION = "escalation_rate"


class Thresholds(NamedTuple):
    """When a rule speaks up. Rates are shares; `windows` counts consecutive ones.

    A rate is compared with that of all earlier windows together. `jump`: so many times as high;
    `rise`: so much higher. `min_*`: fewer than that in a window say nothing of it, and fewer
    events than `min_events` are no pattern.
    """

    amplification: float = 2.0
    windows: int = 3
    degradation_jump: float = 2.0
    verification_rise: float = 0.10
    escalation_max: float = 0.25
    escalation_jump: float = 3.0
    min_steps: int = 20
    min_trials: int = 10
    min_verdicts: int = 10
    min_events: int = 3


DEFAULT: Final = Thresholds()

NOTHING: Final = Metrics()


class Alert(NamedTuple):
    """A rule that speaks up: about what (a target, or ""), the value and what it was held to."""

    rule: Rule
    about: str
    value: float
    limit: float
    said: str


def alerts(
    windows: Sequence[Metrics], thresholds: Thresholds = DEFAULT, older: Metrics = NOTHING
) -> tuple[Alert, ...]:
    """What is wrong in the newest window, seen against those before it.

    Args:
        windows: consecutive windows of one system, oldest first; none = nothing is wrong. No more
            than the last `Thresholds.windows` are needed one by one.
        thresholds: when a rule speaks up.
        older: the sum of the windows before these.
    """
    if not windows:
        return ()
    before = total((older, *windows[:-1]))
    return tuple(one for rule in _RULES for one in rule(windows, before, thresholds))


def _retry_storm(windows: Sequence[Metrics], _before: Metrics, to: Thresholds) -> list[Alert]:
    """Retry amplification above its threshold in each of the last windows."""
    last = windows[-to.windows :]
    if len(last) < to.windows or any(one.of(STEPS) < to.min_steps for one in last):
        return []
    lowest = min(one.amplification or 0 for one in last)
    if lowest <= to.amplification:
        return []
    said = f"{lowest:.2f} attempts a step or more in each of the last {to.windows} windows"
    return [Alert(Rule.RETRY_STORM, "", lowest, to.amplification, said)]


def _duplicates(windows: Sequence[Metrics], _before: Metrics, _to: Thresholds) -> list[Alert]:
    """Any duplicate side effect: the one rule without a minimum."""
    n = windows[-1].of(DUPLICATES)
    return [Alert(Rule.DUPLICATES, "", n, 0, f"{n} duplicate side effects")] if n else []


def _degradation(windows: Sequence[Metrics], before: Metrics, to: Thresholds) -> list[Alert]:
    """Degradations per step suddenly more frequent."""
    now, n = windows[-1], windows[-1].of(DEGRADED)
    if n < to.min_events or min(now.of(STEPS), before.of(STEPS)) < to.min_steps:
        return []
    rate = n / now.of(STEPS)
    limit = to.degradation_jump * before.of(DEGRADED) / before.of(STEPS)
    if rate <= limit:
        return []
    said = f"{rate:.1%} of steps degraded, {before.of(DEGRADED) / before.of(STEPS):.1%} before"
    return [Alert(Rule.DEGRADATION, "", rate, limit, said)]


def _verification(windows: Sequence[Metrics], before: Metrics, to: Thresholds) -> list[Alert]:
    """Checks reject a larger share of what they see."""
    now, n = windows[-1], windows[-1].of(REJECTED)
    if n < to.min_events or min(now.of(VERDICTS), before.of(VERDICTS)) < to.min_verdicts:
        return []
    rate, known = n / now.of(VERDICTS), before.of(REJECTED) / before.of(VERDICTS)
    limit = known + to.verification_rise
    if rate <= limit:
        return []
    said = f"{rate:.1%} of checks reject, {known:.1%} before"
    return [Alert(Rule.VERIFICATION, "", rate, limit, said)]


def _circuit(windows: Sequence[Metrics], _before: Metrics, to: Thresholds) -> list[Alert]:
    """A breaker that was open in each of the last windows."""
    last = windows[-to.windows :]
    if len(last) < to.windows:
        return []
    stuck = [
        target
        for target in sorted(last[-1].circuits)
        if all(one.circuits.get(target) == "open" for one in last)
    ]
    said = f"open in each of the last {to.windows} windows"
    return [Alert(Rule.CIRCUIT, one, to.windows, to.windows, f"{one}: {said}") for one in stuck]


def _escalation(windows: Sequence[Metrics], before: Metrics, to: Thresholds) -> list[Alert]:
    """More tasks handed to a person than is allowed at all, or many more than before."""
    now, n = windows[-1], windows[-1].of(CALLED)
    if n < to.min_events or now.of(TRIALS) < to.min_trials:
        return []
    limit, told = to.escalation_max, ""
    if before.of(TRIALS) >= to.min_trials:
        known = before.of(CALLED) / before.of(TRIALS)
        limit, told = min(limit, to.escalation_jump * known), f", {known:.1%} before"
    rate = n / now.of(TRIALS)
    if rate <= limit:
        return []
    said = f"{rate:.1%} of tasks escalated{told}"
    return [Alert(Rule.ESCALATION, "", rate, limit, said)]


_RULES: tuple[Callable[[Sequence[Metrics], Metrics, Thresholds], list[Alert]], ...] = (
    _retry_storm,
    _duplicates,
    _degradation,
    _verification,
    _circuit,
    _escalation,
)
