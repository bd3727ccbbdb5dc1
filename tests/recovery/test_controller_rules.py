"""The controller's rules that no table row holds by itself: what is done when, and what never."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Finishing,
    Intent,
    Known,
    Observation,
    Proposed,
    Reconciled,
    Restored,
    StepView,
    StrategyEvent,
    Verdict,
    Verified,
)
from hfr_bench.model.prereg import Equipment
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
from hfr_bench.recovery.hfr import Hfr, HfrWithoutIdempotency
from hfr_bench.recovery.kit import Kit
from hfr_bench.testing.fakes import FakeModel, fine, lost, refused

A, S = Action, LedgerState
READ, R1, R2, R3 = SideEffect
LOW, MEDIUM, HIGH = Criticality
V0, V1, V2, V3 = CheckLevel
DEADLINE_US = 600_000_000
KIT = Kit(
    equipment=Equipment(ledger=True, query=True, ladder=True),
    substitutes={"m": ("backup",)},
    lower={"m": ("small",), "backup": ("small",)},
    chance_key=("rules",),
)


def view(level: SideEffect | None = None, step: int = 1, **fields: Any) -> StepView:
    """A model step, or a tool step of a level."""
    channel = Channel.MODEL if level is None else Channel.TOOL
    target = "m" if level is None else f"tool {level}"
    intent = Intent("i", channel, target, level or READ, "d", f"key{step}", f"stepless {level}")
    plain = StepView(step, intent, "p", target, 1, 0, DEADLINE_US, can_reconcile=level is not R3)
    return replace(plain, **fields)


class Led:
    """A strategy led through events; it remembers its state and all decisions."""

    def __init__(self, kit: Kit = KIT, arm: type[Hfr] = Hfr, **config: Any) -> None:
        self.strategy = arm(config, kit)
        self.state = self.strategy.begin()
        self.taken: list[Decision] = []

    def hear(self, event: StrategyEvent) -> Decision:
        self.state, decision = self.strategy.decide(self.state, event)
        self.taken.append(decision)
        return decision

    def send(self, at: StepView, seen: Observation) -> Decision:
        """Proposed, and then what came back."""
        self.hear(Proposed(at))
        return self.hear(Attempted(at, seen))

    def judge(self, at: StepView, passed: bool, quality: float = 1.0, *why: str) -> Decision:
        return self.hear(Verified(at, Verdict(V1, passed, quality, why)))


def actions(decisions: Sequence[Decision]) -> list[Action]:
    return [decision.action for decision in decisions]


def test_a_fault_that_nobody_knows_is_probed_once_and_at_high_criticality_not_at_all() -> None:
    odd = lost("QuantumFlux")
    led = Led()
    assert led.send(view(READ), odd).action is A.RETRY
    assert led.send(view(READ), odd).action is A.REPLAN
    assert Led(replace(KIT, criticality=HIGH)).send(view(READ), odd).action is A.ESCALATE


def test_an_unknown_fault_of_a_write_asks_the_world_whatever_it_looks_like() -> None:
    for seen in (lost("QuantumFlux"), refused(299), refused(418), refused(429), refused(403)):
        assert Led().send(view(R2), seen).action is A.RECONCILE
        assert Led().send(view(R3), seen).action is A.ESCALATE


@pytest.mark.parametrize(
    ("codes", "classes", "action"),
    [
        ('"overloaded_error", "code": "rate_limit_exceeded"', "T2 T4", A.RETRY),
        ('"rate_limit_exceeded", "code": "insufficient_quota"', "T7 T2", A.ESCALATE),
        ('"overloaded_error", "code": "content_policy_violation"', "T8 T4", A.ESCALATE),
    ],
)
def test_of_several_classes_the_most_dangerous_decides(
    codes: str, classes: str, action: Action
) -> None:
    seen = refused(429, f'{{"error": {{"type": {codes}}}}}', retry_after="3")
    decision = Led().send(view(), seen)
    assert decision.fault is not None
    assert f"{decision.fault.fault_class} {decision.fault.secondary}" == classes
    assert decision.action is action
    assert action is A.ESCALATE or decision.delay_us >= 3_000_000


def test_what_may_be_hopeless_is_not_waited_for_as_an_overload() -> None:
    """The second class counts: 498 is a token that expired as much as a server that is full."""
    assert Led(replace(KIT, substitutes={}, lower={})).send(view(), refused(498)).action is not (
        A.RETRY
    )


def test_the_same_class_k_times_in_a_row_ends_the_retries() -> None:
    led = Led(retry={"same_class_k": 2, "max_attempts_per_step": 9})
    taken = [led.send(view(READ), seen) for seen in (lost(), refused(429), lost(), lost())]
    assert actions(taken) == [A.RETRY, A.RETRY, A.RETRY, A.REPLAN]


def test_the_same_rejection_twice_ends_the_sampling() -> None:
    led = Led(replace(KIT, substitutes={}, lower={}))
    at = view(READ, can_verify=(V0, V1))
    assert led.send(at, fine()).action is A.VERIFY
    assert led.judge(at, False, 0.0, "too short").action is A.RETRY
    assert led.send(at, fine()).action is A.VERIFY
    assert led.judge(at, False, 0.0, "Too  short").action is A.ESCALATE
    other = Led(replace(KIT, substitutes={}, lower={}))
    for why in ("too short", "too long", "too loud"):
        other.send(at, fine())
        assert other.judge(at, False, 0.0, why).action is A.RETRY


def test_a_rejected_read_is_retried_with_the_reasons_then_handed_back() -> None:
    led = Led(retry={"max_attempts_per_step": 2})
    at = view(READ, can_verify=(V0, V1))
    led.send(at, fine())
    again = led.judge(at, False, 0.0, "the total is missing")
    assert (again.action, again.debit, again.fault.evidence) == (A.RETRY, 1, "the total is missing")
    led.send(at, fine())
    assert led.judge(at, False, 0.0, "the date is missing").action is A.REPLAN


def test_a_rejected_write_that_is_in_is_told_and_never_sent_again() -> None:
    led, at = Led(), view(R2, can_verify=(V0, V1))
    assert led.send(at, fine()).action is A.VERIFY
    told = led.judge(at, False, 0.0, "the wrong folder")
    assert (told.action, told.moves) == (A.REPLAN, ())
    asked_anew = led.hear(Proposed(view(R2, step=2)))
    assert asked_anew.action is not A.DISPATCH
    assert led.hear(Reconciled(view(R2, step=2), fine(), Landed.COMMITTED)).action is A.ACCEPT


def test_an_open_breaker_leads_to_another_model_then_to_a_wait_then_to_a_person() -> None:
    led = Led(
        replace(KIT, lower={}),
        circuit_breaker={"consecutive_failures": 2, "cooldown_ms": 10_000, "cooldown_jitter": 0.0},
        retry={"max_attempts_per_step": 3},
    )
    for step in (1, 2):
        led.send(view(step=step), refused(500))
    turned = led.hear(Proposed(view(step=3)))
    assert (turned.action, turned.substitute) == (A.DEGRADE_MODEL, "backup")
    for step in (4, 5):
        led.send(view(step=step, target="backup"), refused(500))
    waits = led.hear(Proposed(view(step=6, target="backup")))
    assert waits.action is A.RETRY
    assert waits.delay_us >= 10_000_000
    led.hear(Proposed(view(step=6, target="backup")))
    assert led.hear(Proposed(view(step=6, target="backup"))).action is A.ESCALATE
    late = Led(circuit_breaker={"consecutive_failures": 1})
    late.send(view(R1), refused(500))
    assert late.hear(Proposed(view(R1, deadline_us=20_000_000))).action is A.ESCALATE


def test_a_breaker_lets_a_probe_out_after_its_cooldown_and_closes_again() -> None:
    settings = {"consecutive_failures": 1, "cooldown_ms": 10_000, "half_open_probes": 1}
    led = Led(replace(KIT, substitutes={}, lower={}), circuit_breaker=settings)
    led.send(view(), refused(500))
    later = view(step=2, now_us=60_000_000)
    assert led.hear(Proposed(later)).action is A.DISPATCH
    assert led.hear(Attempted(later, FakeModel.says("hello"))).action is A.ACCEPT
    assert not led.state["shut"]


def test_no_write_goes_out_after_the_deadline() -> None:
    late = {"now_us": DEADLINE_US + 1}
    for level in (R1, R2, R3):
        led = Led()
        assert led.hear(Proposed(view(level, **late))).action is A.ESCALATE
        assert led.state["stop"] == "budget"
    assert Led().hear(Proposed(view(READ, **late))).action is A.DISPATCH


def test_the_last_retry_is_kept_for_a_write() -> None:
    led = Led(retries_per_task=2)
    assert led.send(view(READ), refused(500)).action is A.RETRY
    assert led.send(view(READ), refused(500)).action is A.ESCALATE
    led = Led(retries_per_task=2)
    led.send(view(READ), refused(500))
    assert led.send(view(R1, step=2), lost()).action is A.RETRY


def test_an_empty_bucket_of_the_tenant_stops_retries_until_time_fills_it() -> None:
    led = Led(retry={"max_retries_per_tenant_per_min": 1})
    assert led.send(view(), refused(500)).action is A.RETRY
    assert led.send(view(step=2, now_us=1_000_000), refused(500)).action is A.ESCALATE
    led = Led(retry={"max_retries_per_tenant_per_min": 1})
    led.send(view(), refused(500))
    assert led.send(view(step=2, now_us=90_000_000), refused(500)).action is A.RETRY


def test_an_action_that_does_not_fit_into_one_dimension_is_refused_before_it_goes_out() -> None:
    """The second seed's example: 100 tokens, 40 of them used; 70 more are too many."""
    led = Led(budget={"tokens": 100, "time_ms": 500_000})
    led.send(view(tokens=40), replace(FakeModel.says("hello"), tokens_in=30, tokens_out=10))
    assert led.state["left"][1] == 60
    before = led.state["left"]
    refusal = led.hear(Proposed(view(step=2, tokens=70)))
    assert (refusal.action, led.state["stop"], led.state["left"]) == (A.ESCALATE, "budget", before)


def test_a_compressed_call_is_admitted_like_any_other() -> None:
    led = Led(budget={"tokens": 100})
    too_long = view(tokens=90, context_left=0)
    assert led.hear(Proposed(too_long)).action is A.COMPRESS
    assert led.hear(Compressed(view(tokens=40), True)).action is A.DISPATCH
    assert led.state["left"][1] == 60
    led = Led(budget={"tokens": 30})
    led.hear(Proposed(view(tokens=20, context_left=0)))
    assert led.hear(Compressed(view(tokens=40), True)).action is A.ESCALATE


@pytest.mark.parametrize("criticality", Criticality)
def test_a_person_is_asked_before_what_cannot_be_undone_where_it_is_critical(
    criticality: Criticality,
) -> None:
    led = Led(replace(KIT, criticality=criticality))
    at = view(R3, attempts=0, can_verify=(V0, V1, V3))
    first = led.hear(Proposed(at))
    if criticality is not HIGH:
        assert (first.action, [move.to for move in first.moves]) == (A.DISPATCH, [S.PREPARED])
        return
    assert (first.action, first.check, first.moves) == (A.VERIFY, V3, ())
    agreed = led.hear(Verified(at, Verdict(V3, True)))
    assert (agreed.action, [move.to for move in agreed.moves]) == (A.DISPATCH, [S.PREPARED])
    led = Led(replace(KIT, criticality=criticality))
    led.hear(Proposed(at))
    refused_by_person = led.hear(Verified(at, Verdict(V3, False, 0.0, ("not this one",))))
    assert (refused_by_person.action, refused_by_person.moves) == (A.ESCALATE, ())


@pytest.mark.parametrize("arm", [Hfr, HfrWithoutIdempotency], ids=lambda arm: arm.preset)
def test_a_model_may_end_its_turn_without_a_word_after_a_write_and_only_then(
    arm: type[Hfr],
) -> None:
    silence = FakeModel.says("")
    assert Led(arm=arm).send(view(), silence).action is not A.ACCEPT
    led = Led(arm=arm)
    led.send(view(R2), fine())
    assert led.send(view(step=2), silence).action is A.ACCEPT
    assert led.send(view(step=3), silence).action is not A.ACCEPT


def test_a_smaller_model_is_taken_where_its_quality_is_known_and_its_answer_must_pass() -> None:
    led = Led(degradation={"history": {"L3:small": 0.85}})
    at = view(can_verify=(V0, V1))
    assert led.send(at, refused(529)).substitute == "backup"
    second = led.send(replace(at, target="backup"), refused(529))
    assert (second.action, second.substitute, second.rung) == (
        A.DEGRADE_MODEL,
        "small",
        Rung.LOWER_TIER,
    )
    small = replace(at, target="small")
    checked = led.send(small, FakeModel.says("hello"))
    assert (checked.action, checked.check) == (A.VERIFY, V1)
    assert led.judge(small, True, 0.79).action is A.ESCALATE
    for history in ({"L3:small": 0.79}, {}):
        led = Led(degradation={"history": history})
        led.send(at, refused(529))
        assert led.send(replace(at, target="backup"), refused(529)).substitute is None


def test_a_degraded_step_is_said_at_the_end() -> None:
    led, at = Led(), view(can_verify=(V0, V1))
    led.send(at, refused(529))
    led.send(replace(at, target="backup"), FakeModel.says("hello"))
    assert led.judge(replace(at, target="backup"), True, 0.9).action is A.ACCEPT
    final = led.hear(Finishing(0, DEADLINE_US))
    assert (final.action, final.reason) == (A.ACCEPT, "1 step(s) degraded")


def test_after_a_restart_under_another_configuration_open_writes_go_to_a_person() -> None:
    known = Known("key1", "stepless R2", S.PREPARED, "tool R2", R2)
    for drifted, wanted in ((True, A.ESCALATE), (False, A.ACCEPT)):
        decision = Led().hear(Restored(0, DEADLINE_US, (known,), drifted))
        assert (decision.action, [m.to for m in decision.moves]) == (wanted, [S.UNKNOWN])
    settled = replace(known, state=S.COMMITTED)
    assert Led().hear(Restored(0, DEADLINE_US, (settled,), True)).action is A.ACCEPT
    mail = Known("key1", "stepless R3", S.PREPARED, "tool R3", R3)
    assert Led().hear(Restored(0, DEADLINE_US, (mail,), False)).action is A.ESCALATE


def test_one_tool_may_have_retries_of_its_own() -> None:
    led = Led(overrides=[{"tool": "tool R0", "set": {"retry.max_attempts_per_step": 1}}])
    assert led.send(view(READ), refused(500)).action is A.REPLAN
    assert led.send(view(step=2), refused(500)).action is A.RETRY


def test_an_unanswered_write_is_not_taken_to_another_tool() -> None:
    """Another tool does not know the key that makes a repeat harmless (paper §4.4, table 7)."""
    at = view(R1, equivalents=("other",))
    assert Led().send(at, refused(500)).action is A.RETRY
    led = Led(retries_per_step=0)
    assert led.send(at, refused(500)).action is A.RECONCILE
    unsent = Led().send(view(READ, equivalents=("other",)), refused(500))
    assert (unsent.action, unsent.substitute) == (A.DEGRADE_TOOL, "other")


def test_a_write_stays_of_the_goal_that_it_was_sent_for() -> None:
    led = Led()
    led.send(view(R2), lost())
    anew = view(R2, step=2, goal_version=2)
    assert led.hear(Proposed(anew)).action is A.RECONCILE
    led.hear(Reconciled(anew, fine(), Landed.COMMITTED))
    assert led.state["goal"] == 2
    assert led.state["ledger"]["key1"][1:3] == [S.RECONCILED_COMMITTED, 1]


def test_an_absence_is_written_down_with_whatever_is_decided_on_it() -> None:
    led = Led()
    led.send(view(R2), refused(400))
    told = led.hear(Reconciled(view(R2), fine(), Landed.ABSENT))
    assert (told.action, [m.to for m in told.moves]) == (A.REPLAN, [S.RECONCILED_ABSENT])


def test_what_was_sent_once_without_an_answer_stays_open_whatever_its_repeats_say() -> None:
    """A repeat that never left us, or is refused, says nothing of the first one (table 6)."""
    led = Led(retry={"max_attempts_per_step": 2})
    assert led.send(view(R1), lost()).action is A.RETRY
    unsent = led.send(view(R1), lost("ConnectError", sent=False))
    assert (unsent.action, [m.to for m in unsent.moves]) == (A.RECONCILE, [S.UNKNOWN])
    led = Led()
    led.send(view(R1), lost())
    done_already = led.send(view(R1), fine(domain_error=True))
    assert (done_already.action, [m.to for m in done_already.moves]) == (A.RECONCILE, [S.UNKNOWN])
    assert led.hear(Reconciled(view(R1), fine(), Landed.ABSENT)).action is A.RETRY
    told = led.send(view(R1), fine(domain_error=True))
    assert (told.action, [m.to for m in told.moves]) == (A.ACCEPT, [S.FAILED])
