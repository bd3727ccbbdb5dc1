"""What the controllers hand on in a cohort: only what an arm has, and it is what it was."""

import json
from typing import Any

import pytest

from hfr_bench import plugins
from hfr_bench.model.attempt import Attempted, Intent, Proposed, StepView
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, Channel, SideEffect
from hfr_bench.ports.strategy import Sharing
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.tiered import Tiered
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import refused

KIT = Kit(
    equipment=Equipment(ledger=True, query=True, ladder=True),
    substitutes={"m": ("m2",)},
    breaker_tenant="acme",
)
UNLIMITED = {"retry": {"max_retries_per_tenant_per_min": None}}
READ = Intent("i", Channel.TOOL, "look", SideEffect.READ, "d", "k", "look")
ASK = Intent("i", Channel.MODEL, "m", SideEffect.READ, "d", "", "")


def fail(strategy: Any, state: Any, times: int, now_us: int = 0, intent: Intent = READ) -> Any:
    """Calls that fail, each in a step of its own."""
    for n in range(1, times + 1):
        view = StepView(n, intent, "p", intent.target, 1, now_us, 10**12)
        state, _ = strategy.decide(state, Attempted(view, refused(500)))
        state = {**state, "stop": ""} if "stop" in state else state
    return state


def view(now_us: int, intent: Intent = READ) -> Proposed:
    return Proposed(StepView(9, intent, "p", intent.target, 0, now_us, 10**12))


@pytest.mark.parametrize(
    ("arm", "config", "parts"),
    [
        ("hfr", {}, {"breaker", "tenant_budget"}),
        ("hfr", UNLIMITED, {"breaker"}),
        ("hfr-breaker", {}, {"tenant_budget"}),
        ("hfr-breaker", UNLIMITED, set()),
        ("tiered", {}, {"breaker"}),
    ],
)
def test_an_arm_hands_on_what_it_has(arm: str, config: Any, parts: set[str]) -> None:
    made = plugins.find("strategies", arm)(config, KIT)
    assert isinstance(made, Sharing)
    assert made.carry(made.begin()).keys() == parts
    assert not any(made.carry(made.begin()).values())
    assert made.begin_with({}) == made.begin()


@pytest.mark.parametrize("arm", ["no_retry", "exp_retry", "blind_resend", "oracle_recovery"])
def test_others_hand_on_nothing(arm: str) -> None:
    assert not isinstance(plugins.find("strategies", arm)({}, KIT), Sharing)


def test_a_breaker_that_was_handed_on_is_open_until_it_cools_down() -> None:
    first = Hfr({}, KIT)
    state = fail(first, first.begin(), 5)
    handed = json.loads(json.dumps(first.carry(state)))
    second = Hfr({}, KIT)
    begun = second.begin_with(handed)
    until = second.commons(begun, 0).open_until
    assert set(until) == {"tool:look"}
    assert begun["shut"]
    _, kept = second.decide(begun, view(0))
    assert kept.action is not Action.DISPATCH
    _, sent = second.decide(begun, view(until["tool:look"]))
    assert sent.action is Action.DISPATCH
    assert begun["ledger"] == {}
    assert begun["used"] == 0  # what is a task's own begins anew


def test_a_bucket_that_was_handed_on_fills_with_time_alone() -> None:
    few = {"retry": {"max_retries_per_tenant_per_min": 2}, "circuit_breaker": {"enabled": False}}
    first = Hfr(few, KIT)
    state = fail(first, first.begin(), 2)
    second = Hfr(few, KIT)
    begun = second.begin_with(json.loads(json.dumps(first.carry(state))))
    assert [second.commons(begun, us).tenant_left for us in (0, 30_000_000, 60_000_000)] == [
        0,
        1,
        2,
    ]
    assert second.commons(second.begin(), 0).tenant_left == 2


def test_an_arm_without_breaker_ignores_one_that_it_is_given() -> None:
    donor = Hfr({}, KIT)
    handed = donor.carry(fail(donor, donor.begin(), 5))
    other = plugins.find("strategies", "hfr-breaker")(UNLIMITED, KIT)
    assert other.begin_with(handed) == other.begin()


def test_tiered_shares_the_breakers_of_its_models() -> None:
    first = Tiered({}, KIT)
    state = fail(first, first.begin(), 5, intent=ASK)
    second = Tiered({}, KIT)
    begun = second.begin_with(json.loads(json.dumps(first.carry(state))))
    assert second.commons(begun, 0).open_until == {"model:m": 300_000_000}
    assert second.decide(begun, view(0, ASK))[1].action is Action.DEGRADE_MODEL
    assert second.decide(begun, view(300_000_001, ASK))[1].action is Action.DISPATCH


@pytest.mark.parametrize("arm", ["hfr", "tiered"])
def test_the_kit_leads_them_through_cohorts(arm: str) -> None:
    tight = {"retry": {"max_retries_per_tenant_per_min": 3}} if arm == "hfr" else {}
    made = plugins.find("strategies", arm)
    assert check_strategy(lambda: made(tight, KIT), walks=25) > 0
