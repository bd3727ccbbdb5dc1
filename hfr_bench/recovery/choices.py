"""What the controller does about a failure (paper §4.3, §4.4, tables 2 and 11).

The order is the paper's: what must not be repeated comes first (§3.5), then what the class asks
for, then whether the budget, the deadline and the breaker allow it, then what is left: a rung, the
agent, a person.
"""

from typing import Any

from hfr_bench.model.attempt import Decision, Fault, LedgerMove, StepView, Verdict
from hfr_bench.model.terms import Action, Channel, FaultClass, LedgerState, Rung, SideEffect
from hfr_bench.recovery import breaker
from hfr_bench.recovery.backoff import ceiling_us, effective_us
from hfr_bench.recovery.ladder import Choice
from hfr_bench.recovery.means import Means, Trouble
from hfr_bench.recovery.memory import (
    Ended,
    State,
    ended,
    entry_of,
    kept,
    moved,
    retried,
    standing_of,
    step_of,
    with_step,
)
from hfr_bench.recovery.retry import (
    Standing,
    after_compression,
    after_failure,
    after_repair,
    may_repair,
    stop_reason,
)

# Looked up once: a member of an enum costs ten times a global.
_MODEL, _TOOL = Channel.MODEL, Channel.TOOL
_READ, _R1, _R3 = SideEffect.READ, SideEffect.IDEMPOTENT, SideEffect.IRREVERSIBLE
_UNREPEATABLE = (SideEffect.QUERYABLE, _R3)
_F, _S = FaultClass, LedgerState
_T2, _T4, _T6, _V1 = _F.RATE_LIMIT, _F.OVERLOAD, _F.CONTEXT_OVERFLOW, _F.SEMANTIC
_RETRY, _FAILED, _WAITING = Action.RETRY, _S.FAILED, Ended.WAITING
_GUESS = 0.5  # below it nothing is known of the class at all (table 4, last row)
_OTHER_TARGET = (_T4, _F.TOOL_UNAVAILABLE)
CLOSED = (_F.PERMANENT, _F.REFUSAL)
_WAIT_FOR = (_F.TRANSIENT, _T2, _F.TIMEOUT)


class Choices:
    """The decisions about failures, for one task. Keeps nothing but what its config says."""

    def __init__(self, means: Means) -> None:
        self._means = means

    def shut_out(self, state: State, view: StepView, scope: str) -> tuple[State, Decision]:
        """An open breaker: another target, or a wait until it may be probed, or a person."""
        fault = Fault(_F.OVERLOAD, evidence=f"the breaker of {scope} is open")
        trouble = Trouble(fault, view, view.intent.level, sent=False)
        step = step_of(state, view)
        rung = self._means.rung(state, step, trouble)
        if rung is not None:
            return self.take(state, view, rung, fault)
        at_us = breaker.retry_at_us(state["breakers"].get(scope)) or view.now_us
        wait_us = max(0, at_us - view.now_us)
        wait = self._retry_in(state, step, trouble, wait_us)
        return wait or self._person(state, trouble, fault.evidence)

    # -- a failed attempt --------------------------------------------------------------------------

    def of_failure(self, state: State, trouble: Trouble) -> tuple[State, Decision]:
        """What a failed attempt asks for. `state`: a copy that nobody else has seen, filled in."""
        fault, view = trouble.fault, trouble.view
        fault_class, step = fault.fault_class, step_of(state, view).copy()
        evidence = fault.evidence if fault_class is _V1 else ""
        standing = after_failure(standing_of(step), fault_class, evidence)
        step["standing"], step["fault"] = kept(standing), _told(fault)
        step["until"] = view.now_us + (fault.retry_after_us or 0)
        state["step"] = step
        if self._means.keeps(trouble):
            if trouble.sent and trouble.level in _UNREPEATABLE:
                # Whatever the class: a fault that nobody knows may look like any of them (§4.2).
                return self._ambiguous(state, step, trouble)
            if trouble.level is not _R1 or not (trouble.sent or step["twice"]):
                state, decision = moved(state, view, step, _FAILED, _RETRY, fault.evidence)
                trouble = _with(trouble, decision.moves)
        if fault.confidence < _GUESS and self._means.is_high:
            return self._person(state, trouble, "nothing is known of it, and the task is critical")
        return self._resume(state, step, trouble, standing)

    def of_absence(
        self, state: State, view: StepView, moves: tuple[LedgerMove, ...]
    ) -> tuple[State, Decision]:
        """The world does not have the write: its last failure is decided on, safely now."""
        step = step_of(state, view)
        fault = _fault(step["fault"], max(0, step["until"] - view.now_us))
        trouble = Trouble(fault, view, view.intent.level, absent=True, moves=moves)
        return self._resume(state, step, trouble, standing_of(step))

    def _ambiguous(self, state: State, step: State, trouble: Trouble) -> tuple[State, Decision]:
        """It went out, and no answer came: it may have landed (boundary 2 of §3.5)."""
        fault, view = trouble.fault, trouble.view
        state, decision = moved(state, view, step, _S.UNKNOWN, Action.RECONCILE, fault.evidence)
        trouble = _with(trouble, decision.moves)
        if trouble.level is _R3:
            return self._person(state, trouble, "irreversible and unknown")
        if not (view.can_reconcile and self._means.kit.equipment.query):
            return self._person(state, trouble, "outcome unknown, and the world cannot be asked")
        return state, self._means.decision(
            state, trouble, Action.RECONCILE, "outcome unknown", moves=decision.moves
        )

    def ask_again(self, state: State, view: StepView, fault: Fault) -> tuple[State, Decision]:
        """The query failed: again while it is affordable, then a person."""
        step = step_of(state, view)
        trouble = Trouble(fault, view, SideEffect.READ)
        asked = step["asked"] + 1
        if asked < self._means.policy_of(view.target).reconcile_attempts:
            again = self._retry_in(state, step, trouble, fault.retry_after_us or 0)
            if again is not None:
                state, decision = again
                state = with_step(state, state["step"], asked=asked)
                return state, self._means.decision(
                    state, trouble, Action.RECONCILE, "the query failed",
                    delay_us=decision.delay_us, debit=decision.debit,
                )  # fmt: skip
        return self._person(state, trouble, "the world cannot be asked")

    # -- what the class asks for -------------------------------------------------------------------

    def _resume(
        self, state: State, step: State, trouble: Trouble, standing: Standing
    ) -> tuple[State, Decision]:
        """Nothing can land twice here: the class decides (table 2). `standing`: the step's."""
        fault, view = trouble.fault, trouble.view
        if may_repair(fault, standing, trouble.status) and view.intent.channel is _TOOL:
            if self._left_open(state, step, trouble):
                return self._ambiguous(state, step, trouble)
            mended = self._repair(state, step, trouble)
            if mended is not None:
                return mended
        if fault.fault_class is _T6:
            shorter = self._compress(state, step, trouble)
            if shorter is not None:
                return shorter
        if fault.fault_class in _OTHER_TARGET:
            rung = self._means.rung(state, step, trouble)
            if rung is not None:
                return self.take(state, view, rung, fault, trouble.moves)
            if not self._means.policy.next_rung:
                trouble = self._otherwise(step, trouble)
                step = {**step, "waited": True}
        again = self.retry(state, step, trouble, standing)
        return self._below(state, step, trouble) if again is None else again

    def _compress(
        self, state: State, step: State, trouble: Trouble
    ) -> tuple[State, Decision] | None:
        """A shorter context, once, and the call again with it (table 2, T6)."""
        view, means = trouble.view, self._means
        if step["compressed"] or not means.may_compress(view):
            return None
        if not means.affords(state, step, trouble):
            return None
        shorter = after_compression(standing_of(step))
        state = means.charged(state, step, view.now_us, standing=kept(shorter))
        return state, means.decision(
            state, trouble, Action.COMPRESS, trouble.fault.evidence, rung=Rung.COMPRESSED, debit=1
        )

    def _otherwise(self, step: State, trouble: Trouble) -> Trouble:
        """Nothing to turn to: the class that came second is tried, or one wait (table 2, T4)."""
        fault = trouble.fault
        if fault.secondary in CLOSED:
            return trouble  # it may be that: no retry then (boundary 1 of §3.5)
        if fault.secondary is not None and fault.secondary in _WAIT_FOR:
            return _about(trouble, Fault(fault.secondary, 1.0, None, *_tail(fault)))
        if _T4 in (fault.fault_class, fault.secondary) and not step["waited"]:
            return _about(trouble, Fault(_T2, 1.0, None, *_tail(fault)))
        return trouble

    def _repair(self, state: State, step: State, trouble: Trouble) -> tuple[State, Decision] | None:
        """A bad call goes back to be mended, once, as another intent (tables 2 and 11)."""
        if not self._means.affords(state, step, trouble):
            return None
        now_us = trouble.view.now_us
        state = self._means.charged(
            state, step, now_us, standing=kept(after_repair(standing_of(step)))
        )
        return state, self._means.decision(
            state, trouble, Action.REPLAN, f"to be mended: {trouble.fault.evidence}",
            debit=1, moves=trouble.moves,
        )  # fmt: skip

    def retry(
        self, state: State, step: State, trouble: Trouble, standing: Standing
    ) -> tuple[State, Decision] | None:
        """RETRY after max(full jitter, Retry-After), or None: something speaks against it."""
        fault = trouble.fault
        policy = self._means.policy_of(trouble.view.target)
        why = stop_reason(
            fault, trouble.level, trouble.view.intent.channel, standing,
            attempts_left=1, in_time=True, sent=trouble.sent,
            absent=trouble.absent or policy.resend_unknown,
            same_class_k=policy.same_class_k,
            retry_on=policy.retry_on, never_on=policy.never_retry_on,
        )  # fmt: skip
        if why is not None:
            return None
        stated = (fault.retry_after_us or 0) if policy.respect_retry_after else 0
        return self._retry_in(state, step, trouble, stated)

    def _retry_in(
        self, state: State, step: State, trouble: Trouble, least_us: int
    ) -> tuple[State, Decision] | None:
        """RETRY no sooner than that, or None: no budget or no time."""
        view, means = trouble.view, self._means
        if not means.affords(state, step, trouble):
            return None
        policy, k, delay_us = means.policy_of(view.target), step["retries"] + 1, least_us
        most_us = ceiling_us(k, policy.base_us, policy.cap_us, policy.multiplier)
        if least_us < most_us:  # chance is only asked where it could make the wait longer
            delay_us = effective_us(int(most_us * means.u("jitter", view.step, k)), least_us)
        if not means.in_time(view, delay_us):
            return None
        state = means.charged(state, step, view.now_us, retried(step))
        return state, means.decision(
            state, trouble, _RETRY, trouble.fault.evidence,
            delay_us=delay_us, debit=1, moves=trouble.moves,
        )  # fmt: skip

    # -- the ladder --------------------------------------------------------------------------------

    def next_rung(self, state: State, view: StepView) -> Choice | None:
        """The rung below a rejected answer. A write that is in is not made again elsewhere."""
        if view.intent.level is not _READ and view.intent.channel is _TOOL:
            return None
        trouble = Trouble(Fault(_V1), view, view.intent.level)
        return self._means.rung(state, step_of(state, view), trouble)

    def take(
        self,
        state: State,
        view: StepView,
        choice: Choice,
        fault: Fault | None = None,
        moves: tuple[LedgerMove, ...] = (),
    ) -> tuple[State, Decision]:
        """Go to what the ladder offered; charged like a retry, or counted (proposition 1)."""
        assert choice.offer is not None
        assert choice.action is not None
        step = step_of(state, view)
        charge = self._means.policy.charge_rungs
        targets = [*step["targets"], view.target]
        step = {**step, "targets": targets, "rung": choice.rung}
        state = {**state, "degraded": state["degraded"] + 1}
        state = self._means.charged(state, step, view.now_us) if charge else {
            **with_step(state, step), "moves": state["moves"] + 1
        }  # fmt: skip
        trouble = Trouble(fault or Fault(_V1), view, view.intent.level)
        return state, self._means.decision(
            state, trouble, choice.action, choice.reason, substitute=choice.offer.target,
            rung=choice.rung, debit=int(charge), moves=moves,
        )  # fmt: skip

    def _below(self, state: State, step: State, trouble: Trouble) -> tuple[State, Decision]:
        """No retry: a rung below, the agent, a person (choose_degradation of §4.4)."""
        fault, view = trouble.fault, trouble.view
        if fault.fault_class not in CLOSED:
            rung = self._means.rung(state, step, trouble, exhausted=True)
            if rung is not None:
                return self.take(state, view, rung, fault, trouble.moves)
            if self._left_open(state, step, trouble):
                return self._ambiguous(state, step, trouble)
            if view.intent.channel is _TOOL and self._means.hands_back:
                handed = self._hand_back(state, step, trouble)
                if handed is not None:
                    return handed
        return self._last(state, trouble, fault.evidence)

    def _hand_back(
        self, state: State, step: State, trouble: Trouble, why: str = "no retry left"
    ) -> tuple[State, Decision] | None:
        """REPLAN: the agent goes on without the answer, while the task can afford a change."""
        means, held = self._means, self._means.held(trouble)
        if state["used"] + held >= means.policy.task_retries:
            return None
        state = {**with_step(state, step), "used": state["used"] + 1}
        return state, self._means.decision(
            state, trouble, Action.REPLAN, f"{why}: {trouble.fault.evidence}",
            debit=1, moves=trouble.moves,
        )  # fmt: skip

    def _left_open(self, state: State, step: State, trouble: Trouble) -> bool:
        """An R1 write that was never answered: before others go on, the world is asked for it."""
        entry = entry_of(state, step["key"])
        return self._means.keeps(trouble) and entry is not None and entry[1] == _S.PREPARED

    def no_room(self, state: State, view: StepView) -> tuple[State, Decision]:
        """The context could not be made shorter."""
        trouble = Trouble(Fault(_F.CONTEXT_OVERFLOW, evidence="it cannot be made shorter"), view,
                          view.intent.level)  # fmt: skip
        return self._below(state, step_of(state, view), trouble)

    # -- a rejected answer (paper §4.6) ------------------------------------------------------------

    def may_resample(self, state: State, view: StepView) -> bool:
        """Can the call be made again at all? A write that was answered is in, and cannot."""
        if view.intent.level is not _READ and view.intent.channel is _TOOL:
            return False
        trouble = Trouble(Fault(_V1), view, view.intent.level)
        return self._means.affords(state, step_of(state, view), trouble) and self._means.in_time(
            view, 0
        )

    def resample(self, state: State, view: StepView, verdict: Verdict) -> tuple[State, Decision]:
        """Once more, because the verdict says something new."""
        step = step_of(state, view)
        fault = Fault(_V1, evidence="; ".join(verdict.reasons)[:200])
        state = self._means.charged(state, step, view.now_us, retried(step))
        trouble = Trouble(fault, view, view.intent.level)
        return state, self._means.decision(
            state, trouble, Action.RETRY, "rejected, with reasons", debit=1
        )

    def unaccepted(
        self, state: State, view: StepView, verdict: Verdict, new: bool
    ) -> tuple[State, Decision]:
        """Neither a retry nor a rung is open: the agent is told what was found, or a person.

        A write that was rejected is in all the same: asked for anew, it is looked for first.
        """
        step = step_of(state, view)
        evidence = "; ".join(verdict.reasons)[:200]
        trouble = Trouble(Fault(_V1, evidence=evidence), view, view.intent.level)
        told = not verdict.passed and new and view.intent.channel is _TOOL
        if told and self._means.hands_back:
            handed = self._hand_back(state, step, trouble, "not accepted")
            if handed is not None:
                state, decision = handed
                if self._means.keeps(trouble):
                    state = {**state, "ahead": [*state["ahead"], step["key"]]}
                return state, decision
        return self._last(state, trouble, f"not accepted: {evidence or 'quality'}")

    def _last(self, state: State, trouble: Trouble, reason: str) -> tuple[State, Decision]:
        """A person, where there is one for this (see `Kit`); else the task has failed."""
        if self._means.kit.has_person_for(trouble.fault.fault_class):
            return self._person(state, trouble, reason)
        state = ended(state, Ended.UNRECOVERABLE)
        return state, self._means.decision(state, trouble, Action.FAIL, reason, moves=trouble.moves)

    def _person(self, state: State, trouble: Trouble, reason: str) -> tuple[State, Decision]:
        """ESCALATE: no automatic move is safe, allowed or affordable."""
        state = ended(state, _WAITING)
        return state, self._means.decision(
            state, trouble, Action.ESCALATE, reason, moves=trouble.moves
        )


def _told(fault: Fault) -> list[Any]:
    """A fault as JSON has it, without the wait (which is kept as a time)."""
    return [fault.fault_class, fault.confidence, fault.secondary, fault.evidence, fault.repairable]


def _fault(kept: list[Any] | None, wait_us: int) -> Fault:
    """The fault of the step's last failed attempt; a lost answer where none is known of."""
    if kept is None:
        return Fault(_F.TIMEOUT, evidence="the world does not have it")
    secondary = None if kept[2] is None else _F(kept[2])
    return Fault(_F(kept[0]), kept[1], secondary, wait_us, kept[3], kept[4])


def _tail(fault: Fault) -> tuple[int | None, str]:
    return fault.retry_after_us, fault.evidence


def _about(trouble: Trouble, fault: Fault) -> Trouble:
    view, level, status = trouble.view, trouble.level, trouble.status
    return Trouble(fault, view, level, status, trouble.sent, trouble.absent, trouble.moves)


def _with(trouble: Trouble, moves: tuple[LedgerMove, ...]) -> Trouble:
    view, level, status = trouble.view, trouble.level, trouble.status
    return Trouble(trouble.fault, view, level, status, trouble.sent, trouble.absent, moves)
