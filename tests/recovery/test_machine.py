"""An exhaustive walk of the controller's reachable states (paper §4.9, table 9).

No illegal move, nothing that a guard could not carry out, and no dead end: every road leads to an
end, and none leads in a circle. The worlds are small (one or two steps, two attempts each, every
kind of answer), and everything that may be heard in them is heard.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from graphlib import CycleError
from itertools import islice
from typing import Any

import pytest

from hfr_bench.model.attempt import Attempted, Decision, GoalChanged, Proposed, Receipt, Verified
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, Criticality, Landed
from hfr_bench.model.terms import LedgerState as S
from hfr_bench.recovery.hfr import (
    Hfr,
    HfrWithoutBreaker,
    HfrWithoutBudget,
    HfrWithoutIdempotency,
    HfrWithoutVerifier,
)
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.machine import Phase, check, route
from hfr_bench.testing.roads import (
    KINDS,
    MODEL,
    R1,
    R1_BARE,
    R2,
    R3,
    READ,
    Kind,
    Place,
    Walk,
    decided,
)

LEAST = 25
"""Nodes that the smallest of the walks has at least."""
WAY_OUT, LONGEST = 5, 25
"""Decisions from anywhere to the nearest end and to the furthest, at the most."""

EQUIPPED = Equipment(ledger=True, query=True, ladder=True)
CONFIG: dict[str, Any] = {
    "retry": {"max_attempts_per_step": 2, "max_retries_per_task": 2},
    "circuit_breaker": {"consecutive_failures": 2},
    "degradation": {"history": {"L3:small": 0.95}},
}
UNBUDGETED = {**CONFIG, "retry": {"max_attempts_per_step": 2}}
ARMS = (Hfr, HfrWithoutVerifier, HfrWithoutIdempotency, HfrWithoutBudget, HfrWithoutBreaker)


def kit(criticality: Criticality = Criticality.MEDIUM, equipment: Equipment = EQUIPPED) -> Kit:
    return Kit(
        equipment=equipment,
        substitutes={"m": ("backup",)},
        lower={"m": ("small",)},
        chance_key=("machine",),
        criticality=criticality,
    )


def config_of(arm: type[Hfr]) -> Mapping[str, Any]:
    return UNBUDGETED if arm is HfrWithoutBudget else CONFIG


class Alone(Hfr):
    """Where no person is called for what is permanent or used up: such a task fails."""

    def __init__(self, config: Mapping[str, Any], kit: Kit) -> None:
        super().__init__(config, replace(kit, escalates_permanent=False, escalates_exhausted=False))


@cache
def walked(arm: type[Hfr], plan: tuple[Kind, ...], late: bool, criticality: Criticality) -> Walk:
    steps = 1 if arm is HfrWithoutBudget else 3
    return Walk(arm(config_of(arm), kit(criticality)), plan, late=late, steps=steps)


SINGLE = tuple((kind,) for kind in KINDS)
PAIRS = ((R1, MODEL), (R3, READ))
LOW, MEDIUM, HIGH = Criticality
WALKS = (
    *((arm, plan, False, MEDIUM) for arm in ARMS for plan in SINGLE),
    *((Hfr, plan, False, MEDIUM) for plan in PAIRS),
    *((Hfr, (kind,), False, HIGH) for kind in (MODEL, READ, R1_BARE, R3)),
    (Hfr, (MODEL,), False, LOW),
    *((Alone, (kind,), False, MEDIUM) for kind in (MODEL, READ, R1, R1_BARE, R2, R3)),
    *((arm, plan, True, MEDIUM) for arm in (Hfr, HfrWithoutIdempotency) for plan in SINGLE),
)


def named(walk: tuple[type[Hfr], tuple[Kind, ...], bool, Criticality]) -> str:
    arm, plan, late, criticality = walk
    names = "+".join(kind.name for kind in plan)
    return f"{arm.__name__}-{names}-{criticality}{'-late' if late else ''}"


@pytest.mark.parametrize("walk", WALKS, ids=named)
def test_every_reachable_state_is_legal_and_has_a_way_to_an_end(walk: Any) -> None:
    """Legality is asserted while walking."""
    found = walked(*walk)
    assert len(found.nodes) > LEAST
    assert len(found.ends) > LEAST // 2
    nearest, furthest = found.ways_out()
    assert nearest <= WAY_OUT
    assert furthest <= LONGEST


def test_the_walks_are_not_small() -> None:
    assert sum(len(walked(*walk).nodes) for walk in WALKS) > 30_000


def test_all_fifteen_phases_are_visited() -> None:
    """And DONE, which is the end and none of them."""
    visited = set().union(*(walked(*walk).phases for walk in WALKS))
    assert visited == set(Phase)
    assert len(visited - {Phase.DONE}) == 15


def test_no_task_fails_on_a_write_of_unknown_outcome_without_a_person() -> None:
    failed = 0
    for walk in WALKS:
        found = walked(*walk)
        for state, place in found.ends:
            if place.rest is Phase.DONE and json.loads(state)["stop"] == "unrecoverable":
                failed += 1
                assert S.UNKNOWN not in {entry[1] for _, entry in place.store}, place
    assert failed > 100


def ends() -> Iterator[tuple[Walk, str, Place]]:
    for walk in WALKS:
        found = walked(*walk)
        if found.late:
            for state, place in dict(found.ends).items():
                if json.loads(state)["goal"] == place.goal:  # a stale one has yet to hear of it
                    yield found, state, place


def test_an_end_absorbs_whatever_comes_after_it() -> None:
    count = 0
    for walk, state, place in islice(ends(), 0, None, 3):
        count += 1
        for waits in ("proposed", "finishing", "dispatched", "reconciling", "V1"):
            for event in walk.heard(place._replace(waits=waits, stale="")):
                if isinstance(event, Receipt | GoalChanged):
                    continue
                after, decision = decided(walk.strategy, state, event)
                assert json.dumps(after) == state, event
                assert decision.action is Action.FAIL
                assert not decision.moves
                check(route(event, decision))
                assert route(event, decision)[-2:] == (Phase.FAIL, Phase.DONE)
    assert count > 1_000


def test_late_news_of_a_restart_does_not_reopen_an_end() -> None:
    for walk, state, place in ends():
        after, _ = decided(walk.strategy, state, walk.crash(place, drifted=False))
        assert after["stop"]
        after, decision = decided(walk.strategy, json.dumps(after), Proposed(walk.view(place)))
        assert decision.action is Action.FAIL


def test_another_goal_is_another_version_and_old_writes_stay_of_the_old() -> None:
    for walk, state, place in ends():
        again, newer = place._replace(goal=place.goal), place._replace(goal=place.goal + 1)
        known, _ = decided(walk.strategy, state, GoalChanged(place.now_us, again.goal))
        assert json.dumps(known) == state
        fresh, _ = decided(walk.strategy, state, GoalChanged(place.now_us, newer.goal))
        assert (fresh["stop"], fresh["goal"]) == ("", newer.goal)
        assert fresh["ledger"] == json.loads(state)["ledger"]
        _, decision = decided(walk.strategy, json.dumps(fresh), Proposed(walk.view(newer)))
        assert decision.action is not Action.FAIL
        for key, (name, was, goal) in place.store:
            if was is not S.UNKNOWN:
                continue
            receipt = Receipt(place.now_us, key, Landed.COMMITTED, goal)
            after, decision = decided(walk.strategy, json.dumps(fresh), receipt)
            assert [move.to for move in decision.moves] == [S.RECONCILED_COMMITTED]
            assert after["ledger"][key][:3] == [name, S.RECONCILED_COMMITTED, goal]
            assert not after["stop"]


def test_a_step_that_table_9_does_not_have_is_seen() -> None:
    with pytest.raises(ValueError, match="controller: DECIDE -> ACCEPT is illegal; allowed: COM"):
        check((Phase.CHECK, Phase.DECIDE, Phase.ACCEPT))


class Careless(Hfr):
    """Retries what its table of moves does not allow to be retried."""

    def decide(self, state: Any, event: Any) -> Any:
        after, decision = super().decide(state, event)
        if isinstance(event, Verified) and decision.action is Action.REPLAN:
            return after, Decision(Action.COMPRESS)
        return after, decision


def test_the_walk_catches_what_cannot_be_carried_out_and_a_state_that_is_changed() -> None:
    with pytest.raises(AssertionError, match="COMPRESS"):
        Walk(Careless(CONFIG, kit()), (R1_BARE,))

    class Changing(Hfr):
        def decide(self, state: Any, event: Any) -> Any:
            state["used"] += 1
            return super().decide(state, event)

    with pytest.raises(AssertionError, match="changed its state"):
        Walk(Changing(CONFIG, kit()), (READ,))


def test_the_walk_catches_a_circle_and_a_road_without_an_end() -> None:
    class Circling(Hfr):
        def decide(self, state: Any, event: Any) -> Any:
            return state, Decision(Action.RETRY)

    with pytest.raises(CycleError):
        Walk(Circling(CONFIG, kit()), (R1_BARE,)).ways_out()

    class Endless(Hfr):
        def decide(self, state: Any, event: Any) -> Any:
            retry = isinstance(event, Attempted)
            return state, Decision(Action.RETRY if retry else Action.DISPATCH)

    with pytest.raises(AssertionError, match="more than 100 states"):
        Walk(Endless(CONFIG, kit()), (R1_BARE,), most=100)
