"""Chance decides after a failure: everything that can be done there, and nothing else."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.attempt import Attempted, Intent, Reconciled, StepView
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, Channel, End, Landed, SideEffect
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.random_legal import RandomLegal
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import lost, refused
from hfr_bench.testing.rig import FULL, Rig, fault, lost_answer
from hfr_bench.testing.shop import agent_step

ENDS = {Action.ESCALATE, Action.FAIL}
QUERY = Equipment(query=True)
WRITE = {"level": SideEffect.QUERYABLE, "channel": Channel.TOOL}


@pytest.mark.parametrize(
    ("view", "kit", "actions"),
    [
        ({}, {}, ENDS | {Action.RETRY}),
        ({}, {"substitutes": {"m": ("b", "c")}}, ENDS | {Action.RETRY, Action.DEGRADE_MODEL}),
        ({"tokens": 9}, {}, ENDS | {Action.RETRY, Action.COMPRESS}),
        ({"channel": Channel.TOOL}, {}, ENDS | {Action.RETRY, Action.REPLAN}),
        (WRITE, {"equipment": QUERY}, ENDS | {Action.RETRY, Action.REPLAN, Action.ACCEPT}),
        (
            {**WRITE, "can_reconcile": True, "equivalents": ("other",)},
            {"equipment": QUERY},
            ENDS
            | {Action.RETRY, Action.REPLAN, Action.ACCEPT, Action.RECONCILE, Action.DEGRADE_TOOL},
        ),
        (
            {**WRITE, "can_reconcile": True},
            {},
            ENDS | {Action.RETRY, Action.REPLAN, Action.ACCEPT},
        ),
    ],
)
def test_everything_legal_is_chosen_equally_often(
    view: dict[str, Any], kit: dict[str, Any], actions: set[Action]
) -> None:
    chosen = Counter(
        _decided(RandomLegal({}, Kit(**kit, chance_key=(n,))), view) for n in range(2000)
    )
    assert {action for action, _ in chosen} == actions
    assert max(chosen.values()) < 1.4 * min(chosen.values())


def test_the_choice_is_the_same_every_time_and_fresh_at_every_draw() -> None:
    def walk() -> list[Action]:
        arm, taken = RandomLegal({"attempts": 99}, Kit(chance_key=("k",))), []
        state = arm.begin()
        for attempt in range(1, 40):
            state, decision = arm.decide(state, Attempted(_view(attempt), lost()))
            taken.append(decision.action)
        return taken

    assert walk() == walk()
    assert len(set(walk())) == 3


@pytest.mark.parametrize(("attempts", "reads"), [(8, 0), (5, 3), (0, 8)])
def test_after_eight_attempts_only_an_end_is_left(attempts: int, reads: int) -> None:
    arm = RandomLegal({}, Kit(equipment=QUERY))
    view = _view(attempts, **WRITE, can_reconcile=True)
    for draw in range(200):
        state = {"step": 1, "draws": draw, "reads": reads}
        action = arm.decide(state, Reconciled(view, lost(), Landed.UNKNOWN))[1].action
        assert action in ENDS | {Action.REPLAN, Action.ACCEPT}


def test_without_faults_chance_has_no_say() -> None:
    steps = (agent_step("look"), agent_step("add_order", item="tea"))
    ran = Rig(RandomLegal({}, Kit()), steps=steps).run()
    assert (ran.end, ran.attempts(), ran.grade.goal_met) == (End.ACCEPTED, 2, True)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_whatever_it_chooses_can_be_done(number: int) -> None:
    faults = [lost_answer("add_order", n=8), fault("busy", "reconcile:add_order", n=2)]
    ran = Rig(RandomLegal({}, Kit(equipment=FULL, chance_key=(number,))), faults=faults).run()
    assert "cannot be done" not in ran.reason
    assert ran.end is not End.LIMIT
    assert ran.attempts() + ran.attempts("reconcile") <= 8


def test_it_keeps_the_rules_of_its_socket() -> None:
    kit = Kit(equipment=FULL, substitutes={"m": ("backup",)})
    assert check_strategy(lambda: RandomLegal({}, kit), walks=80) > 80


def _decided(arm: RandomLegal, view: dict[str, Any]) -> tuple[Action, str | None]:
    decision = arm.decide(arm.begin(), Attempted(_view(1, **view), refused(500)))[1]
    return decision.action, decision.substitute


def _view(
    attempts: int,
    *,
    level: SideEffect = SideEffect.READ,
    channel: Channel = Channel.MODEL,
    **fields: Any,
) -> StepView:
    intent = Intent("i", channel, "m", level, "d", "", "")
    return StepView(1, intent, "p", "m", attempts, 0, 60_000_000, **fields)
