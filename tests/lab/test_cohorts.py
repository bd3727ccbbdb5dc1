"""Cohorts on paper: places, pairs, what stands and falls together, and what is drawn."""

from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hfr_bench.errors import BadInputError
from hfr_bench.lab.book import ScheduleBook
from hfr_bench.lab.cohorts import (
    Commons,
    check_cohorts,
    cohort_notes,
    crowds,
    drawn,
    seats,
)
from hfr_bench.lab.plan import cells, plan_rows
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.standing import standing, trial_path
from hfr_bench.lab.status import status
from hfr_bench.lab.store import Store, choose
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.prereg import Cohorts, Preregistration
from hfr_bench.model.terms import VoidCause
from hfr_bench.model.trial import PlanRow, Trial
from hfr_bench.recovery.hfr import Hfr, HfrWithoutBreaker
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import NoRetry
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import KINDS as TOY_KINDS
from hfr_bench.testing.results import ended, started, write_trial
from hfr_bench.testing.rig import KINDS
from hfr_bench.testing.shop import ShopSuite, oracles

MATRIX = FaultMatrix(name="m", mixes=(Mix(points=("*",), kinds={"lost": 1, "busy": 1}),))
COHORTS = Cohorts(size=2, tenants=("acme", "zenith"))


def prereg(**fields: Any) -> Preregistration:
    plain = {
        "name": "x",
        "title": "x",
        "origin": "rehearsal",
        "suites": [{"suite": "shop"}],
        "seeds": [1, 2],
        "faults": {"matrix": "m", "rates": [0, 0.3]},
        "limits": {"max_steps": 8},
        "arms": [{"name": name, "strategy": name} for name in ("a", "b")],
        "analysis": {"baseline": "a"},
    }
    return Preregistration.model_validate(plain | fields)


def rows_of(registered: Preregistration, tasks: int = 5) -> list[PlanRow]:
    suite = ShopSuite(tasks=oracles(tasks))
    made = list(cells(registered, suite.select_all(), MATRIX, KINDS))
    return list(plan_rows(registered, "d" * 64, made))


# -- the plan ---------------------------------------------------------------------------------


def test_tasks_are_dealt_in_their_order_suite_by_suite() -> None:
    tasks = [("s", "1"), ("t", "1"), ("s", "2"), ("s", "3"), ("s", "1")]
    found = seats(COHORTS, tasks)
    assert {key: tuple(seat) for key, seat in found.items()} == {
        ("s", "1"): (1, 1, "acme"),
        ("s", "2"): (1, 2, "zenith"),
        ("s", "3"): (2, 1, "acme"),
        ("t", "1"): (1, 1, "acme"),
    }
    assert seats(None, tasks) == {}


def test_arms_are_paired_place_by_place_under_the_same_schedules() -> None:
    rows = rows_of(prereg(cohorts=COHORTS))
    by_cohort: dict[str, list[Trial]] = {}
    for row in rows:
        by_cohort.setdefault(row.trial.cohort_id, []).append(row.trial)
    # 3 blocks x 2 seeds x 2 rates x 2 arms, and each block's controls at their rates.
    assert len(by_cohort) == 3 * 2 * 2 * 2 + 3 * 2 * 2
    for trials in by_cohort.values():
        assert [t.position for t in trials] == list(range(1, len(trials) + 1))
        assert len({(t.suite, t.seed, t.profile, t.arm, t.injected) for t in trials}) == 1
    for _, group in groupby(rows, key=lambda row: row.trial.pair_group):
        trials = [row.trial for row in group]
        assert len({(t.position, t.task_id, t.schedule_digest, t.tenant) for t in trials}) == 1
        assert len({t.cohort_id for t in trials}) == len(trials)
    assert {t.tenant for t in by_cohort[rows[0].trial.cohort_id]} == {"acme", "zenith"}


def test_without_cohorts_nothing_is_written_of_them() -> None:
    plain, rows = prereg(), rows_of(prereg())
    assert "cohorts" not in plain.model_dump()
    assert plain.digest() == prereg(cohorts=None).digest() != prereg(cohorts=COHORTS).digest()
    assert not any("position" in row.dumps() for row in rows)
    assert all(row.trial.cohort_id == row.trial.trial_id for row in rows)
    assert all('"position":' in row.dumps() for row in rows_of(prereg(cohorts=COHORTS)))


def test_a_plan_in_cohorts_has_the_trials_of_one_without_in_the_same_order() -> None:
    alone, together = rows_of(prereg()), rows_of(prereg(cohorts=COHORTS))
    same = {"cohort_id", "tenant", "position"}
    strip = [
        [row.trial.model_copy(update=dict.fromkeys(same, "")) for row in rows]
        for rows in (alone, together)
    ]
    assert strip[0] == strip[1]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"size": 0}, "size"),
        ({"tenants": []}, "tenants"),
        ({"tenants": ["a", "a"]}, "'a' is listed twice"),
        ({"tenants": ["A B"]}, "tenants"),
        ({"shares": ["memory"]}, "shares"),
        ({"every_s": -1}, "every_s"),
        ({"order": "shuffled"}, "order"),
    ],
)
def test_a_wrong_registration_is_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Cohorts.model_validate(fields)


def test_designs_that_would_seat_a_task_twice_are_refused() -> None:
    sampled = prereg(cohorts=COHORTS)
    cell = ("shop", "1", 1, "m-0.3")
    check_cohorts(sampled, [cell, ("shop", "1", 2, "m-0.3")])
    with pytest.raises(BadInputError, match="planned twice"):
        check_cohorts(sampled, [cell, cell])
    check_cohorts(prereg(), [cell, cell])
    every = prereg(cohorts=COHORTS, faults={"matrix": "m", "design": "exhaustive-1"})
    with pytest.raises(BadInputError, match="exhaustive-1"):
        check_cohorts(every, [])


def test_freezing_tells_of_units_of_the_short_cohort_and_of_what_is_handed_on() -> None:
    tasks = [("shop", str(n)) for n in range(5)]
    kit = Kit()
    arms = {"hfr": Hfr({}, kit), "dumb": NoRetry({}, kit), "half": HfrWithoutBreaker({}, kit)}
    shares = {"shares": ("breaker", "tenant_budget", "pool")}
    told = cohort_notes(prereg(cohorts=COHORTS.model_copy(update=shares)), tasks, arms)
    assert "cohorts: 5 tasks make 3 cohorts of up to 2" in told
    assert "cohorts: all intervals rest on n = 3 cohorts, not on 5 tasks" in told
    assert "cohorts: the last one of shop has 1 task(s), not 2" in told
    assert "cohorts: breaker is handed on by hfr" in told
    assert "cohorts: tenant_budget is handed on by hfr, half" in told
    assert "cohorts: pool is handed on by no registered arm" in told
    assert cohort_notes(prereg(), tasks, arms) == ()


# -- what is drawn ----------------------------------------------------------------------------


def test_a_block_of_tasks_is_one_unit_with_all_its_seeds_and_rates() -> None:
    registered = prereg(cohorts=COHORTS)
    rows = rows_of(registered)
    tasks = tuple(sorted({(r.trial.suite, r.trial.task_id) for r in rows}))
    units, index = drawn(registered, rows, tasks)
    assert len(units) == 3
    assert sorted(index.values()) == [0, 0, 1, 1, 2]
    assert list(units) == sorted(units)
    alone, places = drawn(prereg(), rows_of(prereg()), tasks)
    assert alone == tasks
    assert list(places.values()) == list(range(len(tasks)))


# -- rounds -----------------------------------------------------------------------------------


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    """Two arms, four tasks in two cohorts, one rate, nothing run yet."""
    plan = planned(tasks=4, rates=(0.1,), controls=False, cohorts=COHORTS)
    seated = seats(COHORTS, ((r.trial.suite, r.trial.task_id) for r in plan.rows))
    rows = tuple(row.model_copy(update={"trial": _seated(row.trial, seated)}) for row in plan.rows)
    book = ScheduleBook(made.dumps() for made in plan.schedules.values())
    return Experiment(tmp_path, plan.prereg, plan.lock, rows, book)


def _seated(trial: Trial, seated: Any) -> Trial:
    seat = seated[trial.suite, trial.task_id]
    name = {"cohort_id": f"{trial.arm}-{seat.block}", "position": seat.position}
    return trial.model_copy(update=name)


def write(experiment: Experiment, row: PlanRow, round_: int = 1, **fields: Any) -> None:
    trial = row.trial
    write_trial(experiment.path, trial, [started(trial, round_), ended(trial, **fields)], round_)


def jobs(experiment: Experiment) -> list[tuple[str, int, int]]:
    found = standing(experiment).jobs
    return sorted((j.row.trial.cohort_id, j.row.trial.position, j.round_no) for j in found)


def test_a_cohort_that_was_interrupted_is_run_again_from_its_first_trial(
    experiment: Experiment,
) -> None:
    assert len(jobs(experiment)) == 8
    of = [row for row in experiment.plan if row.trial.cohort_id == "hfr-1"]
    write(experiment, of[0])
    assert [job for job in jobs(experiment) if job[0] == "hfr-1"] == [
        ("hfr-1", 1, 1),
        ("hfr-1", 2, 1),
    ]
    assert status(experiment, TOY_KINDS).graded == 0
    write(experiment, of[1])
    assert not [job for job in jobs(experiment) if job[0] == "hfr-1"]
    assert status(experiment, TOY_KINDS).graded == 2


def test_a_void_opens_the_next_round_for_the_cohorts_of_all_arms(experiment: Experiment) -> None:
    for row in experiment.plan:
        gone = (row.trial.cohort_id, row.trial.position) == ("hfr-1", 1)
        if not gone and (row.trial.cohort_id, row.trial.position) != ("hfr-1", 2):
            write(experiment, row)
        elif gone:
            write(experiment, row, void=VoidCause.SANDBOX)
    # The rest of the spoilt cohort is not run in this round; the other crowd is done.
    assert jobs(experiment) == [
        ("hfr-1", 1, 2),
        ("hfr-1", 2, 2),
        ("no_retry-1", 1, 2),
        ("no_retry-1", 2, 2),
    ]
    found = _chosen(experiment)
    assert (len(found.trials), len(found.lacking), found.dropped) == (4, 2, ())
    for row in experiment.plan:
        if row.trial.cohort_id.endswith("-1"):
            write(experiment, row, 2)
    assert jobs(experiment) == []
    found = _chosen(experiment)
    assert len(found.trials) == 8
    rounds = {one.file.round for one in found.trials.values()}
    assert rounds == {1, 2}
    assert status(experiment, TOY_KINDS).voids == {"sandbox": 1}


def test_a_crowd_that_is_void_in_every_round_is_dropped_whole(experiment: Experiment) -> None:
    for row in experiment.plan:
        for round_ in (1, 2, 3):
            if row.trial.position == 1:
                gone = row.trial.cohort_id == "hfr-2"
                write(experiment, row, round_, **({"void": VoidCause.SANDBOX} if gone else {}))
            elif row.trial.cohort_id != "hfr-2":
                write(experiment, row, round_)
    assert jobs(experiment) == []
    found = _chosen(experiment)
    assert (len(found.trials), len(found.dropped), found.lacking) == (4, 2, ())


def _chosen(experiment: Experiment) -> Any:
    store = Store(experiment.path)
    return choose(experiment.plan, [store.check(f) for f in store.files()], 2)


def test_every_trial_is_in_one_crowd_and_alone_its_crowd_is_its_pair_group() -> None:
    rows = rows_of(prereg())
    assert {name: {r.trial.pair_group for r in of} for name, of in crowds(rows).items()} == {
        row.trial.pair_group: {row.trial.pair_group} for row in rows
    }
    together = rows_of(prereg(cohorts=COHORTS))
    found = crowds(together)
    assert sum(map(len, found.values())) == len(together)
    for members in found.values():
        assert len({r.trial.cohort_id for r in members}) == len({r.trial.arm for r in members})


def test_traces_lie_where_they_lay(experiment: Experiment) -> None:
    row = experiment.plan[0]
    path = trial_path(experiment.path, row, 2)
    assert path.parts[-3:] == (row.trial.pair_group, "r2", f"{row.trial.arm}.jsonl")


# -- what is handed on ------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.dictionaries(st.sampled_from(["breaker", "tenant_budget", "pool"]), st.integers()),
        )
    )
)
def test_the_last_word_on_each_part_holds_and_budgets_are_each_tenants_own(handed: Any) -> None:
    commons: Commons[int] = Commons(("breaker", "tenant_budget"))
    for tenant, parts in handed:
        commons.take(tenant, parts)
    for tenant in ("a", "b"):
        own = [parts for name, parts in handed if name == tenant]
        last = {"breaker": handed[-1][1] if handed else {}, "tenant_budget": own[-1] if own else {}}
        expected = {part: of[part] for part, of in last.items() if part in of}
        assert commons.of(tenant) == expected
