"""HFR's single decisions, row by row (paper §4.3 to §4.9)."""

from dataclasses import replace
from typing import Any

import pytest

from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Finishing,
    Intent,
    Observation,
    Prepared,
    Proposed,
    Reconciled,
    StepView,
)
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, Channel, FaultClass, Landed, LedgerState, Rung, SideEffect
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import fine, lost, refused

FULL = Equipment(ledger=True, query=True, ladder=True)
KIT = Kit(equipment=FULL, substitutes={"m": ("backup",)}, chance_key=("s", "t", 1))
S = LedgerState


def view(level: SideEffect | None = None, step: int = 1, **fields: Any) -> StepView:
    """A model step, or a tool step of a level."""
    channel = Channel.MODEL if level is None else Channel.TOOL
    intent = Intent("i", channel, "m", level or SideEffect.READ, "d", f"key{step}", "stepless")
    plain = StepView(step, intent, "p", "m", 1, 0, 600_000_000, can_reconcile=True)
    return replace(plain, **fields)


class Led:
    """A strategy led through events; remembers its state."""

    def __init__(self, kit: Kit = KIT, **config: Any) -> None:
        self.strategy = Hfr(config, kit)
        self.state = self.strategy.begin()

    def propose(self, at: StepView) -> Decision:
        return self._ask(Proposed(at))

    def attempt(self, at: StepView, seen: Observation) -> Decision:
        return self._ask(Attempted(at, seen))

    def reconcile(self, at: StepView, landed: Landed, seen: Observation | None = None) -> Decision:
        return self._ask(Reconciled(at, seen or fine(), landed))

    def compress(self, at: StepView, done: bool) -> Decision:
        return self._ask(Compressed(at, done))

    def prepare(self, at: StepView, seen: Observation) -> Decision:
        return self._ask(Prepared(at, seen))

    def _ask(self, event: Any) -> Decision:
        self.state, decision = self.strategy.decide(self.state, event)
        return decision


def moved(decision: Decision) -> list[LedgerState]:
    return [move.to for move in decision.moves]


@pytest.mark.parametrize(
    "equipment",
    [FULL, Equipment(), Equipment(ledger=True), Equipment(ledger=True, query=True)],
    ids=["full", "bare", "ledger", "ledger+query"],
)
@pytest.mark.parametrize("config", [{}, {"retries_per_step": 0}, {"retries_per_task": 2}], ids=str)
def test_hfr_keeps_the_rules_of_its_socket(equipment: Equipment, config: dict[str, int]) -> None:
    kit = replace(KIT, equipment=equipment)
    check_strategy(lambda: Hfr(config, kit), walks=60, safe=equipment.ledger)


def test_a_read_and_a_model_call_are_retried_with_backoff() -> None:
    for level in (None, SideEffect.READ):
        decision = Led().attempt(view(level), refused(500))
        assert (decision.action, decision.debit, decision.moves) == (Action.RETRY, 1, ())
        assert 0 <= decision.delay_us < 200_000
        assert decision.budget.step_left == 2
        assert decision.budget.task_left == 9


def test_backoff_grows_and_is_the_same_on_every_run() -> None:
    delays = []
    for _ in range(2):
        led = Led(base_delay_ms=1000, max_delay_ms=60_000, retries_per_step=6)
        delays.append([led.attempt(view(), refused(500)).delay_us for _ in range(6)])
    assert delays[0] == delays[1]
    assert all(delay < 2**k * 1_000_000 for k, delay in enumerate(delays[0]))
    assert max(delays[0]) > 1_000_000


def test_a_stated_wait_is_kept() -> None:
    assert Led().attempt(view(), refused(429, retry_after="5")).delay_us >= 5_000_000


def test_a_stated_wait_survives_the_reconcile_in_between() -> None:
    led, write = Led(), view(SideEffect.QUERYABLE)
    led.propose(write)
    assert led.attempt(write, refused(429, retry_after="5")).action is Action.RECONCILE
    later = replace(write, now_us=1_000_000)
    decision = led.reconcile(later, Landed.ABSENT)
    assert decision.action is Action.RETRY
    assert decision.delay_us >= 4_000_000


@pytest.mark.parametrize("seen", [refused(400), refused(401), refused(403)], ids=str)
@pytest.mark.parametrize("level", [None, *SideEffect])
def test_what_no_retry_clears_is_not_retried(level: SideEffect | None, seen: Observation) -> None:
    led, at = Led(), view(level)
    led.propose(at)
    decision = led.attempt(at, seen)
    mended = seen.status == 400 and level not in (None, SideEffect.IRREVERSIBLE)
    if level is SideEffect.QUERYABLE or (mended and level is SideEffect.IDEMPOTENT):
        assert decision.action is Action.RECONCILE
        decision = led.reconcile(at, Landed.ABSENT)
    wanted = (Action.REPLAN, 1) if mended else (Action.ESCALATE, 0)
    assert (decision.action, decision.debit) == wanted


def test_a_bad_call_is_mended_once() -> None:
    led, read = Led(), view(SideEffect.READ)
    assert led.attempt(read, refused(400)).action is Action.REPLAN
    assert led.attempt(read, refused(400)).action is Action.ESCALATE


def test_a_refusal_goes_to_a_person() -> None:
    seen = refused(400, '{"error": {"code": "content_policy_violation"}}')
    assert Led().attempt(view(), seen).action is Action.ESCALATE


def test_a_context_that_is_too_long_is_made_shorter_once() -> None:
    seen = refused(400, '{"error": {"code": "context_length_exceeded"}}')
    led = Led()
    assert led.attempt(view(), seen).action is Action.COMPRESS
    assert led.compress(view(), done=True).action is Action.DISPATCH
    assert led.attempt(view(), seen).action is not Action.COMPRESS
    led = Led()
    led.attempt(view(), seen)
    assert led.compress(view(), done=False).action is Action.ESCALATE
    bare = replace(KIT, equipment=FULL.model_copy(update={"ladder": False}))
    assert Led(bare).attempt(view(), seen).action is Action.ESCALATE


def test_a_context_that_would_be_too_long_is_made_shorter_before() -> None:
    led = Led()
    assert led.propose(view(tokens=900, context_left=0)).action is Action.COMPRESS
    assert led.propose(view(tokens=900, context_left=0)).action is Action.DISPATCH
    assert Led().propose(view(tokens=900, context_left=100)).action is Action.DISPATCH


def test_an_overloaded_model_is_left_for_its_equal_once() -> None:
    led = Led()
    first = led.attempt(view(), refused(529))
    assert (first.action, first.substitute, first.rung) == (
        Action.DEGRADE_MODEL,
        "backup",
        Rung.SAME_TIER,
    )
    assert first.debit == 1
    again = led.attempt(view(target="backup"), refused(529))
    assert again.action is Action.RETRY


def test_without_a_ladder_an_overloaded_model_is_waited_for() -> None:
    kit = replace(KIT, substitutes={})
    assert Led(kit).attempt(view(), refused(529)).action is Action.RETRY


def test_an_overloaded_tool_has_no_equal_model() -> None:
    decision = Led().attempt(view(SideEffect.READ), refused(529))
    assert decision.action is Action.RETRY


def test_a_write_is_written_down_before_it_goes_out() -> None:
    led, write = Led(), view(SideEffect.QUERYABLE)
    decision = led.propose(write)
    assert (decision.action, moved(decision)) == (Action.DISPATCH, [S.PREPARED])
    assert moved(led.attempt(write, fine())) == [S.COMMITTED]


def test_a_domain_error_is_an_answer_and_a_failed_entry() -> None:
    led, write = Led(), view(SideEffect.QUERYABLE)
    led.propose(write)
    decision = led.attempt(write, fine(domain_error=True))
    assert (decision.action, moved(decision)) == (Action.ACCEPT, [S.FAILED])


def test_an_accumulating_write_is_preceded_by_a_read() -> None:
    led, write = Led(), view(SideEffect.QUERYABLE, needs_before=True)
    decision = led.propose(write)
    assert (decision.action, decision.prepare, decision.moves) == (Action.DISPATCH, True, ())
    decision = led.prepare(write, lost())
    assert (decision.action, decision.debit) == (Action.RETRY, 1)
    assert led.propose(write).prepare
    assert moved(led.prepare(write, fine())) == [S.PREPARED]


def test_a_before_read_that_cannot_be_had_is_gone_without() -> None:
    led, write = Led(retries_per_step=0), view(SideEffect.QUERYABLE, needs_before=True)
    led.propose(write)
    decision = led.prepare(write, lost())
    assert (decision.action, decision.prepare, moved(decision)) == (
        Action.DISPATCH,
        False,
        [S.PREPARED],
    )


def test_r1_is_sent_again_under_the_same_entry() -> None:
    led, write = Led(), view(SideEffect.IDEMPOTENT)
    led.propose(write)
    decision = led.attempt(write, lost())
    assert (decision.action, decision.moves) == (Action.RETRY, ())
    assert led.propose(write).moves == ()
    assert moved(led.attempt(write, fine())) == [S.COMMITTED]


def test_r2_asks_the_world_before_anything_else() -> None:
    led, write = Led(), view(SideEffect.QUERYABLE)
    led.propose(write)
    decision = led.attempt(write, lost())
    assert (decision.action, moved(decision)) == (Action.RECONCILE, [S.UNKNOWN])
    absent = led.reconcile(write, Landed.ABSENT)
    assert (absent.action, moved(absent)) == (Action.RETRY, [S.RECONCILED_ABSENT])
    assert moved(led.propose(write)) == [S.PREPARED]
    led.attempt(write, lost())
    there = led.reconcile(write, Landed.COMMITTED)
    assert (there.action, moved(there)) == (Action.ACCEPT, [S.RECONCILED_COMMITTED])


def test_r2_that_never_left_us_failed() -> None:
    led, write = Led(), view(SideEffect.QUERYABLE)
    led.propose(write)
    decision = led.attempt(write, lost("ConnectError", sent=False))
    assert (decision.action, moved(decision)) == (Action.RETRY, [S.FAILED])
    assert moved(led.propose(write)) == [S.PREPARED]


def test_what_the_world_cannot_say_goes_to_a_person() -> None:
    for equipment, contracted in ((Equipment(ledger=True), True), (FULL, False)):
        write = view(SideEffect.QUERYABLE, can_reconcile=contracted)
        led = Led(replace(KIT, equipment=equipment))
        led.propose(write)
        decision = led.attempt(write, lost())
        assert (decision.action, moved(decision)) == (Action.ESCALATE, [S.UNKNOWN])
    led, write = Led(), view(SideEffect.QUERYABLE)
    led.propose(write)
    led.attempt(write, lost())
    assert led.reconcile(write, Landed.UNKNOWN).action is Action.ESCALATE


def test_a_query_that_fails_is_asked_again_while_affordable() -> None:
    led, write = Led(retries_per_step=1), view(SideEffect.QUERYABLE)
    led.propose(write)
    led.attempt(write, lost())
    again = led.reconcile(write, Landed.UNKNOWN, refused(503))
    assert (again.action, again.debit) == (Action.RECONCILE, 1)
    assert led.reconcile(write, Landed.UNKNOWN, refused(503)).action is Action.ESCALATE


@pytest.mark.parametrize("seen", [lost(), refused(503), refused(429)], ids=str)
def test_r3_is_never_sent_again(seen: Observation) -> None:
    led, write = Led(), view(SideEffect.IRREVERSIBLE)
    led.propose(write)
    decision = led.attempt(write, seen)
    assert (decision.action, moved(decision)) == (Action.ESCALATE, [S.UNKNOWN])


def test_budgets_of_step_and_task_are_both_kept() -> None:
    led = Led(retry={"max_attempts_per_step": 3, "max_retries_per_task": 5})
    actions = [
        led.attempt(view(SideEffect.READ, step), refused(500)).action for step in (1, 1, 1, 2, 2)
    ]
    retry, replan = Action.RETRY, Action.REPLAN
    assert actions == [retry, retry, replan, retry, Action.ESCALATE]


def test_a_model_step_without_retries_left_is_escalated_not_replanned() -> None:
    led = Led(retries_per_step=0)
    assert led.attempt(view(), refused(500)).action is Action.ESCALATE


def test_a_retry_that_would_come_too_late_is_not_made() -> None:
    led = Led()
    late = view(SideEffect.READ, now_us=599_000_000)
    assert led.attempt(late, refused(500)).action is Action.REPLAN
    assert led.attempt(view(), refused(429, retry_after="900")).action is Action.ESCALATE


def test_a_write_asked_for_anew_meets_its_unresolved_twin() -> None:
    led = Led(retries_per_step=0)
    first = view(SideEffect.IDEMPOTENT)
    led.propose(first)
    assert led.attempt(first, lost()).action is Action.RECONCILE
    assert led.reconcile(first, Landed.ABSENT).action is Action.REPLAN
    led = Led()
    led.propose(first)
    led.attempt(first, lost())
    second = view(SideEffect.IDEMPOTENT, step=2)
    assert led.propose(second).reason == "idempotent: same key again"
    decision = led.attempt(second, fine())
    assert [move.key for move in decision.moves] == ["key1"]


def test_nothing_unresolved_is_accepted_at_the_end() -> None:
    led = Led(retries_per_step=0)
    write = view(SideEffect.IDEMPOTENT)
    led.propose(write)
    led.attempt(write, lost())
    assert led._ask(Finishing(0, 1)).action is Action.ESCALATE
    assert Led()._ask(Finishing(0, 1)).action is Action.ACCEPT


def test_decisions_name_what_they_believe() -> None:
    decision = Led().attempt(view(), refused(429, retry_after="5"))
    assert decision.fault is not None
    assert decision.fault.fault_class is FaultClass.RATE_LIMIT
    assert decision.fault.retry_after_us == 5_000_000


def test_a_known_plan_shares_the_tasks_retries_out() -> None:
    """Weights 0, 1, 1 of ten retries, one kept for the last step (paper §4.8)."""
    kit = replace(KIT, equipment=Equipment(), weights=(0.0, 1.0, 1.0))
    more = {"max_attempts_per_step": 9, "max_retries_per_task": 10, "same_class_k": 99}
    made = []
    for step in (1, 2, 3):
        led, at, retries = Led(kit, retry=more), view(None, step), 0
        while led.attempt(at, refused(500)).action is Action.RETRY:
            retries += 1
        made.append(retries)
    assert made == [0, 4, 5]
