"""Canaries and switches: who acts, when a candidate is taken back, and what then stops."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Finishing,
    GoalChanged,
    Prepared,
    Proposed,
    StrategyEvent,
    Verdict,
    Verified,
)
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, CheckLevel, SideEffect
from hfr_bench.recovery.deploy import (
    CANDIDATE,
    STABLE,
    Canary,
    Shadow,
    Tally,
    chosen,
    deployed,
    fresh_rollout,
    guarded,
    note,
    rollout_of,
    switched_on,
    throw_switch,
)
from hfr_bench.recovery.guarded import Decides
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.settings import Deployment, Rollback
from hfr_bench.recovery.strategies import AlwaysEscalate, BlindResend, ExpRetry, NoRetry
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import fine, lost, refused
from hfr_bench.testing.wrapped import DEADLINE_US, Breaks, Says
from hfr_bench.testing.wrapped import step_view as view

KIT = Kit(equipment=Equipment(ledger=True, query=True, ladder=True), substitutes={"m": ("b",)})
WRITE = SideEffect.QUERYABLE
OK, BUSY = fine(), refused(503)
READING, WRITING = view(attempts=1), view(WRITE, attempts=1)
END = Finishing(0, DEADLINE_US)


tasks = st.text(max_size=8)


@given(st.floats(0, 100), st.floats(0, 100), tasks, tasks, tasks)
def test_a_growing_share_keeps_those_it_had(
    one: float, other: float, key: str, tenant: str, task: str
) -> None:
    low, high = sorted((one, other))
    assert chosen(high, key, tenant, task) or not chosen(low, key, tenant, task)
    assert not chosen(0, key, tenant, task)
    assert chosen(100, key, tenant, task)


def test_the_share_is_about_what_was_asked_for() -> None:
    hit = [chosen(10, "salt", "t", str(n)) for n in range(5000)]
    assert 400 < sum(hit) < 600
    assert hit != [chosen(10, "pepper", "t", str(n)) for n in range(5000)]
    assert hit != [chosen(10, "salt", "u", str(n)) for n in range(5000)]


def canary(percent: float = 100, **more: Any) -> Canary:
    return Canary(NoRetry({}, KIT), AlwaysEscalate({}, KIT), percent, "k", **more)


@pytest.mark.parametrize(("percent", "lane"), [(0, STABLE), (100, CANDIDATE)])
def test_a_lane_acts_alone(percent: float, lane: str) -> None:
    one = canary(percent)
    state, decision = one.decide(one.begin(), Attempted(READING, BUSY))
    assert decision.action is {STABLE: Action.FAIL, CANDIDATE: Action.ESCALATE}[lane]
    assert state["lane"] == lane


@pytest.mark.parametrize("percent", [-1, 100.1, float("nan")])
def test_a_share_is_a_percentage(percent: float) -> None:
    with pytest.raises(ValueError, match="0 to 100 percent"):
        canary(percent)


@pytest.mark.parametrize(
    ("percent", "events", "stable", "candidate"),
    [
        (100, (Attempted(READING, BUSY),), [0, 0, 0, 0], [1, 0, 1, 0]),
        (0, (Attempted(READING, BUSY),), [1, 1, 0, 0], [0, 0, 0, 0]),
        (100, (Attempted(READING, OK), END), [0, 0, 0, 0], [1, 0, 0, 0]),
        (100, (Attempted(READING, OK),), [0, 0, 0, 0], [0, 0, 0, 0]),
        (100, (END, END), [0, 0, 0, 0], [1, 0, 0, 0]),
        (100, (GoalChanged(0, 2),), [0, 0, 0, 0], [0, 0, 0, 0]),
    ],
)
def test_ended_tasks_are_counted_once_in_their_lane(
    percent: float, events: tuple[StrategyEvent, ...], stable: list[int], candidate: list[int]
) -> None:
    one = canary(percent)
    state = one.begin()
    for event in events:
        state, _ = one.decide(state, event)
    assert rollout_of(state) == {STABLE: stable, CANDIDATE: candidate, "rolled_back": ""}


def test_an_end_that_is_not_accepted_is_a_failure() -> None:
    one = Canary(NoRetry({}, KIT), Says(Action.DISPATCH), 100)
    assert rollout_of(one.decide(one.begin(), END)[0])[CANDIDATE] == [1, 1, 0, 0]


def test_the_candidate_is_taken_back_when_it_escalates_too_often() -> None:
    bounds = Rollback(min_sample=4, escalation_rise=0.1)
    rollout: Any = None
    lanes = []
    for n in range(8):
        one = canary(task_id=str(n), rollout=rollout, deployment=Deployment(rollback=bounds))
        state, _ = one.decide(one.begin(), Attempted(READING, BUSY))
        rollout = json.loads(json.dumps(rollout_of(state)))
        lanes.append(state["lane"])
    assert lanes == [CANDIDATE] * 4 + [STABLE] * 4
    assert rollout["rolled_back"] == ("escalated: 4 of 4 tasks, stable 0 of 1; 10% more allowed")


BOUNDS = Rollback(min_sample=10, duplicates=0, escalation_rise=0.10, failure_rise=0.05)


@pytest.mark.parametrize(
    ("candidate", "stable", "why"),
    [
        (Tally(1, duplicates=1), Tally(100), "1 duplicate effects, 0 allowed"),
        (Tally(9, failed=9, escalated=9), Tally(100), ""),
        (Tally(10, escalated=1), Tally(100), ""),
        (Tally(10, escalated=2), Tally(100), "escalated: 2 of 10"),
        (Tally(10, escalated=2), Tally(10, escalated=1), ""),
        (Tally(10, escalated=2), Tally(9, escalated=9), "escalated: 2 of 10"),
        (Tally(20, failed=2), Tally(100, failed=10), ""),
        (Tally(20, failed=4), Tally(100, failed=10), "failed: 4 of 20 tasks, stable 10 of 100"),
        (Tally(100), Tally(100, failed=100, escalated=100, duplicates=9), ""),
    ],
)
def test_what_takes_a_canary_back(candidate: Tally, stable: Tally, why: str) -> None:
    rollout = note(fresh_rollout(), STABLE, stable, BOUNDS)
    said = note(rollout, CANDIDATE, candidate, BOUNDS)["rolled_back"]
    assert said.startswith(why) if why else said == ""


tallies = st.builds(Tally, *[st.integers(0, 5)] * 4)
lanes = st.sampled_from([STABLE, CANDIDATE])


@given(st.lists(st.tuples(lanes, tallies), max_size=20))
def test_a_rollback_is_sticky_and_sums_are_sums(given_: list[tuple[str, Tally]]) -> None:
    rollout, reason = fresh_rollout(), ""
    for lane, one in given_:
        before = json.dumps(rollout)
        after = note(rollout, lane, one, BOUNDS)
        assert json.dumps(rollout) == before
        assert not reason or after["rolled_back"] == reason
        rollout, reason = after, after["rolled_back"]
    for lane in (STABLE, CANDIDATE):
        added = [sum(part) for part in zip(*(t for at, t in given_ if at == lane), strict=True)]
        assert rollout[lane] == (added or [0, 0, 0, 0])


def test_a_canary_keeps_the_rules_on_either_lane() -> None:
    for percent in (0, 100):
        made = lambda p=percent: Canary(Hfr({}, KIT), Hfr({}, KIT), p, "k")  # noqa: E731
        assert check_strategy(made, walks=40, safe=True) > 100


# -- switches ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "on"),
    [
        ({}, True),
        ({"kill_switch": True}, False),
        ({"tenants": {"t": False}}, False),
        ({"tenants": {"t": True}}, True),
        ({"tenants": {"u": False}}, True),
        ({"mode": "off"}, False),
    ],
)
def test_switches(fields: dict[str, Any], on: bool) -> None:
    deployment = Deployment(**fields)
    assert switched_on(deployment, "t") is on
    assert canary(tenant="t", deployment=deployment).begin()["lane"] == (
        CANDIDATE if on else STABLE
    )
    stable, candidate = NoRetry({}, KIT), BlindResend({}, KIT)
    assert (deployed(deployment, stable, candidate, tenant="t") is candidate) is on


@pytest.mark.parametrize(("mode", "kind"), [("shadow", Shadow), ("canary", Canary)])
def test_a_mode_is_a_wrapper(mode: Any, kind: type) -> None:
    made = deployed(Deployment(mode=mode), NoRetry({}, KIT), BlindResend({}, KIT), task_id="x")
    assert type(made) is kind


def taken(*events: StrategyEvent) -> tuple[Canary, dict[str, Any]]:
    """A canary whose candidate has heard the events, and was then switched off."""
    one = Canary(Says(Action.ACCEPT, reason="stable"), NoRetry({}, KIT), 100)
    state = one.begin()
    for event in events:
        state, _ = one.decide(state, event)
    return one, throw_switch(state, "too many retries")


def test_a_switch_hands_reads_to_the_stable_strategy() -> None:
    one, state = taken(Proposed(view()))
    for event in (Attempted(READING, BUSY), Proposed(view(WRITE, step=2)), END):
        state, decision = one.decide(state, event)
        assert (decision.reason, state["lane"]) == ("stable", STABLE)
    assert rollout_of(state)[STABLE] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "event",
    [Attempted(WRITING, OK), Attempted(WRITING, lost()), Proposed(WRITING),
     Proposed(view(WRITE, step=2)), END],
)  # fmt: skip
def test_a_switch_stops_the_writes_of_a_task_that_has_written(event: StrategyEvent) -> None:
    one, state = taken(Proposed(view(WRITE)))
    state, decision = one.decide(state, event)
    assert (decision.action, decision.reason) == (
        (Action.ESCALATE, "switched off, fail-closed: too many retries")
    )
    state, decision = one.decide(state, Proposed(view(step=3)))
    assert decision.reason == "stable"
    assert one.decide(state, Proposed(view(WRITE, step=4)))[1].action is Action.ESCALATE
    assert one.decide(state, END)[1].action is Action.ESCALATE


def test_a_write_that_was_only_prepared_is_not_sent_by_a_candidate_that_is_off() -> None:
    one = Canary(NoRetry({}, KIT), Says(Action.DISPATCH, prepare=True), 100)
    state, _ = one.decide(one.begin(), Proposed(view(WRITE)))
    decision = one.decide(throw_switch(state), Prepared(view(WRITE), OK))[1]
    assert (decision.action, decision.reason) == (
        (Action.ESCALATE, "switched off, fail-closed: kill switch")
    )


def test_a_read_that_the_stable_strategy_does_not_know_is_ended_by_the_candidate() -> None:
    one, state = taken(Proposed(view()), Attempted(READING, OK))
    verdict = Verdict(CheckLevel.SEMANTIC, passed=True)
    state, decision = one.decide(state, Verified(READING, verdict))
    assert (decision.reason, state["lane"]) == ("", CANDIDATE)
    assert one.decide(state, Proposed(view(step=2)))[1].reason == "stable"


class Thrown:
    """A canary that is switched off after so many decisions."""

    def __init__(self, after: int) -> None:
        self._canary = Canary(Hfr({}, KIT), Hfr({}, KIT), 100)
        self._left = after

    def begin(self) -> dict[str, Any]:
        return {"canary": self._canary.begin(), "left": self._left}

    def decide(
        self, state: dict[str, Any], event: StrategyEvent
    ) -> tuple[dict[str, Any], Decision]:
        inner = state["canary"]
        if state["left"] == 0:
            inner = throw_switch(inner)
        inner, decision = self._canary.decide(inner, event)
        return {"canary": inner, "left": state["left"] - 1}, decision


@pytest.mark.parametrize("after", range(0, 20, 3))
def test_whenever_the_switch_is_thrown_no_doubtful_write_is_sent_again(after: int) -> None:
    assert check_strategy(lambda: Thrown(after), walks=60, safe=True) > 60


NESTED = (
    lambda: guarded(Shadow(Hfr({}, KIT), Breaks(ExpRetry({}, KIT), 0.3))),
    lambda: Canary(ExpRetry({}, KIT), guarded(Hfr({}, KIT)), 50, "k", task_id="t"),
)


@pytest.mark.parametrize("made", NESTED)
def test_wrappers_nest(made: Callable[[], Decides]) -> None:
    assert check_strategy(made, walks=10) > 10
