"""A trial's registered bounds: each ends it as LIMIT; none is passed by more than an attempt."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.lab.limits import TrialLimits
from hfr_bench.lab.recorder import Sums
from hfr_bench.lab.step import TrialStopped
from hfr_bench.model.attempt import Decision, Observation
from hfr_bench.model.prereg import Limits
from hfr_bench.model.terms import Action, End
from hfr_bench.model.trace import AttemptStarted
from hfr_bench.ports.agent import Runtime, ToolRequest
from hfr_bench.testing.fakes import FakeAgent, FakeClock, FakeInjector, FakeStrategy, lost
from hfr_bench.testing.rig import Ran, Rig


def reply(tokens: int = 10, cost_microusd: int | None = 100) -> Observation:
    return Observation(
        answered=True,
        status=200,
        payload={"role": "assistant", "content": "x"},
        tokens_in=tokens,
        cost_microusd=cost_microusd,
    )


def talk(turns: int, model: Observation, **limits: Any) -> Ran:
    """An agent that asks the model so many times."""

    def run(runtime: Runtime) -> None:
        for _ in range(turns):
            runtime.model([{"role": "user", "content": "hi"}], [])

    plain = FakeStrategy(
        lambda event: Decision(
            Action.DISPATCH if type(event).__name__ == "Proposed" else Action.ACCEPT
        )
    )
    rig = Rig(plain, agent=FakeAgent(run), model=lambda _: model, limits=Limits(**limits))
    return rig.run()


@pytest.mark.parametrize(
    ("limits", "turns", "name"),
    [
        ({"max_turns": 3}, 3, "max_turns = 3"),
        ({"max_tokens": 35}, 4, "max_tokens"),
        ({"max_cost_usd": 0.00025}, 3, "max_cost_usd"),
        ({"max_steps": 2}, 2, "max_steps = 2"),
    ],
)
def test_a_bound_ends_the_trial_as_a_limit(limits: Any, turns: int, name: str) -> None:
    ran = talk(9, reply(), **limits)
    assert ran.end is End.LIMIT
    assert name in ran.reason
    assert ran.attempts() == turns


def test_a_bound_that_is_not_reached_ends_nothing() -> None:
    ran = talk(3, reply(), max_turns=3, max_tokens=1000, max_cost_usd=1.0, max_time_s=1000)
    assert ran.end is End.ACCEPTED


def test_money_that_cannot_be_counted_cannot_be_bounded() -> None:
    ran = talk(5, reply(cost_microusd=None), max_cost_usd=1.0)
    assert (ran.end, ran.attempts()) == (End.LIMIT, 1)
    assert "price is not known" in ran.reason
    assert talk(5, reply(cost_microusd=None)).end is End.ACCEPTED


def retrying(delay_us: int) -> FakeStrategy:
    def decide(event: Any) -> Decision:
        match type(event).__name__:
            case "Proposed":
                return Decision(Action.DISPATCH)
            case "Attempted" if not event.observation.answered:
                return Decision(Action.RETRY, delay_us=delay_us)
            case _:
                return Decision(Action.ACCEPT)

    return FakeStrategy(decide)


@given(st.integers(0, 40_000_000), st.floats(0.5, 60))
def test_neither_a_wait_nor_a_timeout_outlasts_the_trial(delay_us: int, max_time_s: float) -> None:
    faults = {("tool:add_order", 1, n): lost() for n in range(1, 40)}
    agent = FakeAgent(lambda runtime: runtime.tool(ToolRequest("c", "add_order", {"item": "tea"})))
    rig = Rig(
        retrying(delay_us),
        agent=agent,
        injector=FakeInjector(faults),
        limits=Limits(max_time_s=max_time_s),
    )
    ran = rig.run()
    end_us = round(max_time_s * 1_000_000)
    sent = [event for event in ran.events if isinstance(event.body, AttemptStarted)]
    ends = [event.t_us + event.body.timeout_us for event in sent]  # type: ignore[union-attr]
    assert max(ends) <= end_us
    assert sum(rig.clock.waits) <= end_us
    assert ran.end is End.LIMIT


def test_time_that_is_left_is_counted_down_to_nothing() -> None:
    clock = FakeClock()
    bounds = TrialLimits(Limits(max_time_s=2), Sums(), clock)
    assert (bounds.left_us(), bounds.within(5_000_000), bounds.within(7)) == (
        2_000_000,
        2_000_000,
        7,
    )
    clock.wait(3_000_000)
    assert bounds.left_us() == 0
    with pytest.raises(TrialStopped, match="max_time_s"):
        bounds.check()
    assert TrialLimits(Limits(), Sums(), clock).within(9_999) == 9_999
