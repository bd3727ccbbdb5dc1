"""Preregistration to planned trials: one schedule a group, controls beside it."""

from itertools import groupby
from typing import Any

import pytest
from pydantic import ValidationError

from hfr_bench.faults.fork import Content
from hfr_bench.lab.plan import Cell, cells, exhaustive_trials, fork_trials, plan_rows
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.record import text_digest
from hfr_bench.model.task import OracleStep, TaskSpec
from hfr_bench.model.trial import PlanRow
from hfr_bench.testing.rig import KINDS
from hfr_bench.testing.shop import ShopSuite

MATRIX = FaultMatrix(name="m", mixes=(Mix(points=("*",), kinds={"lost": 1, "busy": 1}),))


def prereg(**fields: Any) -> Preregistration:
    plain = {
        "name": "x",
        "title": "x",
        "origin": "rehearsal",
        "suites": [{"suite": "shop"}],
        "seeds": [1, 2],
        "faults": {"matrix": "m", "rates": [0, 0.1, 0.3]},
        "limits": {"max_steps": 8},
        "arms": [{"name": name, "strategy": name} for name in ("a", "b")],
        "analysis": {"baseline": "a"},
    }
    return Preregistration.model_validate(plain | fields)


SHOP = ShopSuite()
EXHAUSTIVE = {"matrix": "m", "design": "exhaustive-1"}


def oracle(task: TaskSpec) -> tuple[OracleStep, ...]:
    return SHOP.sealed(task.task_id).oracle


def planned(registered: Preregistration, tasks: int = 2) -> tuple[list[Cell], list[PlanRow]]:
    made = list(cells(registered, SHOP.select_all()[:tasks], MATRIX, KINDS, oracle))
    return made, list(plan_rows(registered, registered.digest(), made))


def test_every_task_seed_and_rate_has_one_schedule_for_all_arms() -> None:
    made, rows = planned(prereg())
    assert len(made) == 2 * 2 * 3
    assert len({cell.schedule.schedule_id for cell in made}) == len(made)
    main = [row.trial for row in rows if row.control is None]
    assert len(main) == len(made) * 2
    for _, pair in groupby(main, key=lambda trial: trial.pair_group):
        first, second = pair
        assert (first.arm, second.arm) == ("a", "b")
        assert first.schedule_digest == second.schedule_digest
        assert first.schedule_id == second.schedule_id


def test_order_and_names_are_unique_and_the_frozen_digest_is_of_the_line() -> None:
    made, rows = planned(prereg())
    assert [row.order for row in rows] == list(range(1, len(rows) + 1))
    assert len({row.trial.trial_id for row in rows}) == len(rows)
    lines = {cell.schedule.schedule_id: cell.schedule.dumps() for cell in made}
    for row in rows:
        assert row.trial.schedule_digest == text_digest(lines[row.trial.schedule_id])


def test_rate_zero_plans_no_faults_and_other_rates_do() -> None:
    made, _ = planned(prereg())
    assert all(not cell.schedule.events for cell in made if cell.schedule.rate == 0)
    assert any(cell.schedule.events for cell in made if cell.schedule.rate == 0.3)


def test_a_plan_is_the_same_on_every_run_and_another_for_another_registration() -> None:
    assert planned(prereg())[1] == planned(prereg())[1]
    ids = [
        {row.trial.trial_id for row in planned(registered)[1]}
        for registered in (prereg(), prereg(title="another"))
    ]
    assert not ids[0] & ids[1]


def test_the_arm_has_no_say_in_the_schedules() -> None:
    other = prereg(arms=[{"name": "c", "strategy": "c"}], analysis={"baseline": "c"})
    assert [c.schedule for c in planned(prereg())[0]] == [c.schedule for c in planned(other)[0]]


def test_tasks_keep_their_schedules_whoever_else_is_selected() -> None:
    few, many = planned(prereg(), tasks=1)[0], planned(prereg(), tasks=2)[0]
    assert few == many[: len(few)]


def test_controls_stand_beside_the_group_they_check() -> None:
    _, rows = planned(prereg(controls={"arm": "b"}))
    controls = [row for row in rows if row.control]
    assert {(row.control, row.trial.rate, row.trial.arm) for row in controls} == {
        ("injector_removed", 0.0, "b"),
        ("a_a", 0.3, "b"),
    }
    for row in controls:
        assert row.trial.injected is (row.control != "injector_removed")
        twin = next(
            other.trial
            for other in rows
            if other.control is None
            and other.trial.arm == "b"
            and other.trial.schedule_id == row.trial.schedule_id
        )
        assert twin.trial_id != row.trial.trial_id
        assert twin.pair_group != row.trial.pair_group


@pytest.mark.parametrize("control", ["injector_removed", "a_a"])
def test_controls_can_be_left_out(control: str) -> None:
    _, rows = planned(prereg(controls={control: False}))
    assert control not in {row.control for row in rows}


def test_a_design_without_faults_runs_at_rate_zero_only() -> None:
    made, _ = planned(prereg(faults={"matrix": "m", "design": "none"}))
    assert {cell.schedule.rate for cell in made} == {0.0}


def test_the_exhaustive_design_plans_one_fault_a_trial_beside_a_trial_without() -> None:
    made, rows = planned(prereg(faults=EXHAUSTIVE))
    for (_, seed), group in groupby(made, key=lambda cell: (cell.task.task_id, cell.seed)):
        calm, *faulty = [cell.schedule for cell in group]
        assert (calm.rate, calm.events) == (0.0, ())
        assert {(one.rate, len(one.events), one.seed) for one in faulty} == {(1.0, 1, seed)}
    assert len({row.trial.trial_id for row in rows}) == len(rows)
    profiles = {(c.schedule.task_id, c.schedule.seed, c.schedule.profile) for c in made}
    assert len(profiles) == len(made)


def test_exhaustive_controls_are_of_every_trial() -> None:
    made, rows = planned(prereg(faults=EXHAUSTIVE))
    of = {row.trial.schedule_id: row.control for row in rows if row.control}
    for cell in made:
        control = "injector_removed" if cell.schedule.rate == 0 else "a_a"
        assert of[cell.schedule.schedule_id] == control


@pytest.mark.parametrize("controls", [{}, {"a_a": False}, {"injector_removed": False}])
def test_exhaustive_trials_are_counted_without_making_them(controls: dict[str, bool]) -> None:
    registered = prereg(faults=EXHAUSTIVE, controls=controls)
    made, rows = planned(registered)
    faults, trials = exhaustive_trials(registered, SHOP.select_all()[:2], MATRIX, KINDS, oracle)
    assert (faults * 2, trials) == (sum(len(c.schedule.events) for c in made), len(rows))


def test_the_exhaustive_design_has_rates_of_its_own() -> None:
    chosen = prereg(faults=EXHAUSTIVE).faults
    assert chosen.rates == (0.0, 1.0)
    assert type(chosen).loads(chosen.dumps()) == chosen
    with pytest.raises(ValidationError, match="exhaustive-1 has none to choose"):
        prereg(faults=EXHAUSTIVE | {"rates": [0, 0.1]})


@pytest.mark.parametrize(
    ("faults", "schedules", "rows"),
    [
        ({"matrix": "m", "rates": [0, 0.1, 0.3]}, "de5e7028d90b4286", "8f23dd09b00041f6"),
        (EXHAUSTIVE, "97e8ba0e5bb37818", "f0344ccc71a3070e"),
        ({"matrix": "m", "design": "none"}, "e628d4452ff38aa0", "a01a514a1613888a"),
    ],
)
def test_what_came_later_left_the_bytes_of_earlier_plans_alone(
    faults: dict[str, Any], schedules: str, rows: str
) -> None:
    """Pinned before bursts, outages and forks were there: registrations without them stay."""
    made, laid_out = planned(prereg(faults=faults))
    assert text_digest("".join(cell.schedule.dumps() for cell in made))[:16] == schedules
    assert text_digest("".join(row.dumps() for row in laid_out))[:16] == rows


FORKED = {"matrix": "m", "design": "fork", "fork": {"points": 2, "continuations": 3, "rate": 0.3}}


def test_forks_come_with_their_continuations_beside_a_trial_without_faults() -> None:
    made, rows = planned(prereg(faults=FORKED))
    for _, group in groupby(made, key=lambda cell: (cell.task.task_id, cell.seed)):
        calm, *forked = [cell.schedule for cell in group]
        assert (calm.rate, calm.events, calm.profile) == (0.0, (), "fork/none")
        profiles = [one.profile.rpartition("/") for one in forked]
        assert [number for _, _, number in profiles] == ["c1", "c2", "c3"] * 2
        assert len({name for name, _, _ in profiles}) == 2
        assert {one.rate for one in forked} == {1.0}
    assert len({row.trial.trial_id for row in rows}) == len(rows)
    of = {row.trial.schedule_id: row.control for row in rows if row.control}
    assert set(of.values()) == {"injector_removed", "a_a"}


@pytest.mark.parametrize("controls", [{}, {"a_a": False}, {"injector_removed": False}])
@pytest.mark.parametrize("points", [1, 2, None])
def test_forks_are_counted_without_making_them(
    controls: dict[str, bool], points: int | None
) -> None:
    fork = {"points": points, "continuations": 2, "rate": 0.1}
    registered = prereg(faults=FORKED | {"fork": fork}, controls=controls)
    made, rows = planned(registered)
    made_of = Content(MATRIX, KINDS, registered.limits.max_steps)
    forks, trials = fork_trials(registered, SHOP.select_all()[:2], made_of, oracle)
    assert (forks * 2, trials) == (sum(c.schedule.rate == 1 for c in made), len(rows))


def test_forks_have_rates_of_their_own() -> None:
    plan = prereg(faults={"matrix": "m", "design": "fork"}).faults
    assert plan.rates == (0.0, 1.0)
    assert type(plan).loads(plan.dumps()) == plan
    with pytest.raises(ValidationError, match="fork has none to choose"):
        prereg(faults=FORKED | {"rates": [0, 0.1]})
