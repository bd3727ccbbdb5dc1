"""`exp_retry` with one thing added: what a query, or a verifier, brings by itself (DESIGN §6).

Each stands between `exp_retry` and `hfr`, so that policy is not confused with equipment.
"""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Observation,
    Prepared,
    Proposed,
    Reconciled,
    StepView,
    StrategyEvent,
    Verified,
)
from hfr_bench.model.terms import Action, Channel, CheckLevel, Landed, SideEffect
from hfr_bench.recovery.classify import retry_after_us
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.plain import ACCEPT, State, transient
from hfr_bench.recovery.strategies import ExpRetry

_V1 = CheckLevel.DETERMINISTIC


class ExpRetryReconcile(ExpRetry):
    """`exp_retry`, and a write whose answer was lost is looked for before it is sent again.

    The world has it: accept. It has not: retry, under `exp_retry`'s rules and count. It cannot
    tell, or cannot be asked: a person (an idempotent write that cannot be asked about is just
    retried). Before an accumulating write the before-read is made. These reads are calls like any
    other: they are retried in the same way. No ledger: nothing is remembered beyond the step.

    State: `step`; `reads`, the failed reads in a row; `not_before_us`, the end of a stated wait.
    Raises ValueError on construction without `equipment.query`.
    """

    name = "exp_retry+reconcile"

    def __init__(self, config: Mapping[str, Any], kit: Kit) -> None:
        super().__init__(config, kit)
        if not kit.equipment.query:
            raise ValueError(f"strategy {self.name!r} needs equipment.query")

    def begin(self) -> State:
        return _at(0)

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if isinstance(event, Attempted) and not event.observation.answered:
            return self._failed(state, event)
        if isinstance(event, Proposed):
            return self._proposed(state, event.view)
        if isinstance(event, Prepared):
            return self._prepared(state, event)
        if isinstance(event, Reconciled):
            return self._reconciled(state, event)
        return super().decide(state, event)

    def _proposed(self, state: State, view: StepView) -> tuple[State, Decision]:
        if view.needs_before and not view.attempts:
            given_up = state["step"] == view.step and state["reads"] > self._config["retries"]
            if not given_up:
                return state, Decision(Action.DISPATCH, "read before the write", prepare=True)
        return state, self.on_proposed(view)

    def _prepared(self, state: State, event: Prepared) -> tuple[State, Decision]:
        view, seen = event.view, event.observation
        if seen.answered:
            return _at(view.step), self.on_proposed(view)
        reads = _reads(state, view) + 1
        if transient(seen) and reads <= self._config["retries"]:
            decision = self.again(view, reads, retry_after_us(seen))
        else:
            reads, decision = self._config["retries"] + 1, self.on_proposed(view)
        return _at(view.step, reads), decision

    def _failed(self, state: State, event: Attempted) -> tuple[State, Decision]:
        view, seen = event.view, event.observation
        if not view.intent.level.writes or not _lost(seen):
            return state, self.on_failure(event)
        if view.can_reconcile:
            told_us = view.now_us + (retry_after_us(seen) or 0)
            return _at(view.step, 0, told_us), Decision(Action.RECONCILE, "the answer was lost")
        if view.intent.level is SideEffect.IDEMPOTENT:
            return state, self.on_failure(event)
        return state, Decision(
            Action.ESCALATE, "the answer was lost, and the world cannot be asked"
        )

    def _reconciled(self, state: State, event: Reconciled) -> tuple[State, Decision]:
        view, seen = event.view, event.observation
        if event.landed is Landed.COMMITTED:
            return state, Decision(Action.ACCEPT, "the world has it")
        if event.landed is Landed.ABSENT:
            told_us = max(0, state["not_before_us"] - view.now_us)
            return _at(view.step), self.again(view, view.attempts, told_us)
        reads = _reads(state, view) + 1
        if seen.answered or not transient(seen) or reads > self._config["retries"]:
            return state, Decision(Action.ESCALATE, "the world cannot tell")
        wait_us = self.again(view, reads, retry_after_us(seen)).delay_us
        again = Decision(Action.RECONCILE, "the query failed", delay_us=wait_us, debit=1)
        return _at(view.step, reads, state["not_before_us"]), again


class ExpRetryVerifier(ExpRetry):
    """`exp_retry`, and every answer of a tool is checked at V1 where such a check is on offer.

    An answer that fails is handed back to the agent (REPLAN), once a tool until one of its answers
    passes; the next that fails goes to a person. What the tool itself declined is not checked.

    State: `handed_back`, the tools whose answer failed last. Raises ValueError on construction
    without `equipment.verifier`.
    """

    name = "exp_retry+verifier"

    def __init__(self, config: Mapping[str, Any], kit: Kit) -> None:
        super().__init__(config, kit)
        if not kit.equipment.verifier:
            raise ValueError(f"strategy {self.name!r} needs equipment.verifier")

    def begin(self) -> State:
        return {"handed_back": []}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if isinstance(event, Attempted) and event.observation.answered:
            view = event.view
            checked = view.intent.channel is Channel.TOOL and not event.observation.domain_error
            if checked and _V1 in view.can_verify:
                return state, Decision(Action.VERIFY, check=_V1)
        if isinstance(event, Verified):
            return _verified(state, event)
        return super().decide(state, event)


def _verified(state: State, event: Verified) -> tuple[State, Decision]:
    tool, handed_back = event.view.target, state["handed_back"]
    if event.verdict.passed:
        if tool in handed_back:
            state = {"handed_back": [other for other in handed_back if other != tool]}
        return state, ACCEPT
    if event.view.intent.channel is not Channel.TOOL or tool in handed_back:
        return state, Decision(Action.ESCALATE, "the answer fails its check")
    after = {"handed_back": [*handed_back, tool]}
    return after, Decision(Action.REPLAN, "the answer fails its check")


def _lost(seen: Observation) -> bool:
    """It went out, and no answer says whether it was done: none, 408, 5xx, an unreadable 2xx."""
    status = seen.status
    return seen.sent and (status is None or status in (200, 408) or status >= 500)


def _at(step: int, reads: int = 0, not_before_us: int = 0) -> State:
    return {"step": step, "reads": reads, "not_before_us": not_before_us}


def _reads(state: State, view: StepView) -> int:
    """Failed reads in a row at this step."""
    return int(state["reads"]) if state["step"] == view.step else 0
