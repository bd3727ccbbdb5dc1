"""Tasks of trials that went badly: who is on the list, why, and a registration that freezes."""

import json

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.dataset import DATASET, Rule, choose, summary, troubles, write
from hfr_bench.lab.register import load_prereg
from hfr_bench.model.dataset import TROUBLES, Dataset
from hfr_bench.model.terms import End
from hfr_bench.testing.bundled import ready
from hfr_bench.testing.results import outcome


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return ready(tmp_path_factory.mktemp("toy") / "e").experiment


@pytest.mark.parametrize(
    ("graded", "expected"),
    [
        (outcome(), ()),
        (outcome(success=False), ("failed",)),
        (outcome(success=False, end=End.ESCALATED), ("escalated",)),
        (outcome(duplicates=1), ("harmed",)),
        (outcome(partial=1, degraded_steps=1), ("harmed", "degraded")),
        (outcome(goal_met=False), ("failed", "false_accept")),
        (outcome(in_time=False), ("failed",)),
    ],
)
def test_what_counts_as_trouble(graded, expected):
    assert troubles(graded) == expected


def test_the_list_says_who_and_why(toy):
    made = choose(toy, Rule(("harmed",), ("blind_resend",)))
    assert 0 < len(made.tasks) < made.of_tasks
    assert made.arms == ("blind_resend",)
    frozen = [task for pin in toy.lock.sources for task in pin.tasks]
    names = [task.task_id for task in made.tasks]
    assert names == [name for name in frozen if name in names]  # in the frozen order
    for task in made.tasks:
        assert 0 < task.troubles["harmed"] <= task.trials
    assert f"harmed {made.tasks[0].troubles['harmed']} of " in summary(made)[1]


def test_more_trouble_takes_fewer_tasks(toy):
    every = Rule(TROUBLES, (), 1)
    sizes = [len(choose(toy, every._replace(least=least)).tasks) for least in (1, 2, 3)]
    assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(BadInputError, match=r"none failed or .* in 99 trials of one task"):
        choose(toy, every._replace(least=99))


def test_a_registration_of_these_tasks_is_written(toy, tmp_path):
    made = choose(toy, Rule(("harmed",)))
    write(toy, made, tmp_path / "d")
    prereg = load_prereg(tmp_path / "d")
    assert [one.tasks for one in prereg.suites] == [tuple(task.task_id for task in made.tasks)]
    assert (prereg.arms, prereg.seeds, prereg.faults) == (
        toy.prereg.arms, toy.prereg.seeds, toy.prereg.faults,
    )  # fmt: skip
    assert prereg.hypotheses == ()
    assert "chosen by how" in prereg.description
    assert toy.lock.prereg_digest[:12] in prereg.description
    assert Dataset.loads((tmp_path / "d" / DATASET).read_bytes()) == made


def test_nothing_is_overwritten(toy, tmp_path):
    (tmp_path / "mine").write_text("x")
    with pytest.raises(BadInputError, match="is in use"):
        write(toy, choose(toy, Rule()), tmp_path)
    assert json.dumps([path.name for path in tmp_path.iterdir()]) == '["mine"]'


def test_an_arm_that_is_not_there(toy):
    with pytest.raises(BadInputError, match="no arm 'x'"):
        choose(toy, Rule(arms=("x",)))
