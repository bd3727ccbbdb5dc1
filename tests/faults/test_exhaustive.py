"""The exhaustive design: every fault once and no other, whatever the task; caught where it must."""

import os
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.faults.exhaustive import Injection, injections, schedules
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.schedule import FaultSchedule, KindSpec, Lasts, Stall
from hfr_bench.model.task import OracleStep
from hfr_bench.model.terms import End, Layer, SideEffect
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import BlindResend, NoRetry, OracleRecovery
from hfr_bench.testing.rig import KINDS as RIG_KINDS
from hfr_bench.testing.rig import Ran, Rig
from hfr_bench.testing.shop import TOOLS, agent_step, task

KINDS = RIG_KINDS | {
    "surely_lost": KindSpec(
        kind="surely_lost",
        layer=Layer.TOOL,
        points=("tool:add_order",),
        levels=(SideEffect.QUERYABLE,),
        wire={"tool": Stall(stall_s=9)},
        lands=0.0,
        lasts=((1.0, Lasts(unit="trial")),),
        params={"code": (1, 2, 3)},
    ),
    "of_models": KindSpec(kind="of_models", layer=Layer.MODEL, points=("*",)),
}
MATRIX = FaultMatrix(
    name="m",
    mixes=(
        Mix(points=("tool:look",), kinds={"busy": 1}),
        Mix(points=("*",), kinds={"lost": 0.01, "busy": 99, "surely_lost": 1, "of_models": 1}),
    ),
)
SHOP = task("shop/rig")
ARGUMENTS = {"add_order": {"item": "tea"}, "set_address": {"to": "here"}, "send_mail": {"text": ""}}
LEVELS = {tool.name: tool.level for tool in TOOLS}
TRUTH = Equipment(query=True, truth=True)


def call(name: str, actor: str = "agent") -> OracleStep:
    return OracleStep.model_validate(
        {"actor": actor, "tool": name, "arguments": ARGUMENTS.get(name, {})}
    )


def found(steps: list[OracleStep], horizon: int = 60) -> tuple[Injection, ...]:
    return injections(SHOP, steps, MATRIX, KINDS, horizon)


def made(steps: list[OracleStep], seed: int = 1, horizon: int = 60) -> list[FaultSchedule]:
    return list(schedules(SHOP, seed, found(steps, horizon), horizon))


def fitting(name: str) -> list[tuple[str, bool | None]]:
    """What the matrix above has for a tool, written down by hand."""
    if name == "look":
        return [("busy", None)]
    every = [("lost", False), ("lost", True), ("busy", None)]
    return [*every, ("surely_lost", False)] if name == "add_order" else every


names = st.sampled_from([tool.name for tool in TOOLS])
solutions = st.lists(
    st.builds(call, names) | st.builds(call, st.just("confirm"), st.just("user")), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(solutions, st.integers(1, 14))
def test_every_coordinate_meets_every_kind_and_end_exactly_once(
    steps: list[OracleStep], horizon: int
) -> None:
    seen: Counter[str] = Counter()
    wanted: Counter[tuple[str, int, str, bool | None]] = Counter()
    for step in [step for step in steps if step.actor == "agent"][:horizon]:
        seen[step.tool] += 1
        wanted.update((f"tool:{step.tool}", seen[step.tool], *end) for end in fitting(step.tool))
    calm, *faulty = made(steps, horizon=horizon)
    assert (calm.rate, calm.events) == (0.0, ())
    events = [event for schedule in faulty for event in schedule.events]
    assert len(events) == len(faulty)
    assert Counter((e.point, e.occurrence, e.kind, e.effect_lands) for e in events) == wanted


@settings(max_examples=30, deadline=None)
@given(solutions)
def test_each_fault_is_of_one_attempt_and_each_schedule_has_a_name(steps: list[OracleStep]) -> None:
    calm, *faulty = made(steps)
    for schedule in faulty:
        (event,) = schedule.events
        assert (event.attempt, event.lasts, event.clears_by) == (1, Lasts(), "retry")
        assert (schedule.rate, schedule.design) == (1.0, "exhaustive-1")
    for name in ("schedule_id", "profile"):
        assert len({getattr(one, name) for one in (calm, *faulty)}) == 1 + len(faulty)


def test_a_profile_says_what_is_injected() -> None:
    profiles = [one.profile for one in made([call("look"), call("set_address")])]
    assert profiles == [
        "exhaustive-1/none",
        "exhaustive-1/tool:look#1/busy",
        "exhaustive-1/tool:set_address#1/lost/lost",
        "exhaustive-1/tool:set_address#1/lost/landed",
        "exhaustive-1/tool:set_address#1/busy",
    ]


def test_seeds_change_parameters_only() -> None:
    steps = [call("add_order"), call("send_mail")]
    params = set()
    for seed in range(12):
        for one, other in zip(made(steps), made(steps, seed), strict=True):
            assert one.profile == other.profile
            params |= {event.params.get("code") for event in other.events}
    assert params == {None, 1, 2, 3}


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'m' names unknown kinds"):
        injections(SHOP, (), MATRIX, RIG_KINDS, 9)


PROGRAM = """
from hfr_bench import content
from hfr_bench.faults.exhaustive import injections, schedules
from hfr_bench.testing.shop import ShopSuite
shop, matrix, kinds = ShopSuite(), content.matrix("stress"), content.kinds()
for task in shop.select_all():
    found = injections(task, shop.sealed(task.task_id).oracle, matrix, kinds, 60)
    for schedule in schedules(task, 7, found, 60):
        print(schedule.dumps())
"""


def test_schedules_are_the_same_under_any_hash_seed() -> None:
    there, back = (
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1")
    )
    assert there == back
    assert there.count(b"\n") == 3 + 3 * (3 + 4 + 5)  # tasks, kinds and ends, steps


STEPS = [
    call("look"),
    call("add_order"),
    call("set_address"),
    agent_step("add_order", item="milk"),
    call("send_mail"),
    call("close_account"),
]
PLAIN = FaultMatrix(name="p", mixes=(Mix(points=("*",), kinds={"lost": 1, "busy": 1}),))
FAULTY = list(schedules(SHOP, 1, injections(SHOP, STEPS, PLAIN, RIG_KINDS, 60), 60))[1:]


def run(strategy: Any, schedule: FaultSchedule) -> Ran:
    made_of = strategy({}, Kit(equipment=TRUTH))
    return Rig(made_of, steps=STEPS, faults=schedule.events, equipment=TRUTH).run()


@pytest.mark.parametrize("schedule", FAULTY, ids=lambda one: one.profile)
def test_a_blind_resend_repeats_itself_exactly_where_an_effect_had_landed(
    schedule: FaultSchedule,
) -> None:
    (event,) = schedule.events
    level = LEVELS[event.point.removeprefix("tool:")]
    landed = event.effect_lands is True and level in (SideEffect.QUERYABLE, SideEffect.IRREVERSIBLE)
    effects = run(BlindResend, schedule).effects
    # The shop refuses to close twice: a repeated dispatch there, a duplicate everywhere else.
    closing = event.point == "tool:close_account"
    assert effects.duplicates == int(landed and not closing)
    assert effects.lost_effects == int(landed)


@pytest.mark.parametrize("schedule", FAULTY, ids=lambda one: one.profile)
def test_the_truth_never_duplicates_and_doing_nothing_never_succeeds(
    schedule: FaultSchedule,
) -> None:
    known = run(OracleRecovery, schedule)
    assert (known.effects.duplicates, known.end, known.grade.goal_met) == (0, End.ACCEPTED, True)
    assert run(NoRetry, schedule).end is End.FAILED
