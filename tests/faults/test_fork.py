"""Forks: one first fault for all, nothing before it, and continuations that share nothing else."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.fork import Content, candidates, chosen, named, schedules
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.prereg import FaultPlan, ForkPlan
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec, Lasts, Respond
from hfr_bench.model.task import FaultPoint, OracleStep, TaskSpec
from hfr_bench.model.terms import Layer, SideEffect

KINDS = {
    "busy": KindSpec(
        kind="busy", layer=Layer.TOOL, points=("*",), wire={"tool": Respond(status=503)}
    ),
    "lost": KindSpec(
        kind="lost",
        layer=Layer.TOOL,
        points=("*",),
        wire={"tool": Respond(status=503)},
        lands=0.5,
        lasts=((1.0, Lasts(n=2)), (1.0, Lasts(unit="target"))),
    ),
    "down": KindSpec(
        kind="down",
        layer=Layer.MODEL,
        points=("model:*",),
        wire={"openai_chat": Respond(status=503)},
        lasts=((1.0, Lasts(unit="seconds", n=5)),),
        provider=True,
    ),
}
MATRIX = FaultMatrix(
    name="m",
    mixes=(
        Mix(points=("tool:*",), kinds={"busy": 1, "lost": 1}),
        Mix(points=("model:*", "reconcile:*"), kinds={"down": 1, "busy": 1}),
    ),
)
MADE_OF = Content(MATRIX, KINDS, 8)
WRITE = SideEffect.QUERYABLE
TASK = TaskSpec(
    suite="s",
    task_id="t",
    fault_points=(
        FaultPoint(point="model:agent", layer=Layer.MODEL, target="agent"),
        FaultPoint(point="tool:pay", layer=Layer.TOOL, target="pay", level=WRITE),
        FaultPoint(point="reconcile:pay", layer=Layer.TOOL, target="look"),
    ),
)
ORACLE = tuple(OracleStep(actor=who, tool="pay") for who in ("agent", "user", "agent"))


def made(seed: int = 1, **fork: object) -> list[FaultSchedule]:
    plan = FaultPlan.model_validate({"design": "fork", "fork": {"rate": 0.5, **fork}})
    assert plan.fork is not None
    found = chosen(TASK, seed, candidates(TASK, ORACLE, MADE_OF, models=True), plan.fork)
    return list(schedules(TASK, seed, found, MADE_OF, plan))


def nameless(event: FaultEvent) -> FaultEvent:
    tail = event.injection_id.partition("/")[2]
    return event.model_copy(update={"injection_id": tail, "after": event.after.partition("/")[2]})


def test_first_faults_are_the_solutions_steps_times_kinds_landed_and_lost() -> None:
    names = {named(one) for one in candidates(TASK, ORACLE, MADE_OF, models=True)}
    tool = {
        f"fork/tool:pay#{n}/{kind}" for n in (1, 2) for kind in ("busy", "lost/landed", "lost/lost")
    }
    assert names == tool | {f"fork/model:agent#{n}/down" for n in (1, 2)}
    silent = {named(one) for one in candidates(TASK, ORACLE, MADE_OF, models=False)}
    assert silent == tool


def test_more_points_keep_the_first_ones_and_all_are_all() -> None:
    found = candidates(TASK, ORACLE, MADE_OF, models=True)
    some = [{named(f) for f in chosen(TASK, 1, found, ForkPlan(points=n))} for n in range(1, 9)]
    assert all(few < more for few, more in pairwise(some))
    assert {named(f) for f in chosen(TASK, 1, found, ForkPlan(points=None))} == some[-1]
    assert len({named(chosen(TASK, s, found, ForkPlan(points=1))[0]) for s in range(9)}) > 1


def test_every_schedule_has_its_first_fault_and_all_else_waits_for_it() -> None:
    calm, *forked = made(points=None, continuations=3)
    assert (calm.rate, calm.events) == (0.0, ())
    for schedule in forked:
        first, *others = schedule.events
        assert (first.attempt, first.after) == (1, "")
        assert others
        assert {event.after for event in others} == {first.injection_id}
        ids = [event.injection_id for event in schedule.events]
        assert len(ids) == len(set(ids))
        assert all(name.startswith(f"{schedule.schedule_id}/") for name in ids)


def test_continuations_share_the_first_fault_and_nothing_else() -> None:
    _, *forked = made(points=1, continuations=4)
    assert len({nameless(one.events[0]).dumps() for one in forked}) == 1
    rest = {"".join(nameless(event).dumps() for event in one.events[1:]) for one in forked}
    assert len(rest) == 4
    assert made(points=1, continuations=2)[1:] == forked[:2]


def test_attempts_behind_the_first_fault_are_drawn_as_behind_any_other() -> None:
    for rate, wanted in ((0.0, 0), (1.0, 1)):
        for schedule in made(points=None, continuations=1, rate=rate)[1:]:
            first, *others = schedule.events
            own = [e for e in others if (e.point, e.occurrence) == (first.point, first.occurrence)]
            beyond = first.attempt + (first.lasts.n if first.lasts.unit == "attempts" else 1)
            assert min((e.attempt for e in own), default=beyond) == beyond
            assert bool(own) == bool(wanted)


places = st.tuples(
    st.sampled_from(["model:agent", "tool:pay", "reconcile:pay", "ledger:pay"]),
    st.integers(1, 3),
    st.integers(1, 3),
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 50), st.lists(places, max_size=30))
def test_nothing_is_met_before_the_first_fault(seed: int, walk: list[tuple[str, int, int]]) -> None:
    schedule = made(seed, points=1, continuations=1, rate=0.9)[1]
    met: set[str] = set()
    model, tool = (
        Cursor(schedule.events, layers, met) for layers in ((Layer.MODEL,), (Layer.TOOL,))
    )
    seen = []
    for point, occurrence, attempt in walk:
        cursor = model if point.startswith("model:") else tool
        seen.append(cursor.at(point, occurrence, attempt, target="a", now_us=0))
    faults = [event for event in seen if event is not None]
    assert not faults or faults[0] == schedule.events[0]
