"""Registered looks: which trials, what to reach, what is written down, and how it ends."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab import looks
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.interim import take
from hfr_bench.lab.look_bounds import bound, level_at, repeated
from hfr_bench.lab.looks import check_looks, open_rows, stage_of, stages, taken
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.store import Store
from hfr_bench.model.looks import Look
from hfr_bench.model.prereg import Analysis, Cohorts, Hypothesis
from hfr_bench.testing.experiments import planned, play, some_faults
from hfr_bench.testing.results import KINDS, write_trial

RULE = {"kind": "obrien_fleming", "looks": 3}


def claim(direction="greater", **fields):
    return Hypothesis(
        id="H1", metric="harm_1000", arm="blind_resend", against="no_retry", direction=direction,
        **fields,
    )  # fmt: skip


def registered(tasks=60, rates=(0.0, 0.9), direction="greater", resamples=200, **fields):
    return planned(
        ("no_retry", "blind_resend"), tasks=tasks, rates=rates, faults=some_faults,
        hypotheses=(claim(direction=direction),),
        stopping_rule=RULE, analysis=Analysis(baseline="no_retry", resamples=resamples), **fields,
    )  # fmt: skip


class Book:
    """A schedule book of a synthetic plan."""

    def __init__(self, plan):
        self.like = plan.schedule


def experiment(folder, plan):
    return Experiment(folder, plan.prereg, plan.lock, plan.rows, Book(plan))


def run(folder, plan):
    """Run what may be run now."""
    rows, due = open_rows(plan.prereg, plan.rows, folder)
    for row in rows:
        write_trial(folder, row.trial, play(row, plan.schedule(row.trial.schedule_id)))
    return due


def report(folder, plan):
    return analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)


def test_a_look_is_of_the_first_tasks_with_all_their_trials():
    plan = registered(tasks=7)
    found = stages(plan.prereg, plan.rows)
    assert [len({row.trial.task_id for row in stage.rows}) for stage in found] == [3, 5, 7]
    assert found[-1].rows == plan.rows
    assert found[-1].shares == (3 / 7, 5 / 7, 1.0)
    per_task = len(plan.rows) // 7
    assert [len(stage.rows) for stage in found] == [3 * per_task, 5 * per_task, 7 * per_task]
    assert stages(planned().prereg, planned().rows) == ()


def test_the_bounds_are_the_textbooks():
    found = stages(*registered(tasks=60)[::2])
    assert [round(bound(stage), 3) for stage in found] == [3.710, 2.511, 1.993]
    assert round(level_at(found[-1]), 3) == 0.954


def test_a_repeated_p_agrees_with_the_bound_and_never_flatters():
    stage = stages(*registered(tasks=60)[::2])[1]
    edge = 1 - level_at(stage)
    assert repeated(stage, edge) == pytest.approx(0.05, rel=1e-6)
    told = [repeated(stage, p) for p in (0.0, edge * 0.999, edge * 1.001, 1.0)]
    assert told == sorted(told)
    assert told[1] < 0.05 < told[2]
    assert told[0] == 0.0
    assert told[-1] == 1.0


def test_what_crosses_ends_it_and_the_report_is_of_that_look(tmp_path):
    plan = registered(tasks=120, rates=(0.9,))
    assert run(tmp_path, plan) == "look 1 of 3"
    kept = take(experiment(tmp_path, plan), KINDS)
    assert (kept.look, kept.of, kept.tasks, kept.stop) == (1, 3, 40, True)
    assert kept.crossed == ("H1",)
    assert taken(tmp_path) == (kept,)
    assert kept.at
    rows, due = open_rows(plan.prereg, plan.rows, tmp_path)
    assert (len(rows), due) == (kept.trials, "")
    made = report(tmp_path, plan)
    assert (made.complete, made.look.stopped, made.tasks) == (True, True, 40)
    assert made.hypotheses[0].verdict == "supported"
    assert made.trials_planned > made.trials_analysed
    assert made.traces_digest == kept.traces_digest
    with pytest.raises(BadInputError, match="has ended it"):
        take(experiment(tmp_path, plan), KINDS)


def test_what_does_not_cross_goes_on_to_the_end(tmp_path):
    plan = registered(tasks=12, rates=(0.9,), direction="less")
    for number in (1, 2):
        assert run(tmp_path, plan) == f"look {number} of 3"
        assert not take(experiment(tmp_path, plan), KINDS).stop
    with pytest.raises(BadInputError, match="the last look is the report"):
        take(experiment(tmp_path, plan), KINDS)
    assert not report(tmp_path, plan).complete
    assert run(tmp_path, plan) == ""
    made = report(tmp_path, plan)
    assert (made.complete, made.look.look, made.look.stopped) == (True, 3, False)
    assert made.trials_planned == made.trials_analysed
    assert made.level == pytest.approx(0.954, abs=0.001)


def test_a_look_before_its_trials_are_in_is_refused_and_not_written(tmp_path):
    plan = registered(tasks=6)
    row = plan.rows[0]
    write_trial(tmp_path, row.trial, play(row, plan.schedule(row.trial.schedule_id)))
    with pytest.raises(BadInputError, match="look 1"):
        take(experiment(tmp_path, plan), KINDS)
    assert taken(tmp_path) == ()


def test_fixed_n_has_no_look(tmp_path):
    plan = planned()
    with pytest.raises(BadInputError, match="fixed_n"):
        take(experiment(tmp_path, plan), KINDS)
    assert open_rows(plan.prereg, plan.rows, tmp_path) == (plan.rows, "")
    assert stage_of(plan.prereg, plan.rows, tmp_path) is None


def line(number, *, stop=False):
    return Look(look=number, of=3, at="", share=0.3, tasks=1, trials=1, bound=3.7,
                traces_digest="", stop=stop)  # fmt: skip


@pytest.mark.parametrize(
    "lines", [["{}"], [line(2).dumps()], [line(1, stop=True).dumps(), line(2).dumps()]]
)
def test_a_file_of_looks_that_cannot_be_is_named(tmp_path, lines):
    (tmp_path / looks.LOOKS).write_text("\n".join(lines))
    with pytest.raises(BadInputError, match=r"looks.jsonl:\d"):
        taken(tmp_path)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hypotheses": ()}, "none is registered"),
        ({"cohorts": Cohorts(size=2)}, "no cohorts"),
        ({"analysis": Analysis(baseline="no_retry", resamples=2000)}, "resamples"),
    ],
)
def test_looks_that_cannot_be_taken_are_refused_at_freezing(fields, words):
    plan = registered(tasks=6, resamples=10_000)
    tasks = [("s", f"t{n}") for n in range(6)]
    check_looks(plan.prereg, tasks)
    with pytest.raises(BadInputError, match=words):
        check_looks(plan.prereg.model_copy(update=fields), tasks)


def test_fewer_tasks_than_looks_are_refused():
    with pytest.raises(BadInputError, match="2 tasks for 3 looks"):
        check_looks(registered(tasks=6).prereg, [("s", "a"), ("s", "b")])


def test_what_freezing_asks_of_the_resamples_is_the_first_looks_own_error():
    plan = registered(tasks=60)
    first = stages(plan.prereg, plan.rows)[0]
    assert looks._first(first.shares[0], 0.05) == pytest.approx((1 - level_at(first)) / 2)
