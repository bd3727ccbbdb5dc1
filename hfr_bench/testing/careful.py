"""A small strategy that comes back from a crash as the paper wants it: the ledger first (§5.4)."""

from typing import Any

from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Finishing,
    GoalChanged,
    LedgerMove,
    Proposed,
    Receipt,
    Reconciled,
    Restored,
    StepView,
    StrategyEvent,
)
from hfr_bench.model.terms import Action, Landed, LedgerState, SideEffect

GO, ACCEPT = Decision(Action.DISPATCH), Decision(Action.ACCEPT)
S = LedgerState


class Careful:
    """Writes down first; after a crash it trusts the ledger's store and asks the world."""

    def begin(self) -> dict[str, Any]:
        return {"open": {}, "key": "", "read": 0}

    def decide(
        self, state: dict[str, Any], event: StrategyEvent
    ) -> tuple[dict[str, Any], Decision]:
        if isinstance(event, Restored):
            unresolved = (S.PREPARED, S.UNKNOWN)
            left = {k.stepless_key: [k.key, k.state] for k in event.ledger if k.state in unresolved}
            return {**state, "open": left}, ACCEPT
        if isinstance(event, Finishing | Receipt | GoalChanged):
            return state, ACCEPT
        if not event.view.intent.level.writes:
            return state, ACCEPT if isinstance(event, Attempted) else GO
        if isinstance(event, Proposed):
            return self._propose(state, event.view)
        if isinstance(event, Attempted):
            return state, self._move(state, event.view, S.COMMITTED, ACCEPT)
        if isinstance(event, Reconciled):
            return self._reconciled(state, event)
        return state, self._move(state, event.view, S.PREPARED, GO)  # prepared

    def _propose(self, state: dict[str, Any], view: StepView) -> tuple[dict[str, Any], Decision]:
        key, at = state["open"].get(view.intent.stepless_key, (view.intent.key, None))
        state = {**state, "key": key}
        if at is None or at == S.RECONCILED_ABSENT:
            if view.needs_before and at is None:
                return state, Decision(Action.DISPATCH, prepare=True)
            return state, self._move(state, view, S.PREPARED, GO)
        if view.intent.level is SideEffect.IDEMPOTENT:
            return state, Decision(Action.DISPATCH, key=key)
        next_ = Action.RECONCILE if view.can_reconcile else Action.ESCALATE
        return state, self._move(state, view, S.UNKNOWN, Decision(next_, "unresolved"))

    def _reconciled(
        self, state: dict[str, Any], event: Reconciled
    ) -> tuple[dict[str, Any], Decision]:
        if event.landed is Landed.COMMITTED:
            return state, self._move(state, event.view, S.RECONCILED_COMMITTED, ACCEPT)
        if event.landed is Landed.UNKNOWN:
            return state, Decision(Action.ESCALATE, "undecided")
        absent = {event.view.intent.stepless_key: [state["key"], S.RECONCILED_ABSENT]}
        again = self._move(state, event.view, S.RECONCILED_ABSENT, Decision(Action.RETRY))
        return {**state, "open": {**state["open"], **absent}}, again

    def _move(self, state: dict[str, Any], view: StepView, to: S, decision: Decision) -> Decision:
        intent = view.intent
        move = LedgerMove(state["key"], intent.stepless_key, to, intent.target)
        return Decision(decision.action, decision.reason, moves=(move,))
