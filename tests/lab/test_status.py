"""Blinded progress: each trace is read once, and what is wrong is named."""

import os

import pytest

from hfr_bench.lab.book import ScheduleBook
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.standing import standing
from hfr_bench.lab.status import status
from hfr_bench.lab.store import Store
from hfr_bench.model.terms import VoidCause
from hfr_bench.testing.experiments import planned, play, some_faults, write_all
from hfr_bench.testing.results import KINDS, ended, started, write_trial

PLAN = planned(("no_retry", "hfr"), tasks=4, rates=(0.0, 0.5), faults=some_faults)
BOOK = ScheduleBook(made.dumps() for made in PLAN.schedules.values())


@pytest.fixture
def experiment(tmp_path):
    write_all(tmp_path, PLAN)
    return Experiment(tmp_path, PLAN.prereg, PLAN.lock, PLAN.rows, BOOK)


def test_all_is_graded_and_delivered(experiment):
    for _ in range(2):  # without an index, and with one
        found = status(experiment, KINDS)
        assert (found.graded, found.lacking, found.bad_lines) == (len(PLAN.rows), 0, ())
        assert found.delivered
        assert sum(row.reached for row in found.delivery) > 0
        assert found.index == ()


def test_a_trial_that_lied_is_not_delivered(experiment):
    row = next(r for r in PLAN.rows if PLAN.schedule(r.trial.schedule_id).events)
    played = play(row, PLAN.schedule(row.trial.schedule_id))
    made = [
        at._replace(body=at.body.model_copy(update={"status": 503, "exception": None}))
        if at.body.type == "attempt_ended" and not at.body.answered
        else at
        for at in played
    ]
    write_trial(experiment.path, row.trial, made)
    assert not status(experiment, KINDS).delivered


def test_delivery_is_told_by_kind_and_by_arm(experiment):
    found = status(experiment, KINDS)
    for row in found.delivery:
        mine = [one for one in found.by_arm if one.kind == row.kind]
        for name in ("scheduled", "reached", "delivered", "masked"):
            assert getattr(row, name) == sum(getattr(one, name) for one in mine)
        assert row.scheduled >= row.reached
    assert {row.arm for row in found.by_arm} == {"no_retry", "hfr"}
    assert [(row.arm, row.absorbed, row.exhausted) for row in found.organic] == [
        ("no_retry", 0, 0),
        ("hfr", 0, 0),
    ]


def test_a_bad_line_is_named_and_its_trial_lacks(experiment):
    path = next((experiment.path / "trials").glob("*/r1/hfr.jsonl"))
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], b"garbage", *lines[3:]]) + b"\n")
    found = status(experiment, KINDS)
    assert found.lacking == 1
    (told,) = found.bad_lines
    assert told.startswith(f"{path.relative_to(experiment.path)}:3: ")


def test_voids_count_once_and_the_next_round_grades(experiment):
    trial = PLAN.rows[0].trial
    played = play(PLAN.rows[0], PLAN.schedule(trial.schedule_id))
    void = [started(trial), ended(trial, void=VoidCause.SANDBOX)]
    write_trial(experiment.path, trial, void)
    first = status(experiment, KINDS)
    assert (first.voids, first.lacking) == ({"sandbox": 1}, 1)
    assert {job.round_no for job in standing(experiment).jobs} == {2}
    write_trial(experiment.path, trial, played, 2)
    assert status(experiment, KINDS).lacking == 0


def test_files_outside_the_plan_are_told(experiment):
    trial = PLAN.rows[0].trial.model_copy(update={"arm": "stranger"})
    write_trial(experiment.path, trial, [started(trial)])
    found = status(experiment, KINDS)
    assert [line for line in found.bad_lines if line.endswith("is not in the plan")]
    assert found.graded == len(PLAN.rows)


def test_a_fresh_index_needs_no_trace(experiment):
    status(experiment, KINDS)
    for file in Store(experiment.path).files():
        was = file.path.stat()
        file.path.write_bytes(b"x" * was.st_size)
        os.utime(file.path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert status(experiment, KINDS).graded == len(PLAN.rows)
