"""Decision events (paper §5.5): what was believed, chosen and left, at every decision.

Metrics are in `metering`, alert rules in `alerting`; both are offered here, too.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from hfr_bench.model.attempt import BudgetView, Decision, StepView, Verdict
from hfr_bench.model.terms import Action, CheckLevel, FaultClass, Rung
from hfr_bench.model.trace import TraceEvent
from hfr_bench.recovery.alerting import Alert, Rule, Thresholds, alerts
from hfr_bench.recovery.metering import Metrics, Series, measure, total, with_circuits

__all__ = [
    "Alert",
    "Checked",
    "DecisionEvent",
    "Metrics",
    "Rule",
    "Series",
    "Thresholds",
    "alerts",
    "decision_event",
    "decision_events",
    "measure",
    "total",
    "with_circuits",
]


class Checked(NamedTuple):
    """What a check said; `passed` None = it was asked for."""

    level: CheckLevel
    passed: bool | None = None


class DecisionEvent(NamedTuple):
    """The twelve fields of paper §5.5, and the reason (principle 5 of §4.1).

    `step_id` 0: about the task as a whole. `budget`: what was left when it was decided.
    `elapsed_us`, `cost_microusd`: of the step so far (trial clock; None = a price is unknown).
    """

    task_id: str
    step_id: int
    fault_class: FaultClass | None
    confidence: float | None
    action: Action
    budget: BudgetView
    delay_us: int
    rung: Rung | None
    check: Checked | None
    escalated: bool
    elapsed_us: int
    cost_microusd: int | None
    reason: str

    def plain(self) -> dict[str, Any]:
        """As a JSON object, flat."""
        check = self.check
        return {
            "task_id": self.task_id,
            "step_id": self.step_id,
            "fault_class": self.fault_class,
            "confidence": self.confidence,
            "action": self.action,
            "step_left": self.budget.step_left,
            "task_left": self.budget.task_left,
            "deadline_left_us": self.budget.deadline_left_us,
            "delay_us": self.delay_us,
            "rung": self.rung,
            "check": check.level if check is not None else None,
            "check_passed": check.passed if check is not None else None,
            "escalated": self.escalated,
            "elapsed_us": self.elapsed_us,
            "cost_microusd": self.cost_microusd,
            "reason": self.reason,
        }


def decision_event(
    task_id: str,
    view: StepView | None,
    decision: Decision,
    elapsed_us: int,
    cost_microusd: int | None,
    verdict: Verdict | None = None,
) -> DecisionEvent:
    """The event of a decision as it is taken.

    Args:
        task_id: the task.
        view: the step it is about; None = the task as a whole.
        decision: what was chosen.
        elapsed_us: trial time of the step so far.
        cost_microusd: of the step so far; None = a price is unknown.
        verdict: the check's answer that was decided about, if there was one.
    """
    fault, check = decision.fault, None
    if verdict is not None:
        check = Checked(verdict.level, verdict.passed)
    elif decision.check is not None:
        check = Checked(decision.check)
    return DecisionEvent(
        task_id,
        view.step if view is not None else 0,
        fault.fault_class if fault is not None else None,
        fault.confidence if fault is not None else None,
        decision.action,
        decision.budget,
        decision.delay_us,
        decision.rung,
        check,
        decision.action is Action.ESCALATE,
        elapsed_us,
        cost_microusd,
        decision.reason,
    )


def decision_events(events: Iterable[TraceEvent]) -> Iterator[DecisionEvent]:
    """The decision events of one trial, from its trace."""
    task_id, step, since_us = "", 0, 0
    cost: int | None = 0
    check: Checked | None = None
    for event in events:
        body: Any = event.body
        if event.step != step:
            step, since_us, cost, check = event.step, event.t_us, 0, None
        match body.type:
            case "trial_started":
                task_id = body.task_id
            case "attempt_ended":
                known = cost is not None and body.cost_microusd is not None
                cost = cost + body.cost_microusd if known else None
            case "verified":
                check = Checked(body.level, body.passed)
            case "decided":
                if body.on != "Verified":
                    check = Checked(body.check) if body.check is not None else None
                yield DecisionEvent(
                    task_id,
                    step,
                    body.fault_class,
                    body.confidence,
                    body.action,
                    BudgetView(body.step_left, body.task_left, body.deadline_left_us),
                    body.delay_us,
                    body.rung,
                    check,
                    body.action == Action.ESCALATE,
                    event.t_us - since_us,
                    cost,
                    body.reason,
                )
