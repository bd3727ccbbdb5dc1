"""Bounds of a claim at any time: of which tasks they are, and when nothing is told."""

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.anytime import anytime
from hfr_bench.lab.looks import stages
from hfr_bench.lab.rendering import tables_confirm
from hfr_bench.lab.rendering.render import summary, to_csv, whole
from hfr_bench.lab.store import Store
from hfr_bench.model.looks import OBrienFleming
from hfr_bench.model.prereg import Hypothesis
from hfr_bench.stats.sequential import confidence_sequence
from hfr_bench.testing.experiments import planned, play, write_all
from hfr_bench.testing.results import KINDS, fault, outcome, result, write_trial

GOOD, BAD = outcome(), outcome(success=False)


def claim(metric="sr", **fields):
    shape = {"id": "H1", "metric": metric, "arm": "hfr", "against": "no_retry"}
    return Hypothesis(**shape | {"direction": "greater"} | fields)


def experiment(tasks=60, rates=(0.0, 0.1, 0.2), **fields):
    claims = fields.pop("hypotheses", (claim(),))
    return planned(tasks=tasks, rates=rates, controls=False, hypotheses=claims, **fields)


def trials(plan, won):
    """A trial of every row; `won(row)`: whether it succeeded."""
    return [
        result(row.trial.arm, row.trial.task_id, row.trial.seed, row.trial.rate,
               of=GOOD if won(row) else BAD)
        for row in plan.rows
    ]  # fmt: skip


def test_it_is_the_sequence_of_the_tasks_mean_differences():
    plan = experiment()
    lost = {("no_retry", 0.1)}
    main = trials(plan, lambda row: (row.trial.arm, row.trial.rate) not in lost)
    (row,) = anytime(plan.prereg, plan.rows, main, ())
    low, high = confidence_sequence([0.5] * 60)  # one of two rates above 0; rate 0 plays no part
    assert (row.tasks, row.of, row.difference) == (60, 60, 0.5)
    assert (row.low, row.high) == (low[-1], high[-1])
    assert row.holds
    assert row.since == int((low > 0).argmax()) + 1


def test_only_the_first_whole_tasks_count():
    """Task 8 lacks one trial; what came after it is not looked at, however quick it was."""
    plan = experiment(tasks=30)
    main = [one for one in trials(plan, lambda _: True)
            if (one.task_id, one.arm, one.rate) != ("t8", "hfr", 0.2)]  # fmt: skip
    (row,) = anytime(plan.prereg, plan.rows, main, (), complete=False)
    assert (row.tasks, row.of) == (7, 30)
    (row,) = anytime(plan.prereg, plan.rows, main[8:], (), complete=False)
    assert (row.tasks, row.difference, row.low, row.holds) == (0, None, None, False)


def test_a_dropped_group_is_not_waited_for():
    plan = experiment(tasks=30)
    main = [one for one in trials(plan, lambda _: True)
            if (one.task_id, one.rate) != ("t8", 0.2)]  # fmt: skip
    (row,) = anytime(plan.prereg, plan.rows, main, {"t8-0.2-main"})
    assert (row.tasks, row.of) == (30, 30)


def test_all_claims_hold_together_and_only_shares_have_bounds():
    claims = (claim(), claim("dup_any", id="H2"), claim("cost_mean", id="H3"))
    plan = experiment(hypotheses=claims)
    main = trials(plan, lambda row: row.trial.arm == "hfr")
    first, second = anytime(plan.prereg, plan.rows, main, ())
    assert (first.id, second.id) == ("H1", "H2")
    low, _ = confidence_sequence([1.0] * 60, 0.975)
    assert first.low == low[-1]


@pytest.mark.parametrize("complete", [True, False])
def test_between_registered_looks_nothing_is_told(complete):
    plan = experiment(stopping_rule=OBrienFleming(kind="obrien_fleming", looks=2))
    stage = stages(plan.prereg, plan.rows)[0]
    main = trials(plan, lambda _: True)
    found = anytime(plan.prereg, stage.rows, main, (), stage, complete=complete)
    assert bool(found) == complete
    assert not complete or found[0].tasks == found[0].of == 30


def test_nothing_is_told_of_what_is_not_valid():
    plan = experiment()
    assert anytime(plan.prereg, plan.rows, [], (), valid=False) == ()


def test_an_unfinished_experiment_shows_it_on_the_first_page(tmp_path):
    """A fault that no_retry does not survive, in every task; half of the tasks are in."""
    hard = lambda trial: [fault()] if trial.rate else []  # noqa: E731
    plan = experiment(tasks=40, rates=(0.0, 0.5), faults=hard)
    half = [row for row in plan.rows if int(row.trial.task_id[1:]) <= 20]
    for row in half:
        write_trial(tmp_path, row.trial, play(row, plan.schedule(row.trial.schedule_id)))

    def read():
        store = Store(tmp_path)
        return analyse(plan.prereg, plan.lock, plan.rows, store, plan.schedule, KINDS)

    report = read()
    (row,) = report.anytime
    assert (report.complete, row.tasks, row.of, row.holds) == (False, 20, 40, True)
    assert report.hypotheses[0].verdict == "cannot be told"
    table = tables_confirm.anytime(report)
    assert table in summary(report)
    assert sum(",anytime," in line for line in to_csv(report).splitlines()) == 1

    write_all(tmp_path, plan)
    done = read()
    assert (done.complete, done.anytime[0].tasks) == (True, 40)
    shown = tables_confirm.anytime(done)
    assert shown in whole(done)
    assert shown not in summary(done)
