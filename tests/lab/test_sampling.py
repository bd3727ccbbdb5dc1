"""A registered sample becomes a list of tasks, read from the suite itself."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.sampling import resolved
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.registered import Sample
from hfr_bench.testing.shop import TOOLS, ShopSuite, oracles

SUITE = ShopSuite(tasks=oracles(9))


def of(n, *strata, **fields):
    chosen = {"strata": strata} if strata else {}
    sample = Sample.model_validate({"n": n, "seed": 1, **chosen})
    return resolved(SuiteSelection(suite="shop", sample=sample, **fields), SUITE)


def test_without_a_sample_a_selection_stays_as_it_is():
    selection = SuiteSelection(suite="shop", pool="base")
    assert resolved(selection, SUITE) == (selection, None)


def test_the_drawn_tasks_are_listed_and_their_strata_counted():
    selection, sample = of(4)
    assert selection.sample is None
    assert selection.pool is None
    assert len(selection.tasks) == 4
    assert sample.n == 4
    assert list(sample.pool) == [task.task_id for task in SUITE.select_all()]
    assert sum(row.drawn for row in sample.strata) == 4
    assert sum(row.of for row in sample.strata) == 9
    assert SUITE.pin(selection).tasks == selection.tasks


def test_strata_are_of_difficulty_tools_and_side_effects():
    _, sample = of(4)
    assert sample.pool["shop/1"] == "steps 3-5 / tools 2-4 / level R2"
    assert sample.pool["shop/9"].endswith("level R3")
    assert set(of(2, "level")[1].pool.values()) == {"level R2", "level R3"}
    assert set(of(2, "domain")[1].pool.values()) == {"shop"}


def test_without_strata_all_are_drawn_from_one():
    sample = Sample(n=3, seed=1, strata=())
    assert {row.stratum for row in resolved(
        SuiteSelection(suite="shop", sample=sample), SUITE
    ).sample.strata} == {"all"}  # fmt: skip


def test_a_sample_of_listed_tasks_is_drawn_from_them():
    tasks = ("shop/1", "shop/2", "shop/3")
    selection, sample = of(2, "level", tasks=tasks)
    assert set(selection.tasks) < set(tasks)
    assert set(sample.pool) == set(tasks)


def test_more_than_the_pool_is_refused_with_its_size():
    with pytest.raises(BadInputError, match=r"suites.shop.sample: 10 of 9 tasks cannot be drawn"):
        of(10)


def test_a_task_whose_solution_does_nothing_is_the_easiest_and_changes_nothing():
    idle = ShopSuite(tasks=oracles(3) | {"shop/idle": ()})
    sample = Sample(n=4, seed=1)
    strata = resolved(SuiteSelection(suite="shop", sample=sample), idle).sample.pool
    assert strata["shop/idle"].startswith("steps 0")
    assert strata["shop/idle"].endswith("level R0")


def test_without_any_solution_what_is_on_offer_stands_for_it():
    bare = ShopSuite(tasks={"shop/1": (), "shop/2": ()})
    sample = Sample(n=1, seed=1, strata=("tools", "level"))
    strata = resolved(SuiteSelection(suite="shop", sample=sample), bare).sample.pool
    assert set(strata.values()) == {f"tools {len(TOOLS)} / level R3"}
