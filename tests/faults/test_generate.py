"""Schedules: nested in the rate, the same everywhere, and never two events of one name."""

import os
import subprocess
import sys
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench import content
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.generate import ATTEMPTS_MAX, Draw, Drawn, generate
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec, Lasts, Respond, Stall
from hfr_bench.model.task import FaultPoint
from hfr_bench.model.terms import Layer, SafeOutcome, SideEffect

R2 = SideEffect.QUERYABLE
POINTS = (
    FaultPoint(point="model:agent", layer=Layer.MODEL, target="agent"),
    FaultPoint(point="tool:pay", layer=Layer.TOOL, target="pay", level=R2),
    FaultPoint(point="tool:look", layer=Layer.TOOL, target="look"),
    FaultPoint(point="reconcile:pay", layer=Layer.TOOL, target="look"),
)
SLOW = KindSpec(
    kind="slow",
    layer=Layer.TOOL,
    points=("tool:*",),
    wire={"tool": Stall(stall_s=9)},
    lands=0.5,
    lasts=((1.0, Lasts(n=1)), (1.0, Lasts(n=2)), (1.0, Lasts(n=3))),
    params={"code": (1, 2, 3)},
    safe_outcome_when={R2: SafeOutcome.ESCALATE},
)
STUCK = KindSpec(
    kind="stuck",
    layer=Layer.TOOL,
    points=("*",),
    wire={"tool": Respond(status=500)},
    lasts=((1.0, Lasts(unit="target")), (2.0, Lasts(n=2))),
)
KINDS = {"slow": SLOW, "stuck": STUCK}
MATRIX = FaultMatrix(
    name="m",
    mixes=(
        Mix(points=("tool:*",), kinds={"slow": 1, "stuck": 1}),
        Mix(points=("*",), kinds={"stuck": 1}, rate_scale=0.5),
    ),
)


def made(
    rate: float,
    seed: int = 1,
    task: str = "t",
    coupling: str = "nested",
    points: tuple[FaultPoint, ...] = POINTS,
    horizon: int = 12,
    drawn: dict[str, Drawn] | None = None,
) -> FaultSchedule:
    draw = Draw("s", task, seed, f"m-{rate:g}", rate, coupling)
    return generate(draw, points, MATRIX, KINDS, horizon, drawn=drawn)


def covered(schedule: FaultSchedule) -> set[tuple[str, int, int]]:
    """Every coordinate at which a caller that stays with one target meets a fault."""
    found = set()
    for point in POINTS:
        for occurrence in range(1, schedule.horizon + 1):
            cursor = Cursor(schedule.events)
            for attempt in range(1, ATTEMPTS_MAX + 3):
                if cursor.at(point.point, occurrence, attempt, target="x", now_us=0):
                    found.add((point.point, occurrence, attempt))
    return found


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(0.01, 0.9),
    st.floats(0.01, 0.9),
)
def test_what_is_faulty_at_a_low_rate_is_faulty_at_a_higher_one(
    seed: int, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assert covered(made(low, seed)) <= covered(made(high, seed))


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.floats(0.01, 0.9), min_size=2, max_size=3),
    st.sampled_from(["nested", "independent"]),
)
def test_what_rates_share_is_drawn_once_and_alike(
    seed: int, rates: list[float], coupling: str
) -> None:
    drawn: dict[str, Drawn] = {}
    shared = [made(rate, seed, coupling=coupling, drawn=drawn).dumps() for rate in rates]
    assert shared == [made(rate, seed, coupling=coupling).dumps() for rate in rates]
    events = made(max(rates), seed, coupling=coupling).events
    assert bool(drawn) is bool(events)


def test_independent_rates_are_not_nested() -> None:
    missing = 0
    for seed in range(20):
        low, high = (covered(made(rate, seed, coupling="independent")) for rate in (0.2, 0.4))
        missing += len(low - high)
    assert missing > 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.3, 1.0))
def test_events_of_a_schedule_have_names_of_their_own(seed: int, rate: float) -> None:
    names = [event.injection_id for event in made(rate, seed).events]
    assert len(names) == len(set(names))


def test_events_are_what_the_schema_makes_of_them() -> None:
    """They are made without a check: each must be the very record that a check would give."""
    made_ = [event for seed in range(8) for event in made(0.9, seed).events]
    assert {event.lasts.unit for event in made_} > {"attempts"}
    for event in made_:
        checked = FaultEvent.model_validate(event.model_dump())
        assert event == checked
        assert event.dumps() == checked.dumps()
        assert list(vars(event)) == list(FaultEvent.model_fields)
        assert [type(one) for one in vars(event).values()] == [
            type(one) for one in vars(checked).values()
        ]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.3, 1.0))
def test_fixed_durations_of_a_step_never_overlap(seed: int, rate: float) -> None:
    counted = [event for event in made(rate, seed).events if event.lasts.unit == "attempts"]
    for _, group in groupby(counted, key=lambda event: (event.point, event.occurrence)):
        reach = 0
        for event in group:
            assert event.attempt > reach
            reach = event.attempt + event.lasts.n - 1


def test_the_rate_is_the_chance_of_a_first_fault() -> None:
    horizon, tasks = 50, 60
    hit = {point.point: 0 for point in POINTS}
    for task in range(tasks):
        schedule = made(0.2, task=str(task), horizon=horizon)
        firsts = {(e.point, e.occurrence) for e in schedule.events if e.attempt == 1}
        for point, _ in firsts:
            hit[point] += 1
    assert hit["model:agent"] == 0  # no kind of the mix fits the model's layer
    assert abs(hit["tool:pay"] / (horizon * tasks) - 0.2) < 0.02
    assert abs(hit["reconcile:pay"] / (horizon * tasks) - 0.1) < 0.02


def test_kinds_keep_to_their_layer_level_and_points() -> None:
    reads = KINDS["slow"].model_copy(update={"levels": (SideEffect.READ,)})
    draw = Draw("s", "t", 1, "m", 1.0)
    events = generate(draw, POINTS, MATRIX, {**KINDS, "slow": reads}, 20).events
    slow = {event.point for event in events if event.kind == "slow"}
    assert slow == {"tool:look"}
    assert {event.layer for event in events} == {Layer.TOOL}


def test_parameters_landing_and_safe_outcome_are_drawn_once_and_written_down() -> None:
    events = [event for event in made(1.0, horizon=40).events if event.kind == "slow"]
    assert {event.params["code"] for event in events} == {1, 2, 3}
    assert {event.effect_lands for event in events} == {True, False}
    outcomes = {(event.point, event.safe_outcome) for event in events}
    assert outcomes == {
        ("tool:pay", SafeOutcome.ESCALATE),
        ("tool:look", SafeOutcome.COMPLETE),
    }


def test_a_sticky_event_clears_by_substitute() -> None:
    events = [event for event in made(1.0).events if event.kind == "stuck"]
    assert {(event.lasts.unit, event.clears_by) for event in events} == {
        ("target", "substitute"),
        ("attempts", "retry"),
    }


def test_rate_zero_plans_nothing_and_rate_one_everything() -> None:
    assert made(0.0).events == ()
    firsts = {(e.point, e.occurrence) for e in made(1.0).events if e.attempt == 1}
    assert len([key for key in firsts if key[0].startswith("tool:")]) == 2 * 12


def test_a_schedule_does_not_depend_on_the_order_of_points() -> None:
    there, back = made(0.3), made(0.3, points=POINTS[::-1])
    assert sorted(e.dumps() for e in there.events) == sorted(e.dumps() for e in back.events)
    assert there.schedule_id == back.schedule_id


def test_seed_task_and_rate_each_make_another_schedule() -> None:
    ids = {
        made(*key).schedule_id
        for key in ((0.1, 1, "t"), (0.1, 2, "t"), (0.1, 1, "u"), (0.2, 1, "t"))
    }
    assert len(ids) == 4


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'m' names unknown kinds: \['slow'\]"):
        generate(Draw("s", "t", 1, "p", 0.1), POINTS, MATRIX, {"stuck": STUCK}, 5)


PROGRAM = """
from hfr_bench import content
from hfr_bench.faults.generate import Draw, generate
from hfr_bench.testing.shop import task
matrix, kinds = content.matrix("stress"), content.kinds()
for name in {names}:
    draw = Draw("shop", name, 7, "stress-0.2", 0.2)
    print(name, generate(draw, task(name).fault_points, matrix, kinds, 30).dumps())
"""


def _schedules(names: list[str], hash_seed: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(names=names)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_schedules_are_the_same_under_any_hash_seed_and_task_order() -> None:
    there = _schedules(["shop/1", "shop/2", "shop/3"], "0")
    back = _schedules(["shop/3", "shop/2", "shop/1"], "1")
    assert there == back
    assert len(set(there.values())) == 3


def test_the_shipped_matrix_is_nested_too() -> None:
    matrix, kinds = content.matrix("stress"), content.kinds()
    for seed in range(10):
        low, high = (
            covered(generate(Draw("s", "t", seed, "p", rate), POINTS, matrix, kinds, 12))
            for rate in (0.05, 0.2)
        )
        assert low <= high
        assert text_digest(str(sorted(low))) != text_digest(str(sorted(high)))


def test_what_came_later_left_the_bytes_of_earlier_schedules_alone() -> None:
    """Pinned before bursts, outages and forks were there: registrations without them stay."""
    lines = [
        made(rate, seed=seed, coupling=coupling).dumps()
        for rate in (0.0, 0.2, 0.9)
        for seed in (1, 2)
        for coupling in ("nested", "independent")
    ]
    assert text_digest("".join(lines))[:16] == "0fad7c0058dc2c21"
