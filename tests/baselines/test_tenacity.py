"""The tenacity arm against tenacity itself: the same waits for the same chance, the same hits."""

import random
from typing import Any

import pytest
import tenacity
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.baselines.tenacity import WAITS, TenacityRetry
from hfr_bench.model.attempt import Attempted
from hfr_bench.model.terms import Action, Channel, End
from hfr_bench.recovery.kit import Kit
from hfr_bench.testing.fakes import FakeInjector, lost, refused
from hfr_bench.testing.policies import Attempt, wraps
from hfr_bench.testing.rig import Rig

from .conftest import view

seconds = st.floats(0, 1e6, allow_nan=False)
REAL: dict[str, Any] = {
    "random_exponential": lambda s: tenacity.wait_random_exponential(
        multiplier=s["multiplier"], max=s["max_s"], exp_base=s["exp_base"], min=s["min_s"]
    ),
    "exponential": lambda s: tenacity.wait_exponential(
        multiplier=s["multiplier"], max=s["max_s"], exp_base=s["exp_base"], min=s["min_s"]
    ),
    "exponential_jitter": lambda s: tenacity.wait_exponential_jitter(
        multiplier=s["multiplier"],
        max=s["max_s"],
        exp_base=s["exp_base"],
        jitter=s["jitter_s"],
        min=s["min_s"],
    ),
    "none": lambda s: tenacity.wait_none(),
}


def test_every_wait_is_held_against_the_real_one() -> None:
    assert REAL.keys() == WAITS.keys()


@pytest.mark.parametrize("wait", WAITS)
@given(
    settings=st.fixed_dictionaries(
        {
            "multiplier": seconds,
            "min_s": seconds,
            "max_s": seconds,
            "exp_base": st.floats(1, 1000, allow_nan=False),
            "jitter_s": seconds,
        }
    ),
    attempt=st.integers(1, 2000),
    seed=st.integers(0, 1 << 32),
)
def test_a_wait_is_what_tenacity_waits(
    wait: str, settings: dict[str, float], attempt: int, seed: int
) -> None:
    before = random.getstate()
    try:
        random.seed(seed)
        real = REAL[wait](settings)(_state(attempt))
        random.seed(seed)
        u = random.random()
    finally:
        random.setstate(before)
    assert WAITS[wait](attempt, settings, u) == pytest.approx(real, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("config", "ends"),
    [
        ({}, [(1, 1), (1, 2), (1, 4), (1, 8), (1, 16)]),
        ({"wait": "exponential_jitter", "min_s": 0}, [(1, 2), (2, 3), (4, 5), (8, 9), (16, 17)]),
        ({"wait": "exponential", "max_s": 5}, [(1, 1), (2, 2), (4, 4), (5, 5), (5, 5)]),
        ({"wait": "none"}, [(0, 0)] * 5),
    ],
)
def test_the_usual_settings_wait_so_long(config: dict[str, Any], ends: list[Any]) -> None:
    waits = [_waits(config, number) for number in range(300)]
    for of_retry, (low, high) in zip(zip(*waits, strict=True), ends, strict=True):
        assert low <= min(of_retry) <= low + 0.1 * (high - low)
        assert high - 0.1 * (high - low) <= max(of_retry) <= high


@pytest.mark.parametrize("attempts", [1, 2, 3, 6])
@pytest.mark.parametrize("failures", [0, 1, 2, 5, 9])
def test_it_calls_as_often_as_tenacity_does(attempts: int, failures: int) -> None:
    def real(attempt: Attempt) -> Any:
        stop = tenacity.stop_after_attempt(attempts)
        return tenacity.Retrying(stop=stop, wait=tenacity.wait_none())(attempt)

    faults = {
        ("tool:add_order", 1, n): lost() if n % 2 else refused(400) for n in range(1, failures + 1)
    }
    ours = TenacityRetry({"attempts": attempts, "wait": "none"}, Kit())
    runs = [Rig(s, injector=FakeInjector(faults)).run() for s in (ours, wraps(real)())]
    assert runs[0].attempts() == runs[1].attempts() == min(attempts, failures + 1)
    assert runs[0].end is runs[1].end is (End.ACCEPTED if failures < attempts else End.FAILED)


@pytest.mark.parametrize("seen", [refused(400), refused(401), refused(200, "{"), refused(503)])
@pytest.mark.parametrize("channel", Channel)
def test_any_exception_is_tried_again_of_models_and_tools(seen: Any, channel: Channel) -> None:
    _, decision = TenacityRetry({}, Kit()).decide({}, Attempted(view(1, channel), seen))
    assert (decision.action, decision.debit) == (Action.RETRY, 1)


@pytest.mark.parametrize(
    ("seen", "again"),
    [
        *((refused(status), False) for status in (200, 400, 401, 403, 404, 408, 409)),
        *((refused(status), True) for status in (429, 500, 503, 529)),
        (lost(), True),
        (lost("ConnectError", sent=False), True),
    ],
)
def test_a_list_of_exceptions_leaves_the_rest_alone(seen: Any, again: bool) -> None:
    _, decision = TenacityRetry({"on": "transient"}, Kit()).decide({}, Attempted(view(1), seen))
    assert decision.action is (Action.RETRY if again else Action.FAIL)


def test_it_does_not_read_a_stated_wait() -> None:
    event = Attempted(view(1), refused(429, retry_after="50"))
    assert TenacityRetry({}, Kit()).decide({}, event)[1].delay_us == 1_000_000


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"wait": "fibonacci"}, "wait must be one of random_exponential, exponential_jitter"),
        ({"on": "sometimes"}, "on must be one of any, transient, got 'sometimes'"),
        ({"jitter": 1}, "has no setting 'jitter'"),
    ],
)
def test_a_wrong_setting_is_refused_in_words(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TenacityRetry(config, Kit())


def _state(attempt: int) -> tenacity.RetryCallState:
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number = attempt
    return state


def _waits(config: dict[str, Any], number: int) -> list[float]:
    arm = TenacityRetry(config, Kit(chance_key=(number,)))
    events = [Attempted(view(attempt), refused(500)) for attempt in range(1, 6)]
    return [arm.decide({}, event)[1].delay_us / 1e6 for event in events]
