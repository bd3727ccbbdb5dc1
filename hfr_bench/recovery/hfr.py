"""HFR: classify, then decide under budget, deadline and side-effect risk (paper §4).

What is here: the classifier, step and task budgets, the deadline, full jitter with Retry-After,
the ledger with reconcile-before-resend, one rung (an equal model), escalation. Order of a
decision (table 9): classify -> check -> decide.
"""

from collections.abc import Mapping
from typing import Any

from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Fault,
    Finishing,
    LedgerMove,
    Prepared,
    Proposed,
    Reconciled,
    StepView,
    StrategyEvent,
    Verified,
)
from hfr_bench.model.terms import Action, Channel, FaultClass, Landed, LedgerState, Rung, SideEffect
from hfr_bench.recovery.backoff import effective_us, full_jitter_us
from hfr_bench.recovery.budget import Budget, in_time
from hfr_bench.recovery.classify import classify
from hfr_bench.recovery.kit import Kit, take
from hfr_bench.recovery.ladder import may_substitute, next_equal

State = dict[str, Any]

DEFAULTS: Mapping[str, Any] = {
    "base_delay_ms": 200,
    "max_delay_ms": 2000,
    "retries_per_step": 3,
    "retries_per_task": 10,
}

# No number of attempts clears these (boundary 1 of paper §3.5); nothing here compresses.
_HOPELESS = (FaultClass.PERMANENT, FaultClass.REFUSAL, FaultClass.CONTEXT_OVERFLOW)


class Hfr:
    """Classify, then decide under budget, deadline and side-effect risk (paper §4).

    State: budgets, the step at hand, and the ledger's states by key.
    """

    def __init__(self, config: Mapping[str, Any], kit: Kit) -> None:
        self._config = take(config, DEFAULTS, "hfr")
        self._kit = kit

    def begin(self) -> State:
        return {"task_left": self._config["retries_per_task"], "step": _fresh(0), "ledger": {}}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if isinstance(event, Finishing):
            return state, self._finish(state)
        state = self._at_step(state, event.view)
        match event:
            case Proposed():
                decision = self._propose(state, event.view)
            case Prepared():
                decision = self._prepared(state, event)
            case Attempted():
                state = _heard(state, event)
                decision = self._attempted(state, event)
            case Reconciled():
                decision = self._reconciled(state, event)
            case Verified():
                decision = Decision(Action.ACCEPT)
        return _after(state, event.view, decision), decision

    # -- what each event asks -------------------------------------------------------------

    def _propose(self, state: State, view: StepView) -> Decision:
        """May it go out? A write is written down first; an unresolved twin is settled first."""
        if not self._keeps_ledger(view):
            return Decision(Action.DISPATCH)
        entry = _entry(state)
        if view.now_us > view.deadline_us:
            return Decision(Action.ESCALATE, "the deadline is past: no more writes")
        if entry == LedgerState.UNKNOWN:
            return self._ask_world(state, view, None, "the same write is still unresolved")
        if entry == LedgerState.PREPARED:
            return Decision(Action.DISPATCH, "idempotent: same key again", key=state["step"]["key"])
        if view.needs_before and self._kit.equipment.query and not state["step"]["read_before"]:
            return Decision(Action.DISPATCH, "read before an accumulating write", prepare=True)
        return Decision(Action.DISPATCH, moves=_move(state, view, LedgerState.PREPARED))

    def _prepared(self, state: State, event: Prepared) -> Decision:
        """The before-read failed: try again while it is affordable, then go on without it."""
        prepared = _move(state, event.view, LedgerState.PREPARED)
        if event.observation.answered:
            return Decision(Action.DISPATCH, moves=prepared)
        fault = classify(Channel.TOOL, event.observation)
        retry = self._retry(state, event.view, fault)
        if retry is not None:
            return retry
        return Decision(Action.DISPATCH, "no before-read to be had", fault=fault, moves=prepared)

    def _attempted(self, state: State, event: Attempted) -> Decision:
        view, seen = event.view, event.observation
        writes = self._keeps_ledger(view)
        if seen.answered:
            to = LedgerState.FAILED if seen.domain_error else LedgerState.COMMITTED
            return Decision(Action.ACCEPT, moves=_move(state, view, to) if writes else ())
        fault = classify(view.intent.channel, seen)
        if writes and seen.sent:
            return self._ambiguous(state, view, fault)
        refused = _move(state, view, LedgerState.FAILED, fault.evidence) if writes else ()
        return self._resume(state, view, fault, refused)

    def _reconciled(self, state: State, event: Reconciled) -> Decision:
        view = event.view
        if event.landed is Landed.COMMITTED:
            there = _move(state, view, LedgerState.RECONCILED_COMMITTED)
            return Decision(Action.ACCEPT, "the world has it", moves=there)
        if event.landed is Landed.ABSENT:
            absent = _move(state, view, LedgerState.RECONCILED_ABSENT)
            return self._resume(state, view, _still_failed(state, view), absent)
        if event.observation.answered:
            return Decision(Action.ESCALATE, "reconcile undecided")
        return self._ask_world_again(state, view, classify(Channel.TOOL, event.observation))

    def _finish(self, state: State) -> Decision:
        """Final acceptance (paper §5.4): nothing may be left unresolved."""
        open_states = (LedgerState.UNKNOWN, LedgerState.PREPARED)
        if any(entry[1] in open_states for entry in state["ledger"].values()):
            return Decision(Action.ESCALATE, "a write is unresolved at the end")
        return Decision(Action.ACCEPT)

    # -- decisions --------------------------------------------------------------------------

    def _ambiguous(self, state: State, view: StepView, fault: Fault) -> Decision:
        """A write went out and no answer came: it may have landed (boundary 2 of paper §3.5).

        R1 is sent again under the same entry, which stays PREPARED until it is answered.
        """
        level = view.intent.level
        if level is SideEffect.IDEMPOTENT:
            return self._resume(state, view, fault)
        unknown = _move(state, view, LedgerState.UNKNOWN, fault.evidence)
        if level is SideEffect.IRREVERSIBLE:
            return Decision(Action.ESCALATE, "irreversible and unknown", fault=fault, moves=unknown)
        return self._ask_world(state, view, fault, "outcome unknown", unknown)

    def _ask_world(
        self,
        state: State,
        view: StepView,
        fault: Fault | None,
        reason: str,
        moves: tuple[LedgerMove, ...] = (),
    ) -> Decision:
        """RECONCILE where there is a query; where there is none, a person must decide."""
        budget = self._budget(state).view(view.deadline_us - view.now_us)
        if view.can_reconcile and self._kit.equipment.query:
            return Decision(Action.RECONCILE, reason, fault=fault, moves=moves, budget=budget)
        return Decision(
            Action.ESCALATE,
            f"{reason}, and the world cannot be asked",
            fault=fault,
            moves=moves,
            budget=budget,
        )

    def _ask_world_again(self, state: State, view: StepView, fault: Fault) -> Decision:
        retry = self._retry(state, view, fault)
        if retry is None:
            return Decision(Action.ESCALATE, "the world cannot be asked", fault=fault)
        return Decision(
            Action.RECONCILE,
            "the query failed",
            delay_us=retry.delay_us,
            fault=fault,
            debit=retry.debit,
            budget=retry.budget,
        )

    def _resume(
        self, state: State, view: StepView, fault: Fault, moves: tuple[LedgerMove, ...] = ()
    ) -> Decision:
        """Nothing can land twice here: the class decides (table 2)."""
        if fault.fault_class in _HOPELESS:
            return Decision(Action.ESCALATE, fault.evidence, fault=fault, moves=moves)
        if fault.fault_class is FaultClass.OVERLOAD and view.intent.channel is Channel.MODEL:
            other = self._other_model(state, view, fault)
            if other is not None:
                return other
        return self._retry(state, view, fault, moves) or self._give_up(state, view, fault, moves)

    def _other_model(self, state: State, view: StepView, fault: Fault) -> Decision | None:
        """Rung L2, charged like a retry: the next equal model that this step has not used."""
        used = (*state["step"]["used"], view.target)
        other = next_equal(view.target, used, self._kit.substitutes)
        budget = self._budget(state)
        if other is None or not may_substitute(fault.fault_class) or not budget.affords():
            return None
        if not in_time(view.now_us, 0, self._kit.estimate_us, view.deadline_us):
            return None
        return Decision(
            Action.DEGRADE_MODEL,
            fault.evidence,
            substitute=other,
            rung=Rung.SAME_TIER,
            fault=fault,
            debit=1,
            budget=budget.less().view(view.deadline_us - view.now_us),
        )

    def _retry(
        self, state: State, view: StepView, fault: Fault, moves: tuple[LedgerMove, ...] = ()
    ) -> Decision | None:
        """RETRY after max(full jitter, Retry-After), or None: no budget or no time."""
        budget = self._budget(state)
        if not budget.affords():
            return None
        k = self._config["retries_per_step"] - budget.step_left + 1
        u = uniform("jitter", *self._kit.chance_key, view.step, k)
        delay = effective_us(
            full_jitter_us(
                k, self._config["base_delay_ms"] * 1000, self._config["max_delay_ms"] * 1000, u
            ),
            fault.retry_after_us,
        )
        if not in_time(view.now_us, delay, self._kit.estimate_us, view.deadline_us):
            return None
        left = budget.less().view(view.deadline_us - view.now_us)
        return Decision(
            Action.RETRY, fault.evidence, delay, fault=fault, moves=moves, debit=1, budget=left
        )

    def _give_up(
        self, state: State, view: StepView, fault: Fault, moves: tuple[LedgerMove, ...]
    ) -> Decision:
        """No retry is left: hand a tool's failure to the agent while the task can afford it."""
        replan = view.intent.channel is Channel.TOOL and state["task_left"] > 0
        action = Action.REPLAN if replan else Action.ESCALATE
        return Decision(action, "no retry left", fault=fault, moves=moves)

    # -- state ------------------------------------------------------------------------------

    def _keeps_ledger(self, view: StepView) -> bool:
        intent = view.intent
        return self._kit.equipment.ledger and intent.channel is Channel.TOOL and intent.level.writes

    def _budget(self, state: State) -> Budget:
        return Budget(state["step"]["left"], state["task_left"])

    def _at_step(self, state: State, view: StepView) -> State:
        """A new step starts afresh; an unresolved write asked for anew keeps its old key."""
        if state["step"]["step"] == view.step:
            return state
        unresolved = (LedgerState.UNKNOWN, LedgerState.PREPARED)
        key = view.intent.key
        for known, (stepless, at) in state["ledger"].items():
            if stepless == view.intent.stepless_key and at in unresolved:
                key = known
        return {**state, "step": _fresh(view.step, self._config["retries_per_step"], key)}


def _fresh(step: int, left: int = 0, key: str = "") -> State:
    return {
        "step": step,
        "left": left,
        "key": key,
        "read_before": False,
        "used": [],
        "failed": FaultClass.TIMEOUT,
        "not_before_us": 0,
    }


def _heard(state: State, event: Attempted) -> State:
    """Keep the last failure's class and stated wait: a reconcile in between must not lose them."""
    if event.observation.answered:
        return state
    fault = classify(event.view.intent.channel, event.observation)
    told_us = event.view.now_us + (fault.retry_after_us or 0)
    step = {**state["step"], "failed": fault.fault_class, "not_before_us": told_us}
    return {**state, "step": step}


def _still_failed(state: State, view: StepView) -> Fault:
    """The step's last failure once the world has said that nothing landed."""
    wait_us = max(0, state["step"]["not_before_us"] - view.now_us)
    failed = FaultClass(state["step"]["failed"])
    return Fault(failed, retry_after_us=wait_us, evidence="the world does not have it")


def _entry(state: State) -> str | None:
    """The ledger state of the write at hand, or None."""
    entry = state["ledger"].get(state["step"]["key"])
    return entry[1] if entry else None


def _move(
    state: State, view: StepView, to: LedgerState, evidence: str = ""
) -> tuple[LedgerMove, ...]:
    """A move of the write at hand, under the key it works with."""
    intent = view.intent
    return (LedgerMove(state["step"]["key"], intent.stepless_key, to, intent.target, evidence),)


def _after(state: State, view: StepView, decision: Decision) -> State:
    """The state once the decision is carried out: budgets debited, ledger moved, rung used."""
    step = dict(state["step"])
    step["left"] -= decision.debit
    if any(move.to is LedgerState.PREPARED for move in decision.moves):
        step["read_before"] = True
    if decision.substitute is not None:
        step["used"] = [*step["used"], view.target]
    moved = {m.key: [m.stepless_key, m.to] for m in decision.moves}
    return {
        "step": step,
        "ledger": {**state["ledger"], **moved} if moved else state["ledger"],
        "task_left": state["task_left"] - decision.debit,
    }
