"""`hfr-learned`: whatever the table says, the rules' fence holds; chance says how likely it was."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.attempt import Attempted, Decision, Intent, Observation, StepView
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, Channel, Criticality, FaultClass, SideEffect
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.learned import Chosen, HfrLearned, Learner, chosen
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import lost, refused

FULL = Equipment(ledger=True, query=True, ladder=True)
KIT = Kit(equipment=FULL, substitutes={"m": ("backup",)}, chance_key=("s", "t", 1))
ACTIONS = [action.value for action in Action]
CONTEXTS = [
    f"{fault}/{kind}/{retries}/{criticality}"
    for fault in FaultClass
    for kind in ("model", "read", "write")
    for retries in range(4)
    for criticality in Criticality
]
TABLES = st.dictionaries(
    st.sampled_from(CONTEXTS),
    st.dictionaries(st.sampled_from(ACTIONS), st.floats(-2, 2), min_size=1),
    max_size=60,
)


def view(level: SideEffect | None = None, **fields: Any) -> StepView:
    channel = Channel.MODEL if level is None else Channel.TOOL
    intent = Intent("i", channel, "m", level or SideEffect.READ, "d", "key", "stepless")
    return replace(StepView(1, intent, "p", "m", 1, 0, 600_000_000, can_reconcile=True), **fields)


def asked(
    seen: Observation, at: StepView | None = None, kit: Kit = KIT, **learned: Any
) -> Decision:
    arm = HfrLearned({"learned": learned}, kit)
    return arm.decide(arm.begin(), Attempted(at or view(), seen))[1]


@settings(max_examples=12)
@given(TABLES, st.floats(0, 1))
def test_no_table_leads_out_of_the_fence(table: Any, explore: float) -> None:
    """Table 6's ledger moves, no resend of what may be in, budgets: as for every safe strategy."""
    config = {"learned": {"table": table, "explore": explore}}
    check_strategy(lambda: HfrLearned(config, KIT), walks=8, safe=True)


@pytest.mark.parametrize("seen", [lost(), refused(500), refused(429, retry_after="3")], ids=str)
@pytest.mark.parametrize("level", [None, *SideEffect], ids=str)
def test_without_a_table_it_is_hfr(seen: Observation, level: SideEffect | None) -> None:
    rules = Hfr({}, KIT)
    ruled = rules.decide(rules.begin(), Attempted(view(level), seen))[1]
    own = asked(seen, view(level))
    found = chosen(own.reason)
    if found is not None:
        assert (found.action, found.rules, found.p) == (ruled.action.value,) * 2 + (1.0,)
        own = replace(own, reason=own.reason.removesuffix(str(found)))
    assert own == ruled


def test_a_table_picks_among_what_the_rules_allow() -> None:
    decision = asked(refused(500), table={"T1/model/0/medium": {"ESCALATE": 1.0, "RETRY": 0.5}})
    found = chosen(decision.reason)
    assert decision.action is Action.ESCALATE
    assert found is not None
    assert found.rules == "RETRY"
    assert found.options == ("ESCALATE", "RETRY")  # no rung yet: the rules open none here
    assert asked(refused(500), table={"T1/model/0/medium": {"REPLAN": 9.0}}).action is Action.RETRY


@pytest.mark.parametrize("level", [SideEffect.QUERYABLE, SideEffect.IRREVERSIBLE])
def test_a_write_that_may_have_landed_is_the_rules_alone(level: SideEffect) -> None:
    table = {key: {"RETRY": 9.0} for key in CONTEXTS}
    decision = asked(lost(), view(level), table=table, explore=1.0)
    assert decision.action in (Action.RECONCILE, Action.ESCALATE)
    assert chosen(decision.reason) is None


def test_a_closed_class_is_the_rules_alone() -> None:
    denied = refused(401)
    assert chosen(asked(denied, table={key: {"RETRY": 9.0} for key in CONTEXTS}).reason) is None


@given(
    st.lists(st.sampled_from(ACTIONS), min_size=1, unique=True),
    st.dictionaries(st.sampled_from(ACTIONS), st.floats(-1, 1)),
    st.floats(0, 1),
)
def test_chances_add_up_to_one_and_are_true(
    options: list[str], worths: dict[str, float], explore: float
) -> None:
    learner = Learner({"c": worths}, explore)
    rules, n = options[0], 400
    drawn = [learner.pick("c", tuple(options), rules, (k + 0.5) / n) for k in range(n)]
    told = {one.action: one.p for one in drawn}
    assert sum(told.values()) <= 1 + 1e-9
    for action, p in told.items():
        share = sum(one.action == action for one in drawn) / n
        assert abs(share - p) <= 2 / n + 1e-9
    for one in drawn:
        assert chosen(f"a reason{one}") == one


def test_reasons_that_tell_of_no_choice() -> None:
    assert chosen("retries used up") is None
    assert chosen("[learned] by heart") is None
    one = Chosen("T1/model/0/low", "RETRY", ("ESCALATE", "RETRY"), "RETRY", 1e-07)
    assert chosen(f"x{one}") == one


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"explore": 2}, "explore is a chance from 0 to 1, not 2"),
        ({"explored": 1}, "no setting 'explored'"),
        ({"table": {"c": {}}}, "table: c: is {action: worth}"),
        ({"table": {"c": {"JUMP": 1.0}}}, "no action 'JUMP'; there are: "),
        ({"table": {"c": {"RETRY": "much"}}}, "table: c: RETRY: is no number"),
    ],
)
def test_a_wrong_setting_is_named(own: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HfrLearned({"learned": own}, KIT)


def test_the_other_settings_are_hfrs() -> None:
    assert (
        HfrLearned({"retries_per_task": 0}, KIT)
        .decide(HfrLearned({}, KIT).begin(), Attempted(view(), refused(500)))[1]
        .action
        is not Action.RETRY
    )
    with pytest.raises(ValueError, match="nonsense"):
        HfrLearned({"nonsense": 1}, KIT)
