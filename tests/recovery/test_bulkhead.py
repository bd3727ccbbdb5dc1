"""Bulkheads, their reserve, and adaptive concurrency (paper §4.7, third seed)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hfr_bench.model.terms import Criticality
from hfr_bench.recovery.bulkhead import (
    Aimd,
    InUse,
    Pool,
    Uses,
    Workers,
    fits,
    give_back,
    give_back_all,
    on_failure,
    on_success,
    pressure,
    shared,
    should_degrade,
    take,
    take_all,
    workers,
)

LOW, MEDIUM, HIGH = Criticality.LOW, Criticality.MEDIUM, Criticality.HIGH
POOL = Pool(4, reserved_for_critical=1)
MINUTE = 60_000_000

pools = st.integers(1, 8).flatmap(
    lambda capacity: st.builds(Pool, st.just(capacity), st.integers(0, capacity))
)


def held(*critical: bool, pool: Pool = POOL) -> InUse:
    """What is in use once these asked, all of them successfully."""
    in_use: InUse = [0, 0]
    for each in critical:
        in_use, had = take(pool, in_use, each)
        assert had
    return in_use


def test_others_leave_the_reserve_and_critical_tasks_take_any_slot() -> None:
    others = held(False, False, False)
    assert take(POOL, others, critical=False) == (others, False)
    assert take(POOL, others, critical=True) == ([1, 3], True)
    assert not fits(POOL, [1, 3], critical=True)
    assert held(True, True, True, True) == [4, 0]


def test_a_critical_task_does_not_use_up_the_share_of_the_others() -> None:
    assert fits(POOL, held(True, False, False), critical=False)
    assert fits(POOL, None, critical=False)


def test_a_slot_is_given_back_to_whom_it_was_taken_from() -> None:
    assert give_back([1, 3], critical=True) == [0, 3]
    assert give_back([1, 3], critical=False) == [1, 2]
    for in_use, critical in (([0, 3], True), ([1, 0], False), (None, False)):
        with pytest.raises(ValueError, match="no slot to give back"):
            give_back(in_use, critical)


def test_a_limit_shrinks_the_pool_but_never_shuts_it() -> None:
    pool = Pool(10, reserved_for_critical=3)
    assert [shared(pool, limit) for limit in (None, 12, 10, 8, 4, 3, 1, 0)] == [
        *(7, 7, 7, 5, 1, 1, 1, 0)
    ]
    assert shared(Pool(2, reserved_for_critical=2), 1) == 0
    assert fits(pool, [0, 4], critical=False, limit=8)
    assert not fits(pool, [0, 5], critical=False, limit=8)
    assert fits(pool, [2, 5], critical=True, limit=8)
    assert not fits(pool, [3, 5], critical=True, limit=8)
    assert not fits(pool, [0, 10], critical=True, limit=12)


def test_pressure_is_the_share_in_use() -> None:
    assert [pressure(POOL, in_use) for in_use in (None, [0, 0], [1, 1], [1, 3])] == [0, 0, 0.5, 1]
    assert pressure(POOL, [0, 2], limit=2) == 1
    assert pressure(POOL, [0, 2], limit=9) == 0.5
    assert pressure(POOL, [0, 2], limit=0) == 2


def test_the_less_critical_degrade_earlier() -> None:
    busy: list[InUse] = [[0, 2], [1, 2], [0, 3], [1, 3]]
    told = {who: [should_degrade(POOL, at, who) for at in busy] for who in Criticality}
    assert told == {
        LOW: [False, True, True, True],
        MEDIUM: [False, False, True, True],
        HIGH: [False, False, False, True],
    }
    assert not should_degrade(Pool(4, 1, degrade_low_at=1), [1, 2], LOW)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"capacity": 0}, "capacity must be 1"),
        ({"capacity": 2, "reserved_for_critical": 3}, "between 0 and the capacity"),
        ({"capacity": 2, "reserved_for_critical": -1}, "between 0 and the capacity"),
        ({"capacity": 2, "degrade_low_at": 1.5}, "between 0 and 1"),
    ],
    ids=str,
)
def test_settings_that_make_no_pool_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Pool(**wrong)


def test_a_slot_everywhere_or_nowhere() -> None:
    by_kind = {"provider": Pool(2), "tool": Pool(3), "tool:narrow": Pool(1)}
    where = ("tool:narrow", "provider:p", "tenant:t")
    uses: Uses = {}
    one, refused = take_all(by_kind, uses, where, critical=False)
    assert (one, refused, uses) == ({"tool:narrow": [0, 1], "provider:p": [0, 1]}, None, {})
    assert take_all(by_kind, one, where, critical=False) == (one, "tool:narrow")
    two, refused = take_all(by_kind, one, ("tool:wide", "provider:p"), critical=True)
    assert refused is None
    again = take_all(by_kind, two, ("tool:wide", "provider:p"), critical=True)
    assert again == (two, "provider:p")
    back = give_back_all(by_kind, two, where, critical=False)
    assert back == {"tool:narrow": [0, 0], "provider:p": [1, 0], "tool:wide": [1, 0]}
    assert json.loads(json.dumps(back)) == back


class Crowd(RuleBasedStateMachine):
    """Tasks that come and go, against a plain list of who is in."""

    @initialize(pool=pools)
    def begin(self, pool: Pool) -> None:
        self.pool = pool
        self.inside: list[bool] = []
        self.in_use: InUse | None = None

    @rule(critical=st.booleans(), limit=st.none() | st.integers(0, 9))
    def ask(self, critical: bool, limit: int | None) -> None:
        before = json.dumps(self.in_use)
        in_use, had = take(self.pool, self.in_use, critical, limit)
        assert json.dumps(self.in_use) == before
        assert had is fits(self.pool, self.in_use, critical, limit)
        if limit is not None and len(self.inside) >= limit:
            assert not had
        if limit is None and critical:
            assert had is (len(self.inside) < self.pool.capacity)
        self.in_use = json.loads(json.dumps(in_use))
        if had:
            self.inside.append(critical)

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        who = data.draw(st.integers(0, len(self.inside) - 1))
        self.in_use = give_back(self.in_use, self.inside.pop(who))

    @invariant()
    def it_holds(self) -> None:
        critical = sum(self.inside)
        assert (self.in_use or [0, 0]) == [critical, len(self.inside) - critical]
        assert len(self.inside) <= self.pool.capacity
        assert len(self.inside) - critical <= self.pool.capacity - self.pool.reserved_for_critical
        assert 0 <= pressure(self.pool, self.in_use) <= 1


TestCrowd = Crowd.TestCase
TestCrowd.settings = settings(deadline=None)


# -- adaptive concurrency -----------------------------------------------------------------------


class SeedRecovery:
    """The third seed's AdaptiveRecovery, word for word."""

    def __init__(self, max_workers: int = 10):
        self.max_workers = max_workers
        self.current_workers = 1
        self.scale_up_interval = 300

    def on_success(self) -> None:
        if self.current_workers < self.max_workers:
            self.current_workers = min(self.current_workers + 1, self.max_workers)

    def on_failure(self) -> None:
        self.current_workers = max(1, self.current_workers // 2)


@settings(deadline=None)
@given(st.integers(1, 20), st.lists(st.booleans(), max_size=60), st.integers(-5, 5))
def test_without_an_interval_it_does_what_the_seed_does(
    most: int, past: list[bool], step: int
) -> None:
    aimd, seed = Aimd(most, interval_us=0), SeedRecovery(most)
    state: Workers | None = None
    for number, fine in enumerate(past):
        state = (on_success if fine else on_failure)(aimd, state, number * step)
        (seed.on_success if fine else seed.on_failure)()
        assert workers(state) == seed.current_workers


@settings(deadline=None)
@given(
    st.integers(1, 20),
    st.integers(1, 100),
    st.lists(st.tuples(st.booleans(), st.integers(0, 60)), max_size=60),
)
def test_it_grows_once_an_interval_and_stays_within_bounds(
    most: int, interval: int, past: list[tuple[bool, int]]
) -> None:
    aimd = Aimd(most, interval)
    state: Workers | None = None
    now, changed = 0, None
    for fine, step in past:
        now += step
        before = workers(state)
        state = (on_success if fine else on_failure)(aimd, json.loads(json.dumps(state)), now)
        assert 1 <= workers(state) <= most
        if not fine:
            assert workers(state) == max(1, before // 2)
            changed = now
        elif before < most and (changed is None or now - changed >= interval):
            assert workers(state) == before + 1
            changed = now
        else:
            assert workers(state) == before


def test_a_clock_that_went_back_begins_a_new_interval() -> None:
    aimd = Aimd(10, MINUTE)
    state = on_success(aimd, None, 100 * MINUTE)
    state = on_success(aimd, state, 0)
    assert workers(state) == 2
    assert workers(on_success(aimd, state, MINUTE - 1)) == 2
    assert workers(on_success(aimd, state, MINUTE)) == 3


def test_a_lowered_maximum_is_kept() -> None:
    assert workers(on_success(Aimd(4), [9, 0], 0)) == 4
    assert workers(on_failure(Aimd(4), [9, 0], 0)) == 2


@pytest.mark.parametrize(("field", "value"), [("max_workers", 0), ("interval_us", -1)])
def test_settings_that_make_no_aimd_are_refused(field: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"aimd: {field} must be"):
        Aimd(**{field: value})
