"""The plain arms and yardsticks, in the shop: what each does when a call fails."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Finishing,
    Intent,
    Observation,
    Proposed,
    Restored,
    StepView,
    Truth,
)
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, Channel, End, SideEffect
from hfr_bench.ports.strategy import Strategy
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import (
    AlwaysEscalate,
    BlindResend,
    DegradeOnly,
    ExpRetry,
    FixedRetry,
    NoRetry,
    OracleRecovery,
)
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import fine, refused
from hfr_bench.testing.rig import Rig, fault, lost_answer, lost_request
from hfr_bench.testing.shop import agent_step

TRUTH = Equipment(query=True, truth=True, ladder=True)
PLAIN: tuple[Callable[[dict[str, Any], Kit], Strategy], ...] = (
    NoRetry,
    FixedRetry,
    ExpRetry,
    DegradeOnly,
    BlindResend,
    AlwaysEscalate,
    OracleRecovery,
)
KIT = Kit(equipment=TRUTH, substitutes={"m": ("backup",)})


@pytest.mark.parametrize("strategy", PLAIN)
def test_every_plain_strategy_keeps_the_rules_of_its_socket(strategy: Any) -> None:
    assert check_strategy(lambda: strategy({}, KIT), walks=40) > 40


@pytest.mark.parametrize("strategy", PLAIN)
def test_without_faults_all_of_them_do_just_the_task(strategy: Any) -> None:
    steps = (agent_step("look"), agent_step("add_order", item="tea"))
    ran = Rig(strategy({}, KIT), steps=steps).run()
    assert (ran.end, ran.attempts(), ran.grade.goal_met) == (End.ACCEPTED, 2, True)


def test_no_retry_stops_at_the_first_failure() -> None:
    ran = Rig(NoRetry({}, KIT), faults=[fault("busy", "tool:add_order")]).run()
    assert (ran.end, ran.reason, ran.attempts()) == (End.FAILED, "first failure", 1)


def test_always_escalate_calls_a_person_at_the_first_failure() -> None:
    rig = Rig(AlwaysEscalate({}, KIT), faults=[fault("busy", "tool:add_order")])
    ran = rig.run()
    assert (ran.end, ran.attempts(), len(rig.human.packets)) == (End.ESCALATED, 1, 1)


@pytest.mark.parametrize(("n", "end"), [(3, End.ACCEPTED), (4, End.FAILED)])
def test_fixed_retry_tries_three_times_more_a_second_apart(n: int, end: End) -> None:
    rig = Rig(FixedRetry({}, KIT), faults=[fault("busy", "tool:add_order", n=n)])
    ran = rig.run()
    assert (ran.end, ran.attempts()) == (end, 4)
    assert rig.clock.waits.count(1_000_000) == 3


def test_fixed_retry_takes_its_settings() -> None:
    rig = Rig(
        FixedRetry({"retries": 1, "delay_s": 0.3}, KIT),
        faults=[fault("busy", "tool:add_order", n=2)],
    )
    assert (rig.run().attempts(), rig.guard.tally.backoff_us) == (2, 300_000)


@pytest.mark.parametrize(("n", "end"), [(3, End.ACCEPTED), (4, End.FAILED)])
def test_exp_retry_backs_off_with_full_jitter_of_its_own(n: int, end: End) -> None:
    kit = Kit(chance_key=("salt", 1))
    rig = Rig(ExpRetry({}, kit), faults=[fault("busy", "tool:add_order", n=n)])
    ran = rig.run()
    assert (ran.end, ran.attempts()) == (end, 4)
    drawn = [uniform("jitter", "salt", 1, 1, k) for k in (1, 2, 3)]
    ceilings = (200_000, 400_000, 800_000)
    waits = [int(c * u) for c, u in zip(ceilings, drawn, strict=True)]
    assert rig.guard.tally.backoff_us == sum(waits)
    assert all(wait in rig.clock.waits for wait in waits)


def test_exp_retry_takes_its_settings() -> None:
    config = {"retries": 2, "base_delay_ms": 10, "max_delay_ms": 50, "multiplier": 10}
    retrying = ExpRetry(config, KIT)
    for attempts, ceiling in ((1, 10_000), (2, 50_000)):
        _, decision = retrying.decide({}, Attempted(_view(attempts), refused(503)))
        assert decision.delay_us == int(ceiling * uniform("jitter", 1, attempts))
    assert retrying.decide({}, Attempted(_view(3), refused(503)))[1].action is Action.FAIL


def test_exp_retry_waits_as_long_as_it_is_told() -> None:
    _, decision = ExpRetry({}, KIT).decide({}, Attempted(_view(), refused(429, retry_after="5")))
    assert (decision.action, decision.delay_us) == (Action.RETRY, 5_000_000)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_exp_retry_retries_what_looks_transient(status: int) -> None:
    assert ExpRetry({}, KIT).decide({}, Attempted(_view(), refused(status)))[1].debit == 1


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404])
def test_exp_retry_retries_nothing_else(status: int) -> None:
    _, decision = ExpRetry({}, KIT).decide({}, Attempted(_view(), refused(status)))
    assert (decision.action, decision.reason) == (Action.FAIL, "not transient")


def test_exp_retry_duplicates_what_had_landed() -> None:
    ran = Rig(ExpRetry({}, KIT), faults=[lost_answer("add_order")]).run()
    assert (ran.duplicates, ran.attempts("reconcile")) == (1, 0)


@pytest.mark.parametrize("multiplier", [0, 0.5, 1e300])
def test_exp_retry_bears_any_multiplier(multiplier: float) -> None:
    config = {"multiplier": multiplier, "retries": 5000}
    _, decision = ExpRetry(config, KIT).decide({}, Attempted(_view(4000), refused(503)))
    assert 0 <= decision.delay_us <= 2_000_000


def test_degrade_only_goes_to_the_equal_model_once_and_then_fails() -> None:
    degrading = DegradeOnly({}, KIT)
    _, first = degrading.decide({}, Attempted(_view(), refused(500)))
    assert (first.action, first.substitute, first.debit) == (Action.DEGRADE_MODEL, "backup", 0)
    _, second = degrading.decide({}, Attempted(_view(attempts=2), refused(500)))
    assert (second.action, second.reason) == (Action.FAIL, "no rung left")


@pytest.mark.parametrize("seen", [refused(500), refused(429), Observation(False, exception="X")])
def test_degrade_only_never_retries_a_tool(seen: Observation) -> None:
    _, decision = DegradeOnly({}, KIT).decide({}, Attempted(_view(channel=Channel.TOOL), seen))
    assert decision.action is Action.FAIL


def test_degrade_only_without_a_ladder_fails() -> None:
    _, decision = DegradeOnly({}, Kit()).decide({}, Attempted(_view(), refused(500)))
    assert decision.action is Action.FAIL


@pytest.mark.parametrize("status", [401, 403])
def test_degrade_only_does_not_go_around_a_missing_permission(status: int) -> None:
    _, decision = DegradeOnly({}, KIT).decide({}, Attempted(_view(), refused(status)))
    assert decision.action is Action.FAIL


@pytest.mark.parametrize(("n", "attempts", "end"), [(7, 8, End.ACCEPTED), (8, 8, End.FAILED)])
def test_blind_resend_sends_at_once_up_to_eight_times(n: int, attempts: int, end: End) -> None:
    rig = Rig(BlindResend({}, KIT), faults=[lost_request("add_order", n=n)])
    ran = rig.run()
    assert (ran.end, ran.attempts(), rig.guard.tally.backoff_us) == (end, attempts, 0)


def test_blind_resend_duplicates_what_had_landed() -> None:
    ran = Rig(BlindResend({}, KIT), faults=[lost_answer("add_order", n=2)]).run()
    assert (ran.duplicates, ran.world.orders("tea"), ran.grade.goal_met) == (2, 3, False)


def test_oracle_recovery_never_sends_again_what_landed() -> None:
    ran = Rig(OracleRecovery({}, KIT), equipment=TRUTH, faults=[lost_answer("add_order")]).run()
    assert (ran.end, ran.attempts(), ran.attempts("reconcile")) == (End.ACCEPTED, 1, 1)
    assert (ran.duplicates, ran.grade.goal_met) == (0, True)


def test_oracle_recovery_sends_again_what_did_not_land() -> None:
    ran = Rig(OracleRecovery({}, KIT), equipment=TRUTH, faults=[lost_request("add_order")]).run()
    assert (ran.attempts(), ran.attempts("reconcile"), ran.grade.goal_met) == (2, 0, True)


def test_oracle_recovery_accepts_an_unseen_write_that_it_knows_landed() -> None:
    steps = (agent_step("send_mail", text="hi"),)
    ran = Rig(
        OracleRecovery({}, KIT), equipment=TRUTH, steps=steps, faults=[lost_answer("send_mail")]
    ).run()
    assert (ran.end, ran.attempts(), ran.world.mails) == (End.ACCEPTED, 1, ["hi"])


def test_oracle_recovery_changes_models_only_where_nothing_else_helps() -> None:
    oracle = OracleRecovery({}, KIT)
    for clears_by, action in (
        ("substitute", Action.DEGRADE_MODEL),
        ("substitute or wait", Action.DEGRADE_MODEL),
        ("retry", Action.RETRY),
        (None, Action.RETRY),
    ):
        event = Attempted(_view(), refused(529), Truth(None, clears_by))
        assert oracle.decide({}, event)[1].action is action


def test_oracle_recovery_waits_an_outage_out_where_it_has_no_other_model() -> None:
    alone = OracleRecovery({}, replace(KIT, substitutes={}))
    for attempts, wait_s in ((1, 1), (2, 2), (5, 16)):
        event = Attempted(_view(attempts=attempts), refused(503), Truth(None, "substitute or wait"))
        decision = alone.decide({}, event)[1]
        assert (decision.action, decision.delay_us) == (Action.RETRY, wait_s * 1_000_000)


def test_oracle_recovery_makes_the_context_shorter_or_hands_over() -> None:
    event = Attempted(_view(), refused(400), Truth(None, "compress"))
    equipped = OracleRecovery({}, replace(KIT, equipment=Equipment(ladder=True)))
    assert equipped.decide({}, event)[1].action is Action.COMPRESS
    assert equipped.decide({}, Compressed(_view(), done=True))[1].action is Action.DISPATCH
    assert equipped.decide({}, Compressed(_view(), done=False))[1].action is Action.ESCALATE
    bare = OracleRecovery({}, replace(KIT, equipment=Equipment()))
    assert bare.decide({}, event)[1].action is Action.ESCALATE


def test_oracle_recovery_waits_as_long_as_it_is_told() -> None:
    oracle = OracleRecovery({"wait_s": 2.0}, KIT)
    for seen, wait in ((refused(429, retry_after="5"), 5_000_000), (refused(429), 2_000_000)):
        _, decision = oracle.decide({}, Attempted(_view(), seen, Truth(None, "wait")))
        assert decision.delay_us == wait
    hurried = oracle.decide({}, Attempted(_view(), refused(500), Truth(None, "retry")))[1]
    assert hurried.delay_us == 0


def test_oracle_recovery_without_truth_is_only_a_retrier() -> None:
    _, decision = OracleRecovery({}, KIT).decide({}, Attempted(_view(), refused(500), None))
    assert decision.action is Action.RETRY
    tired = Attempted(_view(attempts=8), refused(500), None)
    assert OracleRecovery({}, KIT).decide({}, tired)[1].action is Action.ESCALATE


def test_all_accept_an_answer_and_an_end() -> None:
    for strategy in PLAIN:
        made = strategy({}, KIT)
        assert made.decide({}, Attempted(_view(), fine()))[1].action is Action.ACCEPT
        assert made.decide({}, Finishing(0, 1))[1].action is Action.ACCEPT


tools = st.sampled_from(["look", "set_address", "add_order", "close_account", "send_mail"])
planned = st.lists(
    st.builds(
        fault,
        st.sampled_from(["lost", "busy", "limited", "forbidden"]),
        st.builds("{}:{}".format, st.sampled_from(["tool", "reconcile"]), tools),
        st.integers(1, 2),
        st.integers(1, 3),
        n=st.integers(1, 3),
        lands=st.booleans(),
    ),
    max_size=8,
)
STEPS = (
    agent_step("look"),
    agent_step("add_order", item="tea"),
    agent_step("set_address", to="here"),
    agent_step("add_order", item="tea"),
    agent_step("send_mail", text="hi"),
    agent_step("close_account"),
)


@settings(max_examples=60, deadline=None)
@given(planned)
def test_oracle_recovery_duplicates_nothing_under_any_schedule(faults: list[Any]) -> None:
    ran = Rig(OracleRecovery({}, KIT), equipment=TRUTH, steps=STEPS, faults=faults).run()
    assert ran.effects.duplicates == ran.effects.unwanted == 0
    assert ran.world.mails in ([], ["hi"])
    assert ran.world.orders("tea") <= 2


def _view(attempts: int = 1, channel: Channel = Channel.MODEL) -> StepView:
    intent = Intent("i", channel, "m", SideEffect.READ, "d", "", "")
    return StepView(1, intent, "model:agent", "m", attempts, 0, 60_000_000)


def written(key: str) -> StepView:
    intent = Intent("i", Channel.TOOL, "pay", SideEffect.QUERYABLE, "d", f"{key}.1", key)
    return StepView(1, intent, "tool:pay", "pay", 0, 0, 1, can_reconcile=True)


def test_the_oracle_is_told_what_is_in_after_a_crash() -> None:
    """A write that is in is not made again, as often as it is in."""
    oracle = OracleRecovery({}, KIT)
    write = written("pay")
    for times in (0, 1, 2):
        state, decision = oracle.decide({}, Restored(0, 1, (), landed=("pay",) * times))
        assert decision.action is Action.ACCEPT
        taken = []
        for _ in range(3):
            state, decision = oracle.decide(state, Proposed(write))
            taken.append(decision.action)
        assert taken == [Action.RECONCILE] * times + [Action.DISPATCH] * (3 - times)
