"""Twins that chance is in (live, or on the wall's clock): told apart by a test on tasks, never held
to be alike line by line.
"""

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.store import Store
from hfr_bench.model.terms import ClockKind, Origin
from hfr_bench.testing.experiments import planned, play, some_faults
from hfr_bench.testing.results import KINDS, ended, outcome, write_trial


def a_a(folder, changed, **prereg):
    """The A/A check of 12 tasks, in so many of which the second arm alone fails."""
    plan = planned(("blind_resend",), tasks=12, rates=(0.0, 0.1), faults=some_faults, **prereg)
    for row in plan.rows:
        bodies = play(row, plan.schedule(row.trial.schedule_id))
        if row.control == "a_a" and int(row.trial.task_id[1:]) <= changed:
            bodies[-1] = ended(row.trial, of=outcome(success=False, goal_met=True))
        write_trial(folder, row.trial, bodies)
    report = analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)
    (found,) = (row for row in report.controls if "(A/A)" in row.name)
    return found


@pytest.mark.parametrize(
    ("prereg", "told"),
    [({"origin": Origin.LIVE}, "live: "), ({"clock": ClockKind.WALL}, "wall clock: ")],
    ids=["live", "wall"],
)
@pytest.mark.parametrize(
    ("changed", "passed", "p"), [(0, True, 1), (5, True, 2**-4), (6, False, 2**-5)]
)
def test_twins_differ_by_no_more_than_chance(tmp_path, prereg, told, changed, passed, p):
    found = a_a(tmp_path, changed, **prereg)
    assert (found.passed, found.decides) == (passed, False)
    assert found.detail.startswith(told)
    assert f"agrees in {12 - changed} of 12 trials" in found.detail
    assert f"more of it in 0 tasks, less in {changed}: sign-flip p {p:.3f}" in found.detail
