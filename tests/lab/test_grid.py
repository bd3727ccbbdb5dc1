"""A schedule as a grid: each event once, in its place, and only the signs that occur."""

from hfr_bench.faults.agenda import Delivery
from hfr_bench.faults.audit import TrialAudit
from hfr_bench.lab.grid import ScheduleView, blocks, grid, view
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, Lasts
from hfr_bench.model.terms import Layer
from hfr_bench.model.trace import AttemptStarted, TraceEvent


def event(name: str, point: str, occurrence: int, kind: str = "busy", **of: object) -> FaultEvent:
    plain = {"layer": Layer.TOOL, "kind": kind, "point": point, "occurrence": occurrence}
    return FaultEvent.model_validate({"injection_id": name, **plain, **of})


EVENTS = (
    event("1", "tool:pay", 1, effect_lands=True),
    event("2", "tool:pay", 1, attempt=2, lasts=Lasts(n=3), effect_lands=False),
    event("3", "tool:pay", 12, "apart", lasts=Lasts(unit="target")),
    event("4", "model:agent", 3, "zap", lasts=Lasts(unit="seconds", n=60, over="one")),
    event("5", "model:agent", 4, "zap", lasts=Lasts(unit="request")),
)
SCHEDULE = FaultSchedule(
    schedule_id="s", suite="shop", task_id="t", seed=1, profile="m-0.2", rate=0.2, generator="g",
    horizon=20, events=EVENTS,
)  # fmt: skip


def came(point: str, occurrence: int) -> TraceEvent:
    body = AttemptStarted.model_validate(
        {"point": point, "occurrence": occurrence, "channel": "tool", "target": "x"}
        | {"timeout_us": 1, "request_digest": ""}
    )
    return TraceEvent(trial_id="t", seq=1, t_us=0, body=body)


def test_every_event_stands_in_its_place() -> None:
    made = grid(view(SCHEDULE))
    assert made.letters == {"apart": "a", "busy": "b", "zap": "c"}
    assert made.cells == {
        ("tool:pay", 1): "b+,2.bx3-",
        ("tool:pay", 12): "a~",
        ("model:agent", 3): "c60s1",
        ("model:agent", 4): "c^",
    }
    assert [sign for sign, _ in made.signs] == ["N.", "xN", "~", "^", "Ns", "1", "+", "-"]


def test_of_a_trial_it_shows_what_it_met_as_far_as_it_came() -> None:
    deliveries = (Delivery(EVENTS[0]), Delivery(EVENTS[3], "seen something else"))
    audited = TrialAudit("a", {}, deliveries=deliveries)
    shown = view(SCHEDULE, "trial", audited, [came("tool:pay", 1), came("model:agent", 3)])
    made = grid(shown)
    assert made.cells == {
        ("tool:pay", 1): "b+!,2.bx3-",
        ("model:agent", 3): "c60s1?",
    }
    assert {"!", "?"} <= {sign for sign, _ in made.signs}
    assert ScheduleView.loads(shown.dumps()) == shown


def test_a_wide_grid_is_cut_between_columns_and_leaves_out_empty_rows() -> None:
    many = tuple(event(str(n), f"tool:{'xy'[n > 30]}", n) for n in range(1, 61))
    made = grid(view(SCHEDULE.model_copy(update={"events": many, "horizon": 60})))
    cut = list(blocks(made, 60))
    assert max(len(line) for block in cut for line in block) <= 60
    assert sum(line.count("a") for block in cut for line in block[1:]) == 60
    assert len(cut[0]) == 2
    heads = [name for block in cut for name in block[0].split()]
    assert heads == [f"#{n}" for n in range(1, 61)]


def test_more_kinds_than_letters_have_two() -> None:
    many = tuple(event(str(n), "tool:a", n + 1, f"k{n:02}") for n in range(28))
    made = grid(view(SCHEDULE.model_copy(update={"events": many, "horizon": 30})))
    assert (made.letters["k25"], made.letters["k26"], made.letters["k27"]) == ("z", "aa", "ab")


def test_an_empty_schedule_has_an_empty_grid() -> None:
    made = grid(view(SCHEDULE.model_copy(update={"events": ()})))
    assert (made.cells, list(blocks(made, 50))) == ({}, [])
