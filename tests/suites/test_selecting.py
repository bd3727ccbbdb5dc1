"""A selection as our suites read it."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.suites._selecting import chosen, pooled

GROUPS = {"a-1": "a", "b-1": "b", "a-2": "a"}
POOLS = {"demo": ["b-1"]}


def select(**given):
    return chosen("s", SuiteSelection(suite="s", **given), GROUPS, POOLS)


@pytest.mark.parametrize(
    ("pool", "ids"),
    [
        ("all", ("a-1", "b-1", "a-2")),
        ("base", ("a-1", "b-1", "a-2")),
        ("demo", ("b-1",)),
        ("a", ("a-1", "a-2")),
    ],
)
def test_pools(pool, ids):
    assert select(pool=pool) == ids


def test_tasks_in_their_own_order():
    assert select(tasks=("a-2", "b-1")) == ("a-2", "b-1")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pool": "c"}, "suite s has no pool 'c'; there are: all, base, demo, a, b"),
        ({"tasks": ("a-1", "c-1")}, "suite s has no task 'c-1'; there are: a-1, b-1, a-2"),
    ],
)
def test_what_is_not_there_is_told_from_what_is(given, said):
    with pytest.raises(BadInputError) as error:
        select(**given)
    assert str(error.value) == said


def test_a_pool_that_names_a_task_too_many():
    with pytest.raises(BadInputError, match="no task 'gone'"):
        chosen("s", SuiteSelection(suite="s", pool="old"), GROUPS, {"old": ["gone"]})
    assert pooled("s", "old", GROUPS, {"old": ["gone"]}) == ("gone",)
