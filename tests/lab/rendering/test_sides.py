"""Pairs side by side: every step once, in order; a budget that is kept; data that only is data."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering.sides import LINES, NOTHING, WHATS, aligned, cut, sides, traces
from hfr_bench.lab.store import Store
from hfr_bench.lab.timeline import Line, StepLines
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS


def step(title, *texts, what="try", mark=""):
    lines = tuple(Line(t_us=0, attempt=1, what=what, text=text, mark=mark) for text in texts)
    return StepLines(number=1, title=title, lines=lines)


steps = st.lists(st.sampled_from("abc").map(step), max_size=8)


@given(steps, steps)
def test_every_step_of_both_sides_is_there_once_and_in_order(ours, theirs):
    rows = aligned(ours, theirs)
    assert [i for i, _, _ in rows if i >= 0] == list(range(len(ours)))
    assert [j for _, j, _ in rows if j >= 0] == list(range(len(theirs)))
    assert all(i >= 0 or j >= 0 for i, j, _ in rows)
    assert all(ours[i].title == theirs[j].title for i, j, _ in rows if i >= 0 and j >= 0)


def test_alike_is_what_was_asked_and_done_under_whatever_key_and_thought():
    one = step("a", "tool:a #1, R2, key 0a1b2c3d")
    other = step("a", "tool:a #1, R2, key ffffffff")
    assert aligned([one], [other]) == [(0, 0, 1)]
    later = step("b", "y")
    thought = one.model_copy(update={"lines": (*one.lines, *step("", "x", what="decide").lines)})
    assert aligned([thought, later], [other, step("b", "z")]) == [(0, 0, 1), (1, 1, 0)]
    did = one.model_copy(update={"lines": (*one.lines, *step("", "x", what="effect").lines)})
    assert aligned([did], [other]) == [(0, 0, 0)]


def test_the_data_tells_both_trials_from_their_first_fault(reported):
    report, told = reported
    data = json.loads(told.data)
    assert len(told.cases) == sum(len(row.shown) for row in report.disagreements)
    assert [case.number for case in told.cases] == list(range(len(data["pairs"])))
    for case, pair in zip(told.cases, data["pairs"], strict=True):
        assert pair["sides"] == [case.of.ours.trial_id, case.of.theirs.trial_id]
        arms = [data["trials"][trial]["arm"] for trial in pair["sides"]]
        assert arms == [case.row.arm, case.row.against]
    marks = set()
    for trial in data["trials"].values():
        faults = [
            line[0]
            for _, _, lines in trial["steps"]
            for line in lines
            if data["words"][line[4]] == "injected"
        ]
        assert (trial["zero"] is None) == (not faults)
        assert not faults or faults[0] == 0
        marks |= {data["what"][line[2]] for _, _, lines in trial["steps"] for line in lines}
    assert {"try", "seen", "fault", "effect"} <= marks <= set(WHATS)


def test_no_other_trace_is_read_than_those_that_are_named(tmp_path):
    plan = planned(("no_retry", "hfr"), tasks=6, rates=(0.0, 0.4), faults=some_faults)
    write_all(tmp_path / "all", plan)
    store = Store(tmp_path / "all")
    made = analyse(plan.prereg, plan.lock, plan.rows, store, plan.schedule, KINDS)
    names = traces(made)
    assert 0 < len(names) < len(store.files())
    for name in names:
        (tmp_path / "some" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "some" / name).write_bytes((tmp_path / "all" / name).read_bytes())
    told = sides(made, plan.rows, store, plan.schedule)
    assert told.cases
    assert sides(made, plan.rows, Store(tmp_path / "some"), plan.schedule) == told


def test_arms_that_only_end_otherwise_part_where_they_decide_otherwise():
    failed, called = (
        step("a", "x").model_copy(
            update={"lines": (*step("", "x").lines, *step("", end, what="decide").lines)}
        )
        for end in ("FAIL", "ESCALATE")
    )
    assert aligned([failed], [called]) == [(0, 0, 0)]
    assert aligned([failed], [failed]) == [(0, 0, 1)]


@pytest.fixture
def experiment(tmp_path):
    plan = planned(("no_retry", "hfr", "blind_resend"), 20, (0.0, 0.5), some_faults)
    write_all(tmp_path, plan)
    store = Store(tmp_path)
    report = analyse(plan.prereg, plan.lock, plan.rows, store, plan.schedule, KINDS)
    return report, plan.rows, store, plan.schedule


def test_what_there_is_no_room_for_is_named_and_not_shown(experiment):
    told = sides(*experiment, budget=1)
    numbers = [case.number for case in told.cases]
    assert numbers[0] == 0
    assert set(numbers[1:]) == {None}
    assert len(told.data) < len(sides(*experiment).data)


def test_the_budget_is_kept_but_for_the_pair_that_meets_it(experiment):
    whole = sides(*experiment)
    budget = len(whole.data) // 3
    told = sides(*experiment, budget=budget)
    assert 0 < sum(case.number is None for case in told.cases) < len(told.cases)
    assert len(told.data) < budget + len(whole.data) / len(whole.cases) * 2


def test_equal_experiments_give_equal_data(experiment):
    assert sides(*experiment) == sides(*experiment)


def test_a_trace_that_cannot_be_told_is_left_out(experiment):
    report, rows, store, schedule = experiment
    of = report.disagreements[0].shown[0]
    path = store.folder / "trials" / of.pair_group / f"r{of.round}" / "hfr.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    told = sides(report, rows, store, schedule)
    assert [case.number for case in told.cases if case.of == of] == [None]


def test_without_disagreements_there_is_nothing(experiment):
    report, *rest = experiment
    assert sides(report.model_copy(update={"disagreements": ()}), *rest) == NOTHING


def test_a_long_trial_is_cut_and_says_so():
    many = [step(f"s{n}", *("x" * 9)) for n in range(100)]
    kept = cut(many)
    assert kept == many[: LINES // 9]
    (long, *others) = cut([step("long", *("x" * (LINES + 5))), *many])
    assert (len(long.lines), long.end, others) == (LINES, "; 5 more line(s)", [])
