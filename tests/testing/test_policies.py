"""A user's own retry code, turned inside out: what it does is what the strategy decides."""

import random
import time
from typing import Any

import pytest
import stamina
import tenacity

from hfr_bench.model.attempt import Decision, StrategyEvent
from hfr_bench.model.terms import Action, End
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import FakeInjector, lost, refused
from hfr_bench.testing.policies import Attempt, CallFailedError, decides, wraps
from hfr_bench.testing.rig import Rig
from hfr_bench.testing.shop import agent_step

FIRST_TWO = {
    ("tool:add_order", 1, 1): refused(503, retry_after="2"),
    ("tool:add_order", 1, 2): lost(),
}


def loop(times: int, delay_s: float = 0.0) -> Any:
    """Plain retry code, as many write it."""

    def wrapper(attempt: Attempt) -> Any:
        for n in range(times):
            try:
                return attempt()
            except Exception:
                if n == times - 1:
                    raise
                time.sleep(delay_s * 2**n)
        return None

    return wrapper


def ran(wrapper: Any, faults: Any = None) -> Any:
    return Rig(
        wraps(wrapper)(), injector=FakeInjector(FIRST_TWO if faults is None else faults)
    ).run()


def test_a_loop_retries_until_it_is_answered() -> None:
    found = ran(loop(5))
    assert (found.end, found.attempts()) == (End.ACCEPTED, 3)


def test_a_loop_that_gives_up_fails_with_what_it_raised() -> None:
    found = ran(loop(2))
    assert (found.end, found.attempts()) == (End.FAILED, 2)
    assert "raised TimeoutError" in found.reason


def test_what_it_sleeps_is_trial_time_and_no_real_time() -> None:
    began = time.monotonic()
    rig = Rig(wraps(loop(5, delay_s=100))(), injector=FakeInjector(FIRST_TWO))
    rig.run()
    assert [wait for wait in rig.clock.waits if wait >= 1_000_000] == [100_000_000, 200_000_000]
    assert time.monotonic() - began < 5


def test_an_error_answer_is_raised_with_all_that_a_client_sees() -> None:
    seen: list[CallFailedError] = []

    def wrapper(attempt: Attempt) -> Any:
        try:
            return attempt()
        except CallFailedError as error:
            seen.append(error)
            raise

    ran(wrapper)
    assert (seen[0].status, seen[0].headers) == (503, {"retry-after": "2"})


def test_its_jitter_is_the_same_every_time_and_leaves_our_chance_alone() -> None:
    def jittery(attempt: Attempt) -> Any:
        for _ in range(5):
            try:
                return attempt()
            except (OSError, CallFailedError):
                time.sleep(random.random())
        raise AssertionError

    random.seed(1)
    state = random.getstate()
    rigs = [Rig(wraps(jittery)(), injector=FakeInjector(FIRST_TWO)) for _ in range(2)]
    for rig in rigs:
        rig.run()
    assert rigs[0].clock.waits == rigs[1].clock.waits
    assert random.getstate() == state


def test_each_step_starts_anew() -> None:
    faults = {("tool:add_order", n, 1): refused(503) for n in (1, 2)}
    steps = [agent_step("add_order", item=item) for item in ("tea", "milk")]
    found = Rig(wraps(loop(2))(), steps=steps, injector=FakeInjector(faults)).run()
    assert (found.end, found.attempts()) == (End.ACCEPTED, 4)


def test_a_wrapper_is_a_strategy_like_any_other() -> None:
    assert check_strategy(wraps(loop(3, delay_s=0.5))) > 50


def test_a_wrapper_that_swallows_everything_is_not_taken_for_an_answer() -> None:
    def silent(attempt: Attempt) -> Any:
        try:
            return attempt()
        except (OSError, CallFailedError):
            return None

    assert ran(silent, {("tool:look", 1, 1): refused(500)}).end is not End.LIMIT


def test_a_bare_decide_is_a_strategy() -> None:
    def decide(state: dict[str, Any], event: StrategyEvent) -> tuple[dict[str, Any], Decision]:
        name = type(event).__name__
        return state, Decision(Action.DISPATCH if name == "Proposed" else Action.ACCEPT)

    assert Rig(decides(decide)(), injector=FakeInjector({})).run().end is End.ACCEPTED


def test_the_clock_is_given_back_even_if_it_raises() -> None:
    real = time.sleep
    ran(loop(1))
    assert time.sleep is real


def by_tenacity(attempt: Attempt) -> Any:
    wait = tenacity.wait_exponential(1, 60)
    return tenacity.Retrying(stop=tenacity.stop_after_attempt(4), wait=wait)(attempt)


def by_stamina(attempt: Attempt) -> Any:
    return stamina.retry(on=Exception, attempts=4)(attempt)()


@pytest.mark.parametrize("wrapper", [by_tenacity, by_stamina])
def test_the_libraries_that_people_use_work_as_they_are(wrapper: Any) -> None:
    found = ran(wrapper)
    assert (found.end, found.attempts()) == (End.ACCEPTED, 3)
