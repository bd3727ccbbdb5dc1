"""The controller (paper §4.1, §4.9): classify, check, decide; verify before accepting.

Every road through it ends in one of table 9's states (`machine`). What a class asks for is decided
in `choices`; what is known of the step at hand and of every write is kept in `memory`. Here is only
what each event means:

    Proposed -> may it go out?     breaker, budget, deadline, ledger, a person's word for R3
    Attempted -> what came back?   flaw or fault -> `choices`; a good answer -> verify -> accept
    Reconciled -> did it land?     in: accept; not there, and settled: decide on; unknown: a person
    Verified -> is it good?        paper §4.6: accept, retry with new evidence, degrade, escalate
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Fault,
    Finishing,
    GoalChanged,
    Observation,
    Prepared,
    Proposed,
    Receipt,
    Reconciled,
    Restored,
    StepView,
    StrategyEvent,
    Verdict,
    Verified,
)
from hfr_bench.model.terms import (
    Action,
    Channel,
    CheckLevel,
    Criticality,
    Landed,
    LedgerState,
    Rung,
    SideEffect,
)
from hfr_bench.recovery import between, breaker
from hfr_bench.recovery.acceptance import Outcome, decide_after, is_new, level_for, strongest
from hfr_bench.recovery.choices import Choices
from hfr_bench.recovery.classify import classify, flaw
from hfr_bench.recovery.config import HfrConfig
from hfr_bench.recovery.guarded import told, unavailable
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.ledger import is_settled
from hfr_bench.recovery.means import Means, Trouble
from hfr_bench.recovery.memory import (
    ACCEPT,
    DISPATCH,
    OVER,
    Ended,
    State,
    begun,
    ended,
    entry_of,
    given_before,
    hand_over,
    is_open,
    moved,
    rejected,
    standing_of,
    step_of,
    with_step,
)
from hfr_bench.recovery.settings import Deployment

# Looked up once: a member of an enum costs ten times a global.
_MODEL, _TOOL = Channel.MODEL, Channel.TOOL
_READ, _R1, _R3 = SideEffect.READ, SideEffect.IDEMPOTENT, SideEffect.IRREVERSIBLE
_DISPATCH, _L0, _WELL = Action.DISPATCH, Rung.NORMAL, breaker.Heard.OK
_S, _PREPARED, _COMMITTED = LedgerState, LedgerState.PREPARED, LedgerState.COMMITTED
_IN = (_COMMITTED, _S.RECONCILED_COMMITTED)
_V0, _V3 = CheckLevel.TRANSPORT, CheckLevel.AUTHORITY
_BROKE = Decision(Action.ESCALATE, "the task's budget does not cover another action")
_OF_A_STEP = (Prepared, Attempted, Reconciled, Verified, Compressed)


class _Checks(dict[tuple[CheckLevel, ...], Decision]):
    """What is done about an answer, by the levels offered for it: few, and nothing else counts."""

    def __init__(self, make: Callable[[tuple[CheckLevel, ...]], Decision]) -> None:
        self._make = make

    def __missing__(self, offered: tuple[CheckLevel, ...]) -> Decision:
        made = self[offered] = self._make(offered)
        return made


class Controller:
    """HFR as a strategy: pure, its state JSON-serialisable (see `memory.begun`).

    `config`: the paper's YAML (§5.2), read by `HfrConfig.preset`. Raises ValueError for a setting
    that it does not know.
    """

    preset = "hfr"

    def __init__(self, config: Mapping[str, Any], kit: Kit) -> None:
        self._kit = kit
        self._means = Means(HfrConfig.preset(self.preset, config), kit)
        self._choices = Choices(self._means)
        self._policy = self._means.policy
        self._keeps_ledger = self._policy.ledger_on and kit.equipment.ledger
        self._breaker_on = self._policy.breaker_on
        self._floor = max(self._policy.floors[kit.criticality], kit.quality_floor)
        self._checks = {rung: _Checks(partial(self._check, rung)) for rung in Rung}
        self._on: Mapping[type, Callable[[State, Any], tuple[State, Decision]]] = {
            Proposed: self._proposed,
            Prepared: self._prepared,
            Attempted: self._attempted,
            Reconciled: self._reconciled,
            Verified: self._verified,
            Compressed: self._compressed,
            Finishing: between.finishing,
            Restored: between.restored,
            Receipt: between.receipt,
            GoalChanged: between.goal_changed,
        }

    def begin(self) -> State:
        return begun(self._means.left)

    @property
    def deployment(self) -> Deployment:
        """How far this configuration lets the controller act (paper §5.6)."""
        return self._means.config.deployment

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        """The decision; where the controller itself fails, that of §4.1 (fail-open or closed)."""
        if state["stop"] and type(event) in _OF_A_STEP:
            return state, OVER  # done absorbs what comes late (second seed)
        try:
            return self._on[type(event)](state, event)
        except Exception as error:  # noqa: BLE001 - any defect of ours is met here
            high, wrote = self._kit.criticality is Criticality.HIGH, bool(state["ledger"])
            return state, unavailable(event, told(error), high=high, wrote=wrote)

    # -- before the act -----------------------------------------------------------------------

    def _proposed(self, state: State, event: Proposed) -> tuple[State, Decision]:
        view = event.view
        if view.goal_version > state["goal"]:  # changed before a crash that made us forget it
            state, _ = between.goal_changed(state, GoalChanged(view.now_us, view.goal_version))
        if state["stop"]:
            return state, OVER
        intent = view.intent
        if state["shut"]:
            shut = self._means.shut(state["breakers"], intent.channel, view.target, view.now_us)
            if shut:
                return self._choices.shut_out(state, view, shut)
            state = self._means.let_out(state, view)
        if view.context_left == 0 and intent.channel is _MODEL:
            step = step_of(state, view)
            if not step["compressed"] and self._means.may_compress(view):
                return with_step(state, step, compressed=True), Decision(
                    Action.COMPRESS, "longer than the model takes", rung=Rung.COMPRESSED
                )
        if state["left"] is not None:
            admitted = self._means.admitted(state, view)
            if admitted is None:
                return ended(state, Ended.BUDGET), _BROKE
            state = admitted
        if intent.level is _READ or intent.channel is _MODEL or not self._keeps_ledger:
            return state, DISPATCH
        return self._write(state, view)

    def _write(self, state: State, view: StepView) -> tuple[State, Decision]:
        """A write is written down before it goes out; an unresolved twin is settled first."""
        step, level = step_of(state, view), view.intent.level
        if view.now_us > view.deadline_us:
            return ended(state, Ended.BUDGET), Decision(
                Action.ESCALATE, "the deadline is past: no more writes"
            )
        entry = entry_of(state, step["key"])
        if entry is not None and is_open(entry):
            return self._twin(state, view, step, entry)
        if entry is not None and entry[1] in _IN:
            return self._found(state, view, step)
        if level is _R3 and not step["confirmed"] and self._wants_a_person(view):
            return with_step(state, step), Decision(
                Action.VERIFY, "irreversible: a person is asked before", check=_V3
            )
        if view.needs_before and self._kit.equipment.query and not step["before"]:
            return with_step(state, step, before=True), Decision(
                Action.DISPATCH, "read before an accumulating write", prepare=True
            )
        return moved(state, view, step, _PREPARED, _DISPATCH)

    def _twin(
        self, state: State, view: StepView, step: State, entry: list[Any]
    ) -> tuple[State, Decision]:
        """The same write is under way or unresolved (boundary 2 of §3.5).

        R1 goes again under its key; the world is asked about others.
        """
        level = view.intent.level
        if entry[1] == _S.PREPARED and level is _R1 and not self._expired(entry, view):
            return with_step(state, step, twice=True), Decision(
                Action.DISPATCH, "idempotent: same key again", key=step["key"]
            )
        if entry[1] == _S.PREPARED:
            state, decision = moved(
                state, view, step, _S.UNKNOWN, Action.RECONCILE, "sent before, and not answered"
            )
            if level is not _R3 and self._can_ask(view):
                return state, decision
            return hand_over(state, "sent before, not answered", decision.moves)
        if level is not _R3 and self._can_ask(view):
            return with_step(state, step), Decision(
                Action.RECONCILE, "the same write is still unresolved"
            )
        return hand_over(state, "the same write is unresolved, and the world cannot be asked")

    def _found(self, state: State, view: StepView, step: State) -> tuple[State, Decision]:
        """Back from a crash, the ledger has the write that the agent asks for anew: it is in."""
        state = {**state, "ahead": [key for key in state["ahead"] if key != step["key"]]}
        if self._can_ask(view):
            return with_step(state, step, found=True), Decision(
                Action.RECONCILE, "in already, before the crash: its answer is read back"
            )
        return state, Decision(Action.ACCEPT, "in already, before the crash")

    def _prepared(self, state: State, event: Prepared) -> tuple[State, Decision]:
        """The before-read failed: again while it is affordable, then without it."""
        view, step = event.view, step_of(state, event.view)
        if not event.observation.answered:
            fault = classify(_TOOL, event.observation)
            trouble = Trouble(fault, view, _READ)
            again = self._choices.retry(state, step, trouble, standing_of(step))
            if again is not None:
                state, decision = again
                return with_step(state, state["step"], before=False), decision
        return moved(state, view, step, _S.PREPARED, Action.DISPATCH)

    # -- after it -----------------------------------------------------------------------------

    def _attempted(self, state: State, event: Attempted) -> tuple[State, Decision]:
        view, seen = event.view, event.observation
        intent = view.intent
        channel = intent.channel
        if state["left"] is not None:
            state = self._means.settled(state, seen)
        if not seen.answered:
            return self._failed(state, view, seen, classify(channel, seen))
        wrote = state["wrote"]
        wrong = flaw(channel, seen, after_write=wrote)
        if wrong is not None:
            return self._failed(state, view, seen, wrong)
        if self._breaker_on:
            state = self._means.heard(state, view, _WELL, seen.latency_us)
        if intent.level is not _READ and channel is not _MODEL and self._keeps_ledger:
            return self._written(state, view, seen)
        if seen.domain_error:
            return state, ACCEPT
        if wrote if channel is _MODEL else intent.level is not _READ:
            state = {**state, "wrote": channel is not _MODEL}
        step = state["step"]
        rung = step["rung"] if step is not None and step["n"] == view.step else _L0
        return state, self._checks[rung][view.can_verify]

    def _written(self, state: State, view: StepView, seen: Observation) -> tuple[State, Decision]:
        """A write was answered."""
        step = step_of(state, view)
        if seen.domain_error:  # of a repeat it may say that the first one is in
            if step["twice"] and self._can_ask(view):
                why = "refused when repeated"
                return moved(state, view, step, _S.UNKNOWN, Action.RECONCILE, why)
            return moved(state, view, step, _S.FAILED, Action.ACCEPT)
        check = self._checks[step["rung"]][view.can_verify]
        state, decision = moved(state, view, step, _COMMITTED, check.action, check=check.check)
        state["wrote"] = True
        return state, decision

    def _failed(
        self, state: State, view: StepView, seen: Observation, fault: Fault
    ) -> tuple[State, Decision]:
        if self._breaker_on:
            heard = breaker.heard(fault.fault_class)
            state = self._means.heard(state, view, heard, seen.latency_us)
        else:
            state = state.copy()
        trouble = Trouble(fault, view, view.intent.level, seen.status, seen.sent)
        return self._choices.of_failure(state, trouble)

    def _compressed(self, state: State, event: Compressed) -> tuple[State, Decision]:
        view, step = event.view, step_of(state, event.view)
        if event.done:
            state = with_step(state, step, compressed=True, rung=Rung.COMPRESSED)
            state = {**state, "degraded": state["degraded"] + 1}
            admitted = state if state["left"] is None else self._means.admitted(state, view)
            if admitted is None:
                return ended(state, Ended.BUDGET), _BROKE
            return admitted, DISPATCH
        state = with_step(state, step, compressed=True)
        return self._choices.no_room(state, view)

    def _reconciled(self, state: State, event: Reconciled) -> tuple[State, Decision]:
        view, step = event.view, step_of(state, event.view)
        if step["found"] and event.landed is not Landed.ABSENT:
            return state, Decision(Action.ACCEPT, "the ledger has it")
        if step["found"]:
            return hand_over(state, "the ledger has it and the world does not")
        if event.landed is Landed.COMMITTED:
            state, decision = moved(
                state, view, step, _S.RECONCILED_COMMITTED, Action.ACCEPT, "the world has it"
            )
            state["wrote"] = True
            return state, decision
        if event.landed is Landed.ABSENT:
            return self._absent(state, view, step)
        if event.observation.answered:
            return hand_over(state, "reconcile undecided")
        return self._choices.ask_again(state, view, classify(_TOOL, event.observation))

    def _absent(self, state: State, view: StepView, step: State) -> tuple[State, Decision]:
        """Not there: authoritative only after the settle window (appendix D, proposition 3)."""
        since = step["absent_at"] if step["absent_at"] is not None else view.now_us
        wait_us = self._policy.settle_us
        if not is_settled(since, view.now_us, wait_us):
            state = with_step(state, step, absent_at=since)
            return state, Decision(
                Action.RECONCILE,
                "not there yet: asked again once it must be",
                delay_us=since + wait_us - view.now_us,
            )
        # What is sent again may be late again: the next absence is waited for anew.
        step = {**step, "absent_at": None, "twice": False}
        state, decision = moved(state, view, step, _S.RECONCILED_ABSENT, Action.RETRY)
        return self._choices.of_absence(state, view, decision.moves)

    def _verified(self, state: State, event: Verified) -> tuple[State, Decision]:
        view, verdict, floor = event.view, event.verdict, self._floor
        if verdict.passed and (verdict.quality >= floor or self._no_worse(state, view, verdict)):
            if view.intent.level is not _R3:
                return state, ACCEPT
            return self._approved(state, view) if self._is_before(state, view) else (state, ACCEPT)
        step = step_of(state, view)
        if self._is_before(state, view):
            return hand_over(state, "a person refused: " + "; ".join(verdict.reasons))
        new = is_new(verdict.reasons, given_before(step))
        step = rejected(step, verdict)
        state = with_step(state, step)
        can_retry = self._choices.may_resample(state, view)
        rung = self._choices.next_rung(state, view)
        outcome = decide_after(verdict, floor, can_retry, new, rung is not None)
        outcome = outcome.settled(rung is not None)
        if outcome is Outcome.RETRY:
            return self._choices.resample(state, view, verdict)
        if outcome is Outcome.DEGRADE and rung is not None:
            return self._choices.take(state, view, rung)
        return self._choices.unaccepted(state, view, verdict, new)

    def _approved(self, state: State, view: StepView) -> tuple[State, Decision]:
        """A person agreed to what cannot be undone: now it is written down, and goes out."""
        step = {**step_of(state, view), "confirmed": True}
        return self._write(with_step(state, step), view)

    # -- small questions ------------------------------------------------------------------------

    def _check(self, rung: Rung, offered: tuple[CheckLevel, ...]) -> Decision:
        """VERIFY at the level that the step wants and is offered, or ACCEPT: V0 is enough."""
        # What cannot be undone was confirmed before it went out; its answer is like any other.
        wanted = level_for(self._policy, self._kit.criticality, rung, _READ)
        best = strongest(wanted, [at for at in offered if at is not _V3 or wanted is _V3])
        return ACCEPT if best is _V0 else Decision(Action.VERIFY, check=best)

    @staticmethod
    def _no_worse(state: State, view: StepView, verdict: Verdict) -> bool:
        """A check that says nothing of quality (V0), or could not tell, where none is owed.

        What came from a rung below L0 owes the check of that rung (table 5).
        """
        if verdict.level is _V0:
            return True
        return verdict.undecided and step_of(state, view)["rung"] == Rung.NORMAL

    def _wants_a_person(self, view: StepView) -> bool:
        return self._kit.criticality in self._policy.confirm and _V3 in view.can_verify

    @staticmethod
    def _is_before(state: State, view: StepView) -> bool:
        """Is the verdict on a write that is not made yet?"""
        if view.intent.level is not _R3 or view.attempts:
            return False
        step = step_of(state, view)
        return entry_of(state, step["key"]) is None and not step["confirmed"]

    def _can_ask(self, view: StepView) -> bool:
        return view.can_reconcile and self._kit.equipment.query

    def _expired(self, entry: list[Any], view: StepView) -> bool:
        ttl_us = self._policy.key_ttl_us
        return ttl_us is not None and view.now_us >= entry[3] + ttl_us
