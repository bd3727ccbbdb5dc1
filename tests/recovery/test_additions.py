"""`exp_retry` under one key, and with one thing added to it: a query, or a verifier."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.faults.draw import uniform
from hfr_bench.lab.step import Step
from hfr_bench.model.attempt import (
    Attempted,
    Call,
    GoalChanged,
    Intent,
    Observation,
    Receipt,
    Reconciled,
    Restored,
    StepView,
    Verdict,
    Verified,
)
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.task import ToolSpec
from hfr_bench.model.terms import Action, Channel, CheckLevel, End, Landed, SideEffect
from hfr_bench.recovery.additions import ExpRetryReconcile, ExpRetryVerifier
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import ExpRetry, FixedRetry, NoRetry
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import FakePort, fine, lost, refused
from hfr_bench.testing.rig import Rig, fault, lost_answer, lost_request
from hfr_bench.testing.shop import agent_step

NOTHING = Equipment()
QUERY = Kit(equipment=Equipment(query=True))
VERIFIER = Kit(equipment=Equipment(verifier=True))
V1 = CheckLevel.DETERMINISTIC


def reconcile() -> ExpRetryReconcile:
    return ExpRetryReconcile({}, QUERY)


def rig(*faults: Any, **parts: Any) -> Rig:
    return Rig(reconcile(), equipment=QUERY.equipment, faults=faults, **parts)


# -- one key ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "keyed"), [(ExpRetry, True), (FixedRetry, False), (NoRetry, False)]
)
def test_exp_retry_sends_the_same_key_with_every_attempt_and_needs_no_ledger(
    strategy: Any, keyed: bool
) -> None:
    sent: list[dict[str, Any]] = []

    def pay(call: Call) -> Observation:
        sent.append(dict(call.payload))
        return lost() if len(sent) < 3 and strategy is not NoRetry else fine()

    tool = ToolSpec(name="pay", level=SideEffect.IDEMPOTENT, idempotency_key_param="key")
    intent = Intent("i", Channel.TOOL, "pay", tool.level, "digest", "the-key", "stepless")
    made = Rig(strategy({}, Kit()), equipment=NOTHING)
    made.guard.onion = {Channel.TOOL: FakePort(pay)}
    step = Step(1, intent, "tool:pay", {"amount": 5}, 10_000_000, tool)
    assert made.guard.run(step).action is Action.ACCEPT
    again = replace(step, number=2, intent=replace(intent, key="another-key"))
    made.guard.run(again)
    wanted = ["the-key"] * (len(sent) - 1) + ["another-key"] if keyed else [None] * len(sent)
    assert [arguments.get("key") for arguments in sent] == wanted


@pytest.mark.parametrize(
    "event",
    [Restored(0, 1, ()), Receipt(0, "k", Landed.COMMITTED), GoalChanged(0, 2)],
    ids=["restored", "receipt", "goal"],
)
@pytest.mark.parametrize("make", [lambda: ExpRetry({}, Kit()), reconcile])
def test_news_from_outside_a_step_is_noted(make: Any, event: Any) -> None:
    arm = make()
    assert arm.decide(arm.begin(), event)[1].action is Action.ACCEPT


# -- a query ---------------------------------------------------------------------------------------


def test_a_write_that_landed_is_looked_for_and_not_sent_again() -> None:
    ran = rig(lost_answer("add_order")).run()
    assert (ran.end, ran.attempts(), ran.attempts("reconcile")) == (End.ACCEPTED, 1, 1)
    assert (ran.attempts("prepare"), ran.duplicates, ran.grade.goal_met) == (1, 0, True)


def test_a_write_that_did_not_land_is_sent_again_after_the_usual_wait() -> None:
    made = rig(lost_request("add_order"))
    ran = made.run()
    assert (ran.attempts(), ran.attempts("reconcile"), ran.grade.goal_met) == (2, 1, True)
    assert made.guard.tally.backoff_us == int(200_000 * uniform("jitter", 1, 1))


def test_its_retries_are_counted_as_exp_retry_counts_them() -> None:
    ran = rig(lost_request("add_order", n=4)).run()
    assert (ran.end, ran.attempts(), ran.attempts("reconcile")) == (End.FAILED, 4, 4)


def test_a_refusal_that_nothing_can_have_come_of_is_not_looked_up() -> None:
    made = rig(fault("limited", "tool:add_order"))
    ran = made.run()
    assert (ran.attempts(), ran.attempts("reconcile")) == (2, 0)
    assert made.guard.tally.backoff_us == 7_000_000


@pytest.mark.parametrize(
    ("seen", "asked"),
    [
        (lost(), True),
        (lost("ConnectionClosed"), True),
        (lost("ConnectError", sent=False), False),
        (refused(200, "{"), True),
        (refused(408), True),
        (refused(503), True),
        (refused(409), False),
        (refused(429), False),
        (refused(403), False),
    ],
)
def test_an_answer_is_lost_where_it_may_have_been_done(seen: Observation, asked: bool) -> None:
    view = _view(SideEffect.QUERYABLE, can_reconcile=True)
    _, decision = reconcile().decide(reconcile().begin(), Attempted(view, seen))
    assert (decision.action is Action.RECONCILE) is asked


def test_a_stated_wait_outlives_the_look_at_the_world() -> None:
    arm, view = reconcile(), _view(SideEffect.QUERYABLE, can_reconcile=True)
    state, _ = arm.decide(arm.begin(), Attempted(view, refused(503, retry_after="9")))
    later = replace(view, now_us=view.now_us + 2_000_000)
    _, decision = arm.decide(state, Reconciled(later, fine(), Landed.ABSENT))
    assert (decision.action, decision.delay_us) == (Action.RETRY, 7_000_000)


def test_an_irreversible_write_in_doubt_goes_to_a_person() -> None:
    made = rig(lost_answer("send_mail"), steps=(agent_step("send_mail", text="hi"),))
    ran = made.run()
    assert (ran.end, ran.world.mails, len(made.human.packets)) == (End.ESCALATED, ["hi"], 1)


def test_an_idempotent_write_that_cannot_be_asked_about_is_just_retried() -> None:
    event = Attempted(_view(SideEffect.IDEMPOTENT), lost())
    assert reconcile().decide(reconcile().begin(), event)[1].action is Action.RETRY


def test_a_world_that_cannot_tell_calls_a_person() -> None:
    arm, view = reconcile(), _view(SideEffect.QUERYABLE, can_reconcile=True)
    event = Reconciled(view, fine(), Landed.UNKNOWN)
    assert arm.decide(arm.begin(), event)[1].action is Action.ESCALATE


@pytest.mark.parametrize("purpose", ["prepare", "reconcile"])
def test_its_reads_are_retried_like_any_call(purpose: str) -> None:
    busy = fault("busy", f"{purpose}:add_order", n=3)
    ran = rig(busy, lost_answer("add_order")).run()
    assert (ran.end, ran.attempts(purpose), ran.duplicates) == (End.ACCEPTED, 4, 0)


def test_a_query_that_never_answers_calls_a_person() -> None:
    ran = rig(lost_answer("add_order"), fault("busy", "reconcile:add_order", n=4)).run()
    assert (ran.end, ran.attempts("reconcile"), ran.duplicates) == (End.ESCALATED, 4, 0)


def test_without_a_before_read_it_goes_on_and_then_cannot_tell() -> None:
    blind = fault("busy", "prepare:add_order", n=4)
    assert rig(blind).run().end is End.ACCEPTED
    ran = rig(blind, lost_answer("add_order")).run()
    assert (ran.end, ran.attempts(), ran.attempts("prepare")) == (End.ESCALATED, 1, 4)


def test_a_read_before_the_write_that_is_forbidden_is_not_tried_again() -> None:
    ran = rig(fault("forbidden", "prepare:add_order")).run()
    assert (ran.end, ran.attempts("prepare"), ran.attempts()) == (End.ACCEPTED, 1, 1)


tools = st.sampled_from(["look", "set_address", "add_order", "close_account", "send_mail"])
planned = st.lists(
    st.builds(
        fault,
        st.sampled_from(["lost", "busy", "limited", "forbidden"]),
        st.builds("{}:{}".format, st.sampled_from(["tool", "prepare", "reconcile"]), tools),
        st.integers(1, 2),
        st.integers(1, 3),
        n=st.integers(1, 3),
        lands=st.booleans(),
    ),
    max_size=8,
)
STEPS = (
    agent_step("add_order", item="tea"),
    agent_step("set_address", to="here"),
    agent_step("add_order", item="tea"),
    agent_step("send_mail", text="hi"),
    agent_step("close_account"),
)


@settings(max_examples=100, deadline=None)
@given(planned)
def test_it_duplicates_nothing_within_a_step_under_any_schedule(faults: list[Any]) -> None:
    ran = rig(*faults, steps=STEPS).run()
    assert ran.effects.duplicates == ran.effects.unwanted == 0


# -- a verifier ------------------------------------------------------------------------------------


def test_an_answer_of_a_tool_is_checked_where_a_check_is_on_offer() -> None:
    arm = ExpRetryVerifier({}, VERIFIER)
    for view, seen, action in (
        (_view(can_verify=(CheckLevel.TRANSPORT, V1)), fine(), Action.VERIFY),
        (_view(can_verify=(CheckLevel.TRANSPORT,)), fine(), Action.ACCEPT),
        (_view(can_verify=(V1,)), fine(domain_error=True), Action.ACCEPT),
        (_view(channel=Channel.MODEL, can_verify=(V1,)), fine(), Action.ACCEPT),
        (_view(can_verify=(V1,)), refused(503), Action.RETRY),
    ):
        decision = arm.decide(arm.begin(), Attempted(view, seen))[1]
        assert (decision.action, decision.check) == (action, V1 if action == "VERIFY" else None)


def test_an_answer_that_fails_goes_back_once_a_tool_and_then_to_a_person() -> None:
    arm = ExpRetryVerifier({}, VERIFIER)
    state, taken = arm.begin(), []
    for tool, passed in (("a", 0), ("b", 0), ("a", 1), ("a", 0), ("b", 0)):
        verdict = Verdict(V1, passed=bool(passed))
        state, decision = arm.decide(state, Verified(_view(target=tool), verdict))
        taken.append(decision.action)
    again, person = Action.REPLAN, Action.ESCALATE
    assert taken == [again, again, Action.ACCEPT, again, person]


@pytest.mark.parametrize(
    ("strategy", "needs"), [(ExpRetryReconcile, "query"), (ExpRetryVerifier, "verifier")]
)
def test_what_it_needs_must_be_registered(strategy: Any, needs: str) -> None:
    with pytest.raises(ValueError, match=f"needs equipment.{needs}"):
        strategy({}, Kit())


@pytest.mark.parametrize(
    ("strategy", "kit"), [(ExpRetryReconcile, QUERY), (ExpRetryVerifier, VERIFIER)]
)
def test_it_keeps_the_rules_of_its_socket(strategy: Any, kit: Kit) -> None:
    assert check_strategy(lambda: strategy({}, kit), walks=80) > 80


def _view(
    level: SideEffect = SideEffect.READ,
    *,
    channel: Channel = Channel.TOOL,
    target: str = "t",
    **fields: Any,
) -> StepView:
    intent = Intent("i", channel, target, level, "d", "key", "stepless")
    return StepView(1, intent, "p", target, 1, 0, 60_000_000, **fields)
