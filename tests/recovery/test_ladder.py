"""The ladder: choose_degradation of the paper, and the constraints that nothing gets around."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.attempt import Fault
from hfr_bench.model.terms import Action, Channel, Criticality, FaultClass, Rung, SideEffect
from hfr_bench.recovery.config import HfrConfig, Policy, compiled
from hfr_bench.recovery.ladder import Choice, Offer, choose, may_substitute, quality

DEFAULT = compiled(HfrConfig())
UNCHARGED = compiled(HfrConfig.of({"degradation": {"charge_budget": False}}))
LOW, MEDIUM, HIGH = Criticality

TWIN = Offer(Rung.SAME_TIER, "model", "twin")
SMALL = Offer(Rung.LOWER_TIER, "model", "small", 0.95)
CACHE = Offer(Rung.FALLBACK, "cache", "kept", 0.95)
TEMPLATE = Offer(Rung.FALLBACK, "template", "rule", 0.95)
PERSON = Offer(Rung.FALLBACK, "human", "desk")
TOOL = Offer(Rung.SAME_TIER, "tool", "other_tool")
ALL = (TWIN, SMALL, CACHE, TEMPLATE, TOOL, PERSON)


def ask(fault: FaultClass | Fault, criticality: Criticality = LOW, **more: Any) -> Choice:
    """choose, for a model step with everything on offer, unless it says otherwise."""
    told = {"channel": Channel.MODEL, "level": SideEffect.READ, "offers": ALL, **more}
    policy = told.pop("policy", DEFAULT)
    fault = fault if isinstance(fault, Fault) else Fault(fault)
    return choose(policy, fault, criticality=criticality, **told)


# -- choose_degradation ------------------------------------------------------------------------


@pytest.mark.parametrize("criticality", Criticality)
def test_an_overflow_is_compressed_once(criticality: Criticality) -> None:
    first = ask(FaultClass.CONTEXT_OVERFLOW, criticality)
    assert (first.rung, first.offer, first.action) == (Rung.COMPRESSED, None, Action.COMPRESS)
    again = ask(FaultClass.CONTEXT_OVERFLOW, criticality, compressed=True)
    assert (again.rung, again.action) == (Rung.NORMAL, None)


@pytest.mark.parametrize("criticality", Criticality)
def test_overload_goes_to_an_equal_model_and_a_lost_tool_to_an_equal_tool(
    criticality: Criticality,
) -> None:
    model = ask(FaultClass.OVERLOAD, criticality)
    assert (model.offer, model.action, model.confirm) == (TWIN, Action.DEGRADE_MODEL, False)
    tool = ask(FaultClass.TOOL_UNAVAILABLE, criticality, channel=Channel.TOOL)
    assert (tool.offer, tool.action) == (TOOL, Action.DEGRADE_TOOL)


def test_overload_goes_further_down_as_far_as_the_criticality_lets_it() -> None:
    used = ["main", "twin"]
    assert ask(FaultClass.OVERLOAD, MEDIUM, used=used).offer == SMALL
    high = ask(FaultClass.OVERLOAD, HIGH, used=used)
    assert (high.offer, high.confirm) == (SMALL, True), "L3 at high: after a person agreed"
    used = [*used, "small"]
    low = ask(FaultClass.OVERLOAD, LOW, used=used)
    assert (low.offer, low.action, low.confirm) == (CACHE, Action.DEGRADE_SCOPE, False)
    medium = ask(FaultClass.OVERLOAD, MEDIUM, used=used)
    assert (medium.offer, medium.confirm) == (CACHE, True)


def test_a_tool_without_an_equal_is_for_a_person() -> None:
    choice = ask(FaultClass.TOOL_UNAVAILABLE, channel=Channel.TOOL, used=["other_tool"])
    assert (choice.rung, choice.offer, choice.action) == (Rung.FALLBACK, PERSON, Action.ESCALATE)
    nobody = ask(FaultClass.TOOL_UNAVAILABLE, channel=Channel.TOOL, offers=())
    assert (nobody.rung, nobody.offer, nobody.action) == (Rung.FALLBACK, None, Action.ESCALATE)
    assert nobody.reason == "nothing to turn to"


@pytest.mark.parametrize(
    ("criticality", "offer", "confirm"), [(LOW, CACHE, False), (MEDIUM, SMALL, False)]
)
def test_an_exhausted_budget_goes_where_the_paper_says(
    criticality: Criticality, offer: Offer, confirm: bool
) -> None:
    choice = ask(FaultClass.TRANSIENT, criticality, policy=UNCHARGED, budget_exhausted=True)
    assert (choice.offer, choice.confirm) == (offer, confirm)
    high = ask(FaultClass.TRANSIENT, HIGH, policy=UNCHARGED, budget_exhausted=True)
    assert (high.rung, high.action) == (Rung.FALLBACK, Action.ESCALATE)


def test_charged_rungs_cannot_be_paid_from_an_exhausted_budget() -> None:
    """Proposition 1 as it stands: no rung may bring an attempt that nobody budgeted for."""
    medium = ask(FaultClass.OVERLOAD, MEDIUM, budget_exhausted=True)
    assert (medium.offer, medium.confirm) == (CACHE, True)
    assert ask(FaultClass.OVERLOAD, LOW, budget_exhausted=True).offer == CACHE
    only = ask(FaultClass.OVERLOAD, MEDIUM, budget_exhausted=True, offers=(SMALL,))
    assert (only.action, only.reason) == (Action.ESCALATE, "small would cost an attempt")


@pytest.mark.parametrize("fault", [FaultClass.TRANSIENT, FaultClass.RATE_LIMIT, FaultClass.TIMEOUT])
def test_what_a_retry_may_clear_asks_for_no_rung(fault: FaultClass) -> None:
    assert ask(fault) == Choice(Rung.NORMAL, None, f"{fault} asks for no rung")


# -- constraints -------------------------------------------------------------------------------


def test_a_poor_record_is_passed_over_with_a_reason() -> None:
    poor = compiled(HfrConfig.of({"degradation": {"history": {"L2:twin": 0.7, "L3": 0.81}}}))
    choice = ask(FaultClass.OVERLOAD, MEDIUM, policy=poor)
    assert choice.offer == SMALL
    assert ask(FaultClass.OVERLOAD, LOW, policy=poor).offer == TWIN, "the floor is 0.6 there"
    strict = ask(FaultClass.OVERLOAD, MEDIUM, policy=poor, quality_floor=0.9, offers=(TWIN, SMALL))
    assert strict.action is Action.ESCALATE
    assert strict.reason.startswith("twin: 0.7 is under the floor 0.9; small: 0.81 is under the")
    assert ask(FaultClass.OVERLOAD, HIGH, policy=poor, quality_floor=0.1).offer != TWIN


def test_a_lower_rung_that_nobody_measured_is_not_taken() -> None:
    unknown = SMALL._replace(quality=None)
    choice = ask(FaultClass.OVERLOAD, offers=(unknown,))
    assert choice.reason == "small: quality was never measured"
    measured = compiled(HfrConfig.of({"degradation": {"history": {"L3:small": 0.9}}}))
    assert ask(FaultClass.OVERLOAD, offers=(unknown,), policy=measured).offer == unknown


def test_quality_is_the_lower_of_what_is_known() -> None:
    policy = compiled(HfrConfig.of({"degradation": {"history": {"L3": 0.8, "L3:small": 0.9}}}))
    assert quality(policy, SMALL) == 0.9
    assert quality(policy, SMALL._replace(target="other")) == 0.8
    assert quality(policy, SMALL._replace(quality=0.5)) == 0.5
    assert quality(DEFAULT, SMALL) == 0.95
    assert quality(DEFAULT, TWIN) is None


def test_nobody_makes_up_the_answer_of_a_write() -> None:
    write = {"channel": Channel.TOOL, "budget_exhausted": True}
    choice = ask(FaultClass.TOOL_UNAVAILABLE, level=SideEffect.QUERYABLE, **write)
    assert choice.action is Action.ESCALATE
    assert ask(FaultClass.TOOL_UNAVAILABLE, level=SideEffect.READ, **write).offer == CACHE


def test_an_irreversible_step_goes_no_lower_than_compression_by_itself() -> None:
    tool = {"channel": Channel.TOOL, "level": SideEffect.IRREVERSIBLE}
    choice = ask(FaultClass.TOOL_UNAVAILABLE, **tool)
    assert (choice.offer, choice.confirm) == (PERSON, True)
    assert "irreversible" in choice.reason
    overflow = ask(FaultClass.CONTEXT_OVERFLOW, **tool, policy=UNCHARGED, budget_exhausted=True)
    assert (overflow.rung, overflow.confirm) == (Rung.COMPRESSED, False)
    careful = HfrConfig.of({"degradation": {"require_human_for": {"irreversible": ["L1"]}}})
    asked = ask(FaultClass.CONTEXT_OVERFLOW, **tool, policy=compiled(careful))
    assert (asked.rung, asked.confirm) == (Rung.COMPRESSED, True)


def test_an_irreversible_step_does_not_pass_over_a_forbidden_compression() -> None:
    given = {"charge_budget": False, "allow_auto_degrade": {"medium": ["L2", "L3"]}}
    policy = compiled(HfrConfig.of({"degradation": given}))
    tool = {"channel": Channel.TOOL, "level": SideEffect.IRREVERSIBLE, "budget_exhausted": True}
    scope = (Offer(Rung.LOWER_TIER, "tool", "less", 0.99),)
    choice = ask(FaultClass.CONTEXT_OVERFLOW, MEDIUM, policy=policy, offers=scope, **tool)
    assert (choice.action, choice.reason) == (Action.ESCALATE, "L1 is not allowed at medium")


def test_a_rung_that_is_not_allowed_is_passed_over() -> None:
    given = {"allow_auto_degrade": {"low": ["L3"]}}
    policy = compiled(HfrConfig.of({"degradation": given}))
    assert ask(FaultClass.OVERLOAD, policy=policy).offer == SMALL
    overflow = ask(FaultClass.CONTEXT_OVERFLOW, policy=policy)
    assert (overflow.action, overflow.reason) == (Action.ESCALATE, "L1 is not allowed at low")


@pytest.mark.parametrize("secondary", [False, True])
@pytest.mark.parametrize("fault_class", [FaultClass.REFUSAL, FaultClass.PERMANENT])
def test_a_refusal_bars_every_rung_even_as_second_guess(
    fault_class: FaultClass, secondary: bool
) -> None:
    fault = Fault(FaultClass.OVERLOAD, 0.6, fault_class) if secondary else Fault(fault_class)
    assert ask(fault, budget_exhausted=True).rung is Rung.NORMAL
    assert not may_substitute(fault_class)


# -- laws --------------------------------------------------------------------------------------

rung_lists = st.lists(st.sampled_from([*Rung][1:]), unique=True)
policies = st.fixed_dictionaries(
    {
        "ladder": rung_lists.map(lambda rungs: [Rung.NORMAL, *sorted(rungs)]),
        "allow_auto_degrade": st.fixed_dictionaries(dict.fromkeys(Criticality, rung_lists)),
        "require_human_for": st.fixed_dictionaries(
            dict.fromkeys((*Criticality, "irreversible"), rung_lists)
        ),
        "charge_budget": st.booleans(),
        "history": st.dictionaries(st.sampled_from(["L2", "L3", "L4", "L2:b"]), st.floats(0, 1)),
    }
).map(lambda given: compiled(HfrConfig.of({"degradation": given})))
offers = st.lists(
    st.builds(
        Offer,
        st.sampled_from(Rung),
        st.sampled_from(["model", "model", "tool", "tool", "scope", "cache", "template", "human"]),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from([None, 0.95, 1.0]) | st.floats(0, 1),
    ),
    min_size=2,
    max_size=10,
)
questions = st.fixed_dictionaries(
    {
        "channel": st.sampled_from(Channel),
        "level": st.sampled_from(SideEffect),
        "criticality": st.sampled_from(Criticality),
        "quality_floor": st.none() | st.floats(0, 1),
        "compressed": st.booleans(),
        "used": st.lists(st.sampled_from(["a", "b", "c"]), max_size=2),
        "offers": offers,
        "budget_exhausted": st.booleans(),
        "unsettled": st.booleans(),
    }
)
# Mostly the classes that ask for a rung: the laws are about what is chosen.
degrading = (FaultClass.OVERLOAD, FaultClass.TOOL_UNAVAILABLE, FaultClass.CONTEXT_OVERFLOW)
faults = st.builds(
    Fault,
    st.sampled_from([*degrading, *degrading, *degrading, *FaultClass]),
    st.floats(0, 1),
    st.sampled_from([None] * 20 + [*FaultClass]),
)


@settings(max_examples=400, deadline=None)
@given(policies, faults, questions)
def test_no_choice_ever_breaks_a_constraint(
    policy: Policy, fault: Fault, asked: dict[str, Any]
) -> None:
    choice = choose(policy, fault, **asked)
    criticality, level = asked["criticality"], asked["level"]
    rung, offer = choice.rung, choice.offer
    handed_over = rung is Rung.FALLBACK and (offer is None or offer.kind == "human")
    if not (may_substitute(fault.fault_class) and may_substitute(fault.secondary)):
        assert rung is Rung.NORMAL, "led around a refusal or a permission"
    if asked["unsettled"] and level.writes:
        assert rung is Rung.NORMAL, "went on before the world was asked"
    if handed_over:
        assert choice.confirm
        return
    if rung is not Rung.NORMAL:
        permitted = policy.human if choice.confirm else policy.allowed
        irreversible = level is SideEffect.IRREVERSIBLE
        person = policy.human_irreversible if irreversible and choice.confirm else frozenset()
        assert rung in permitted[criticality] | person, "not allowed"
        assert not irreversible or rung is Rung.COMPRESSED, "an irreversible step went down"
    if offer is not None:
        assert offer.rung is rung
        assert offer.target not in asked["used"]
        known = quality(policy, offer)
        assert known is None or known >= policy.floors[criticality]
        assert known is None or known >= (asked["quality_floor"] or 0)
        assert known is not None or rung is Rung.SAME_TIER
        assert offer.kind != ("model" if asked["channel"] is Channel.TOOL else "tool")
        if asked["budget_exhausted"] and policy.charge_rungs:
            assert offer.kind in ("scope", "cache", "template"), "an attempt nobody paid for"


@given(policies, faults, questions)
def test_walking_down_the_ladder_comes_to_an_end(
    policy: Policy, fault: Fault, asked: dict[str, Any]
) -> None:
    """Each choice uses up its target or the compression, so that no step degrades for ever."""
    used = list(asked.pop("used"))
    compressed = asked.pop("compressed")
    for _ in range(5):  # three targets and one compression
        choice = choose(policy, fault, used=used, compressed=compressed, **asked)
        if choice.action in (None, Action.ESCALATE):
            return
        compressed = compressed or choice.rung is Rung.COMPRESSED
        used += [choice.offer.target] if choice.offer else []
    raise AssertionError(f"still going down: {choice}")
