"""What happens when the controller itself fails (paper §4.1): fail-open or fail-closed."""

from typing import Any, Final, Protocol

from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Finishing,
    GoalChanged,
    Proposed,
    Restored,
    StepView,
    StrategyEvent,
    Verified,
)
from hfr_bench.model.terms import Action, Channel, Criticality, SideEffect

State = dict[str, Any]

UNAVAILABLE: Final = "controller unavailable"
"""How the reason of such a decision begins."""

WORDS: Final = 200
"""So much of an error's or a reason's text is kept."""


class Decides(Protocol):
    """A strategy (`ports.strategy.Strategy`, which the core does not know)."""

    def begin(self) -> State: ...

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]: ...


def guarded(strategy: Decides, criticality: Criticality = Criticality.MEDIUM) -> "Guarded":
    """The strategy, its own defects turned into what §4.1 says of a controller's failure."""
    return Guarded(strategy, criticality)


class Guarded:
    """Fail-open where nothing can be lost, fail-closed everywhere else (paper §4.1).

    `decide` raised, or gave no decision. Reads and model calls of a task that is not of high
    criticality go on as they would without a controller, and the decision says so. A write, a task
    of high criticality, a rejected answer and the end of a task that has written call a person.

    State: the inner one (as it was before the failure), whether a write went out, how often the
    controller failed, and its last error.
    """

    def __init__(self, inner: Decides, criticality: Criticality = Criticality.MEDIUM) -> None:
        self._inner = inner
        self._high = criticality is Criticality.HIGH

    def begin(self) -> State:
        """The inner strategy's beginning; one that raises is met again at every decision."""
        try:
            inner: State | None = self._inner.begin()
        except Exception as error:  # noqa: BLE001 - any defect of the controller is met here
            return {"inner": None, "wrote": False, "failures": 1, "error": told(error)}
        return {"inner": inner, "wrote": False, "failures": 0, "error": ""}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        """The inner decision, or the one of §4.1."""
        known = state["inner"]
        try:
            inner, decision = self._inner.decide(known, event)
            if type(decision) is not Decision or decision.delay_us < 0 or decision.debit < 0:
                check_decision(decision)
        except Exception as error:  # noqa: BLE001 - any defect of the controller is met here
            return self._without(state, event, told(error))
        if not state["wrote"] and sends_write(event, decision):
            return {**state, "inner": inner, "wrote": True}, decision
        if inner is known:
            return state, decision
        return {**state, "inner": inner}, decision

    def _without(self, state: State, event: StrategyEvent, error: str) -> tuple[State, Decision]:
        after = {**state, "failures": state["failures"] + 1, "error": error}
        return after, unavailable(event, error, high=self._high, wrote=state["wrote"])


def unavailable(event: StrategyEvent, error: str, *, high: bool, wrote: bool) -> Decision:
    """What is done where the controller could not decide (paper §4.1).

    `high`: the task is of high criticality. `wrote`: a write went out before.
    """
    action = Action.ESCALATE
    if not high and not writes(event):
        action = _open(event, wrote=wrote)
    way = "fail-closed" if action is Action.ESCALATE else "fail-open"
    return Decision(action, f"{UNAVAILABLE}, {way}: {error}")


def _open(event: StrategyEvent, *, wrote: bool) -> Action:
    """What a runtime without a controller does where it only reads; ESCALATE if that is unsafe."""
    match event:
        case Proposed():
            return Action.DISPATCH
        case Attempted(view=view, observation=seen):
            if seen.answered:
                return Action.ACCEPT
            return Action.REPLAN if view.intent.channel is Channel.TOOL else Action.FAIL
        case Compressed(done=done):
            return Action.RETRY if done else Action.FAIL
        case Verified(verdict=verdict):
            return Action.ACCEPT if verdict.passed else Action.ESCALATE
        case Finishing() | GoalChanged():
            return Action.ESCALATE if wrote else Action.ACCEPT
        case Restored(ledger=ledger):
            return Action.ESCALATE if wrote or ledger else Action.ACCEPT
    return Action.ESCALATE  # reads of the world and receipts are about writes


def view_of(event: StrategyEvent) -> StepView | None:
    """The step that an event is about; None for those of the whole task."""
    return getattr(event, "view", None)


def writes(event: StrategyEvent) -> bool:
    """Whether the event is about a tool call that may change the world."""
    view: StepView | None = getattr(event, "view", None)
    if view is None:
        return False
    intent = view.intent
    return intent.level is not SideEffect.READ and intent.channel is Channel.TOOL


def sends_write(event: StrategyEvent, decision: Decision) -> bool:
    """Whether the decision sends a write out."""
    return decision.action is Action.DISPATCH and not decision.prepare and writes(event)


def told(error: Exception) -> str:
    """An error in one short line, for a state and a reason."""
    return f"{type(error).__name__}: {error}"[:WORDS]


def check_decision(decision: Any) -> None:
    """Raises TypeError if the value is no decision, ValueError for times that run backwards."""
    if not isinstance(decision, Decision):
        raise TypeError(f"{type(decision).__name__} is not a decision")
    if decision.delay_us < 0 or decision.debit < 0:
        raise ValueError(f"delay_us {decision.delay_us}, debit {decision.debit}")
