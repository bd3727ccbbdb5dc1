"""Bursts and outages: nested as all else is, and nothing outside a window is shifted by one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hfr_bench import content
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.generate import Draw, generate
from hfr_bench.lab.plan import cells
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.prereg import Burst, FaultPlan, Preregistration
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec, Lasts, Respond
from hfr_bench.model.task import FaultPoint
from hfr_bench.model.terms import Layer
from hfr_bench.testing.rig import KINDS as RIG_KINDS
from hfr_bench.testing.shop import ShopSuite

POINTS = (
    FaultPoint(point="model:agent", layer=Layer.MODEL, target="agent"),
    FaultPoint(point="tool:look", layer=Layer.TOOL, target="look"),
    FaultPoint(point="tool:find", layer=Layer.TOOL, target="find"),
)
OUT = KindSpec(
    kind="out",
    layer=Layer.MODEL,
    points=("model:*",),
    wire={"openai_chat": Respond(status=503)},
    lasts=((1.0, Lasts(unit="seconds", n=9)), (1.0, Lasts(n=2))),
    provider=True,
)
BUSY = KindSpec(kind="busy", layer=Layer.TOOL, points=("*",), wire={"tool": Respond(status=500)})
KINDS = {"out": OUT, "busy": BUSY, "slow": BUSY.model_copy(update={"kind": "slow"})}
MATRIX = FaultMatrix(
    name="m",
    mixes=(
        Mix(points=("model:*",), kinds={"out": 1}),
        Mix(points=("*",), kinds={"busy": 1}, rate_scale=0.5),
    ),
)
STORM = Burst(start=0.5, end=0.75, points=("tool:look",), kinds={"slow": 1}, rate=0.9)


def made(
    rate: float, seed: int = 1, takes_backup: float = 0.5, bursts: tuple[Burst, ...] = ()
) -> FaultSchedule:
    draw = Draw("s", "t", seed, f"m-{rate:g}", rate, "nested", takes_backup)
    return generate(draw, POINTS, MATRIX, KINDS, 8, bursts)


def covered(schedule: FaultSchedule, target: str) -> set[tuple[str, int, int]]:
    """Where a caller meets a fault that comes to every step by way of `a` and goes on to target."""
    found = set()
    for point in POINTS:
        for occurrence in range(1, schedule.horizon + 1):
            cursor = Cursor(schedule.events)
            for attempt in range(1, 9):
                to = "a" if attempt == 1 else target
                if cursor.at(point.point, occurrence, attempt, target=to, now_us=0):
                    found.add((point.point, occurrence, attempt))
    return found


def anonymous(event: FaultEvent) -> FaultEvent:
    return event.model_copy(update={"injection_id": event.injection_id.partition("/")[2]})


chances = st.floats(0.05, 0.95)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), chances, chances, st.sampled_from("ab"))
def test_outages_are_nested_in_the_rate(seed: int, one: float, two: float, target: str) -> None:
    low, high = sorted((one, two))
    assert covered(made(low, seed), "a") <= covered(made(high, seed), "a")
    assert covered(made(low, seed), target) <= covered(made(high, seed), target)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), chances, chances)
def test_whoever_takes_the_backup_along_seldom_does_so_where_it_does_often(
    seed: int, one: float, two: float
) -> None:
    low, high = (made(0.5, seed, chance).events for chance in sorted((one, two)))
    assert [e.lasts.unit for e in low] == [e.lasts.unit for e in high]
    for seldom, often in zip(low, high, strict=True):
        assert (seldom.lasts.over, often.lasts.over) != ("all", "one") or seldom.layer != "model"


def test_the_backup_goes_along_as_often_as_registered() -> None:
    for chance in (0.0, 0.3, 1.0):
        events = [e for s in range(40) for e in made(0.9, s, chance).events]
        events = [event for event in events if event.lasts.unit == "seconds"]
        along = sum(event.lasts.over == "all" for event in events) / len(events)
        assert abs(along - chance) < 0.1, chance


def test_an_outage_over_one_model_says_that_another_one_helps() -> None:
    ends = {
        (e.lasts.over, e.clears_by)
        for e in made(0.9).events
        if e.kind == "out" and e.lasts.unit == "seconds"
    }
    assert ends == {("all", "wait"), ("one", "substitute or wait")}


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), chances, chances)
def test_a_burst_shifts_nothing_at_other_points_and_is_the_same_at_every_rate(
    seed: int, one: float, two: float
) -> None:
    calm, stormy, other = made(one, seed), made(one, seed, bursts=(STORM,)), made(two, seed)
    stormy_too = made(two, seed, bursts=(STORM,))

    def at(schedule: FaultSchedule, *, inside: bool) -> list[FaultEvent]:
        found = (e for e in schedule.events if (e.point == "tool:look") is inside)
        return [anonymous(event) for event in found]

    assert at(calm, inside=False) == at(stormy, inside=False)
    assert at(other, inside=False) == at(stormy_too, inside=False)
    assert at(stormy, inside=True) == at(stormy_too, inside=True)
    assert {event.kind for event in at(stormy, inside=True)} <= {"slow"}
    low, high = (stormy, stormy_too) if one <= two else (stormy_too, stormy)
    assert covered(low, "a") <= covered(high, "a")


def test_a_burst_without_kinds_takes_those_of_the_matrix() -> None:
    storm = STORM.model_copy(update={"kinds": {}, "rate": 1.0})
    at_look = [e for e in made(0.01, bursts=(storm,)).events if e.point == "tool:look"]
    assert {event.kind for event in at_look} == {"busy"}
    assert len({event.occurrence for event in at_look}) == 8


def registered(**faults: object) -> Preregistration:
    return Preregistration.model_validate(
        {
            "name": "x",
            "title": "x",
            "origin": "rehearsal",
            "suites": [{"suite": "shop"}],
            "faults": {"matrix": "m", "rates": [0, 0.2], **faults},
            "limits": {"max_steps": 5},
            "arms": [{"name": "a", "strategy": "a"}],
            "analysis": {"baseline": "a"},
        }
    )


def test_tasks_outside_the_window_keep_their_schedules_byte_for_byte() -> None:
    tasks = ShopSuite().select_all()
    matrix = FaultMatrix(name="m", mixes=(Mix(points=("*",), kinds={"busy": 1}),))
    plans = [
        [cell.schedule.dumps() for cell in cells(registered(**faults), tasks, matrix, RIG_KINDS)]
        for faults in (
            {},
            {"bursts": [{"start": 0, "end": 0.5, "points": ["tool:*"], "rate": 0.9}]},
        )
    ]
    inside = {i for i, _ in enumerate(tasks) if i / len(tasks) < 0.5}
    assert 0 < len(inside) < len(tasks)
    for number, (calm, stormy) in enumerate(zip(*plans, strict=True)):
        task, at_rate_0 = number // 2, number % 2 == 0
        assert (calm == stormy) is (at_rate_0 or task not in inside)


def test_what_is_not_used_leaves_no_trace_in_a_registration() -> None:
    plain = FaultPlan()
    assert set(plain.model_dump()) == {"v", "matrix", "rates", "design", "coupling"}
    used = FaultPlan(takes_backup=0.9, bursts=(STORM,))
    assert FaultPlan.loads(used.dumps()) == used
    assert used.digest() != plain.digest()


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        ({"bursts": [{"start": 0.5, "end": 0.5, "points": ["*"], "rate": 1}]}, "not after start"),
        ({"design": "none", "bursts": [STORM.model_dump()]}, "only `design: sampled` has them"),
        ({"fork": {}}, "belongs to `design: fork`"),
        ({"takes_backup": 1.5}, "less than or equal to 1"),
    ],
)
def test_what_does_not_fit_together_is_refused(faults: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        FaultPlan.model_validate(faults)


def test_an_unknown_kind_of_a_burst_is_refused_by_name() -> None:
    storm = STORM.model_copy(update={"kinds": {"hail": 1.0}})
    with pytest.raises(ValueError, match=r"bursts name unknown kinds: \['hail'\]"):
        made(0.1, bursts=(storm,))


def test_the_shipped_overflow_ends_only_with_a_shorter_request() -> None:
    lasts = content.kinds()["model_context_overflow"].lasts
    assert [one.unit for _, one in lasts] == ["request"]
