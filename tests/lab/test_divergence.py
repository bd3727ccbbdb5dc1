"""Where pair groups part, and pools by what was scheduled."""

from hfr_bench.lab.divergence import Course, divergence, parting, path, pools, reference
from hfr_bench.model.report import EXPLICIT, MIXED, SILENT
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import (
    KINDS,
    At,
    answered,
    events,
    fault,
    refused,
    result,
    schedule,
    sent,
    timed_out,
)


def steps(*bodies):
    return events("t", [At(body, step, 1) for step, body in bodies])


def test_a_path_is_what_each_step_first_asked_for():
    found = path(
        steps(
            (1, sent()), (1, answered()),
            (2, sent("prepare:book", purpose="prepare")), (2, answered()),
            (2, sent("tool:book")), (2, timed_out()), (2, sent("tool:book")), (2, answered()),
        )
    )  # fmt: skip
    assert found == Course(("model:agent r", "tool:book r"), 1)


def test_a_failed_read_belongs_to_the_step_that_it_is_made_for():
    found = path(
        steps((1, sent()), (1, answered()), (2, sent("prepare:b", purpose="prepare")),
              (2, refused()), (2, sent("tool:b")), (2, answered()))
    )  # fmt: skip
    assert found.failed == 1


def test_paths_part_at_the_first_other_step_or_where_one_ends():
    assert parting(Course(("a", "b"), None), Course(("a", "b"), 0)) is None
    assert parting(Course(("a", "b"), None), Course(("a", "c"), None)) == 1
    assert parting(Course(("a", "b"), None), Course(("a",), 0)) == 1
    assert parting(Course((), None), Course(("a",), None)) == 0


def test_the_reference_is_the_arm_that_sees_the_truth():
    assert reference(planned(("no_retry", "oracle_recovery")).prereg) == "oracle_recovery"
    assert reference(planned(("no_retry", "hfr")).prereg) == "no_retry"


def test_a_row_for_each_arm_and_rate_above_0():
    plan = planned(("no_retry", "hfr"), tasks=3, rates=(0.0, 0.1), controls=False)
    whole, short = Course(("a", "b", "c"), None), Course(("a", "b"), 1)
    paths = [
        (row.trial, short if row.trial.arm == "no_retry" and row.trial.task_id != "t3" else whole)
        for row in plan.rows
    ]
    (row,) = divergence("hfr", paths, (0.0, 0.1))
    assert (row.arm, row.against, row.rate) == ("no_retry", "hfr", 0.1)
    assert (row.groups, row.faulted, row.diverged) == (3, 2, 2)
    assert (row.step, row.after) == (3, 1)
    (same,) = divergence("no_retry", [(trial, whole) for trial, _ in paths], (0.1,))
    assert (same.diverged, same.step, same.after) == (0, None, None)


def pooled(*kinds_of):
    """The pools of trials whose schedules hold these kinds; `lost` gives no error here."""
    kinds = KINDS | {"lost": KINDS["lost"].model_copy(update={"silent": True})}
    plan = planned(("a",), tasks=len(kinds_of), rates=(0.1,), controls=False)
    made: dict[str, FaultSchedule] = {}
    trials = []
    for row, names in zip(plan.rows, kinds_of, strict=True):
        trial = row.trial
        made[trial.trial_id] = schedule(trial, [fault(name) for name in names])
        trials.append(result("a", trial.task_id, rate=0.1, trial_id=trial.trial_id))
    planned_as = {trial.trial_id: trial.trial_id for trial in trials}
    found = pools(trials, planned_as, made.__getitem__, kinds)
    return {pool: [trial.task_id for trial in members] for pool, members in found.items()}


def test_trials_are_pooled_by_what_was_scheduled():
    assert pooled(["busy"], ["lost"], ["busy", "lost"], []) == {
        EXPLICIT: ["t1"],
        SILENT: ["t2"],
        MIXED: ["t3"],
    }


def test_without_silent_kinds_there_is_nothing_apart():
    assert pooled(["busy"], []) == {}
