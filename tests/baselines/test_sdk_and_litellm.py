"""What SDK and litellm do, case by case, without them; test_libraries.py has the real ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.baselines._rules import sdk_told_s, sdk_wait_us
from hfr_bench.baselines.litellm import LitellmCompletion, LitellmRouter, router_wait_us
from hfr_bench.baselines.sdk import SdkDefault
from hfr_bench.model.attempt import Attempted
from hfr_bench.model.terms import Action, Channel
from hfr_bench.recovery.kit import Kit
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import lost, refused

from .conftest import expected, view

LADDER = Kit(substitutes={"m": ("backup",), "backup": ("m",)})
PLAIN = (SdkDefault, LitellmRouter, LitellmCompletion)


def hits(strategy: Any, case: str, **config: Any) -> int:
    return expected(lambda n: strategy(config, Kit(chance_key=(n,))), case).hits


@pytest.mark.parametrize(
    ("case", "sdk", "router", "completion", "through_sdk"),
    [
        ("400", 1, 1, 3, 3),
        ("401", 1, 1, 3, 3),
        ("403", 1, 3, 3, 3),
        ("404", 1, 1, 3, 3),
        ("408", 3, 3, 3, 5),
        ("409", 3, 3, 3, 5),
        ("422", 1, 1, 3, 3),
        ("429", 3, 3, 3, 5),
        ("429 quota", 3, 3, 3, 5),
        ("429 after 121", 1, 3, 3, 3),
        ("500", 3, 3, 3, 5),
        ("529", 3, 3, 3, 5),
        ("503, do not", 1, 3, 3, 3),
        ("400, do", 3, 1, 3, 5),
        ("400 context", 1, 1, 3, 3),
        ("400 policy", 1, 1, 3, 3),
        ("unreadable", 1, 3, 3, 3),
        ("no answer", 3, 3, 3, 5),
        ("closed", 3, 3, 3, 5),
    ],
)
def test_how_often_each_calls(
    case: str, sdk: int, router: int, completion: int, through_sdk: int
) -> None:
    assert hits(SdkDefault, case) == sdk
    assert hits(LitellmRouter, case) == router
    assert hits(LitellmCompletion, case) == completion
    assert hits(LitellmCompletion, case, through_sdk=True) == through_sdk


@pytest.mark.parametrize(("retry", "most"), [(0, 0.5), (1, 1), (3, 4), (4, 8), (9, 8), (5000, 8)])
def test_the_sdk_takes_up_to_a_quarter_off(retry: int, most: float) -> None:
    waits = [sdk_wait_us(refused(500), retry, 120, u) / 1e6 for u in (0.0, 0.5, 0.999999)]
    assert waits == pytest.approx([most, 0.875 * most, 0.75 * most], rel=1e-3)


@pytest.mark.parametrize(
    ("headers", "told_s"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-3"}, -3),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "1e999"}, 121),
        ({"retry-after": "inf"}, float("inf")),
    ],
)
def test_the_sdk_reads_a_stated_wait(headers: dict[str, str], told_s: float | None) -> None:
    assert sdk_told_s(headers, 120) == told_s


@pytest.mark.parametrize(
    ("stated", "waits_s"), [("60", 60), ("61", None), ("0", 0.5), ("nan", 0.5)]
)
def test_a_release_with_another_patience_can_be_registered(
    stated: str, waits_s: float | None
) -> None:
    arm = SdkDefault({"longest_wait_s": 60}, Kit())
    _, decision = arm.decide({}, Attempted(view(1), refused(429, retry_after=stated)))
    if waits_s is None:
        assert decision.action is Action.FAIL
    else:
        assert 0.75 * waits_s <= decision.delay_us / 1e6 <= waits_s


@pytest.mark.parametrize(
    ("stated", "retry", "low"),
    [
        ("2", 0, 2),
        ("60", 0, 60),
        ("61", 0, 0.5),
        ("0.5", 1, 1),
        ("", 2, 2),
        ("", 9, 8),
        ("x", 0, 0.5),
    ],
)
def test_the_router_adds_up_to_three_quarters_of_a_second(
    stated: str, retry: int, low: float
) -> None:
    seen = refused(429, retry_after=stated)
    assert router_wait_us(seen, retry, 0.0) == low * 1e6
    assert router_wait_us(seen, retry, 0.999999) == pytest.approx((low + 0.75) * 1e6, abs=10)


def test_the_router_waits_once_more_before_it_gives_up() -> None:
    (low, high) = expected(lambda n: LitellmRouter({}, Kit(chance_key=(n,))), "500").last_s
    assert low == pytest.approx(2, abs=0.05)
    assert high == pytest.approx(2.75, abs=0.05)
    assert expected(lambda n: LitellmRouter({}, Kit(chance_key=(n,))), "400").last_s == (0, 0)


@pytest.mark.parametrize(("seen", "calls"), [(refused(400), 1), (refused(503), 3)])
def test_the_routers_fallback_takes_any_error_and_starts_anew(seen: Any, calls: int) -> None:
    router = LitellmRouter({}, LADDER)
    state, targets, actions = router.begin(), [], []
    target = "m"
    for attempt in range(1, 9):
        state, decision = router.decide(state, Attempted(view(attempt, target=target), seen))
        targets.append(target)
        actions.append(decision.action)
        target = decision.substitute or target
        if decision.action is Action.FAIL:
            break
    assert targets == ["m"] * calls + ["backup"] * calls
    assert actions.count(Action.DEGRADE_MODEL) == 1


def test_without_retries_the_router_does_not_wait() -> None:
    _, decision = LitellmRouter({"num_retries": 0}, Kit()).decide(
        {"step": 0, "before": 0}, Attempted(view(1), refused(500))
    )
    assert (decision.action, decision.delay_us) == (Action.FAIL, 0)


@pytest.mark.parametrize("strategy", PLAIN)
@pytest.mark.parametrize("seen", [lost(), refused(429), refused(403)])
def test_a_tools_error_is_shown_to_the_agent_at_once(strategy: Any, seen: Any) -> None:
    arm = strategy({}, Kit())
    _, decision = arm.decide(arm.begin(), Attempted(view(1, Channel.TOOL), seen))
    assert (decision.action, decision.delay_us, decision.debit) == (Action.REPLAN, 0, 0)


@given(st.integers(0, 6), st.booleans())
def test_completion_makes_one_and_n_calls_or_one_and_twice_n(n: int, through_sdk: bool) -> None:
    config = {"num_retries": n, "through_sdk": through_sdk}
    arm = LitellmCompletion(config, Kit())
    state = arm.begin()
    for attempt in range(1, 50):
        state, decision = arm.decide(state, Attempted(view(attempt), refused(500)))
        if decision.action is Action.FAIL:
            break
    assert attempt == 1 + n + (n if through_sdk else 0)


def test_a_new_step_starts_anew() -> None:
    for strategy, wanted in ((LitellmCompletion, 3), (LitellmRouter, 3)):
        arm = strategy({}, Kit())
        state, counts = arm.begin(), []
        for step in (1, 2):
            for attempt in range(1, 9):
                event = Attempted(view(attempt, step=step), refused(500))
                state, decision = arm.decide(state, event)
                if decision.action is Action.FAIL:
                    break
            counts.append(attempt)
        assert counts == [wanted, wanted]


@pytest.mark.parametrize("strategy", PLAIN)
@pytest.mark.parametrize("kit", [Kit(), LADDER])
def test_each_keeps_the_rules_of_its_socket(strategy: Any, kit: Kit) -> None:
    assert check_strategy(lambda: strategy({}, kit), walks=40) > 40
