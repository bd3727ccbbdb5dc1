"""Tasks from a checkout: ours of three, and the public one where it is named."""

import os
from collections import Counter

import pytest
from checkout import GOLD, RENAME, START, task, write

from hfr_bench.errors import BadInputError
from hfr_bench.suites.osworld.cache import CACHE, cached_name
from hfr_bench.suites.osworld.classify import Equipment, needs_of, task_lacks
from hfr_bench.suites.osworld.load import ROOT, find_checkout, load
from hfr_bench.suites.osworld.needs import lacking


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    for name in (ROOT, CACHE):
        monkeypatch.delenv(name, raising=False)
    return find_checkout(write(tmp_path))


def test_a_pool_is_read_in_its_order(checkout):
    assert [record.id for record in load(checkout)] == ["rename", "sort", "shop"]
    assert [record.id for record in load(checkout, "small")] == ["rename"]
    assert checkout.pools == ("all", "small")


def test_ids_come_in_their_own_order_and_domains_choose(checkout):
    found = load(checkout, ids=["shop", "rename", "shop"])
    assert [record.id for record in found] == ["shop", "rename"]
    assert [record.id for record in load(checkout, domains=["chrome"])] == ["shop"]


def test_a_record_has_two_parts(checkout):
    found = load(checkout, ids=["rename"])[0]
    assert found.problem.instruction == "Do rename."
    assert found.problem.domain == "os"
    assert found.sealed == RENAME["evaluator"]
    assert "include" not in repr(found)
    assert len(found.source_digest) == 64


def test_a_record_names_its_files_as_the_cache_does(checkout):
    found = load(checkout, ids=["sort"])[0]
    assert [(item.url, item.name) for item in found.assets] == [
        (START, cached_name(START, "/home/user/a.txt")),
        (GOLD, "gold.txt"),
    ]
    assert cached_name("https://a.b/c", "/x/y z.txt") == (
        "5bedd016-0a49-5136-8b72-4a4bf53de549_y z.txt"
    )


def test_the_environment_may_name_checkout_and_cache(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setenv(ROOT, str(tmp_path))
    monkeypatch.delenv(CACHE, raising=False)
    assert find_checkout().cache == tmp_path / "cache"
    monkeypatch.setenv(CACHE, "/elsewhere")
    assert str(find_checkout(tmp_path / "evaluation_examples").cache) == "/elsewhere"


def test_no_checkout_is_said_and_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.delenv(ROOT, raising=False)
    with pytest.raises(BadInputError, match=f"none is named.*{ROOT}=DIR"):
        find_checkout()
    with pytest.raises(BadInputError, match=r"holds no evaluation_examples/test_all\.json"):
        find_checkout(tmp_path)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"pool": "large"}, "no pool 'large' in .*: all, small"),
        ({"ids": ["none"]}, "no task none among the 3 chosen of all .such as rename, sort, shop"),
        ({"ids": ["rename"], "domains": ["chrome"]}, "no task rename among the 1 chosen"),
        ({"domains": ["vlc"]}, "no domain vlc in all: there are os, chrome"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(checkout, asked, said):
    with pytest.raises(BadInputError, match=said):
        load(checkout, **asked)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("{", "broken.json: not JSON"),
        ("[]", "broken.json: expected an object"),
        (task("broken", instruction=None), "instruction must be a text"),
        (task("broken", evaluator=[]), "evaluator must be an object"),
        (task("broken", evaluator={"func": "x"}), "evaluator: x: result is missing"),
        (task("broken", config=[{"type": 1}]), "step 1: must be an object with a type"),
        (task("broken", config=[{"type": "sleep"}]), "step 1: parameters must be an object"),
        (
            task("broken", config=[{"type": "download", "parameters": {"files": [{"url": "x"}]}}]),
            "step 1: files must be a list of {url, path}",
        ),
        (
            task("broken", evaluator={"func": "infeasible", "postconfig": [{"type": 3}]}),
            "postconfig: step 1: must be an object with a type",
        ),
    ],
)
def test_a_task_that_cannot_be_used_is_named_with_its_file(tmp_path, made, said):
    write(tmp_path, tasks=[("os", made)], lists={"os": ["broken"]})
    with pytest.raises(BadInputError, match=said):
        load(find_checkout(tmp_path))


def test_the_first_five_wrong_tasks_are_named_and_the_others_counted(tmp_path):
    write(tmp_path, lists={"os": [f"gone{number}" for number in range(7)]})
    with pytest.raises(BadInputError, match=r"(?s)gone0.*gone4.*and 2 more") as caught:
        load(find_checkout(tmp_path))
    assert "gone5" not in str(caught.value)


def test_a_list_cannot_lead_out_of_the_checkout(tmp_path):
    write(tmp_path, lists={"os": ["../../x"]})
    with pytest.raises(BadInputError, match="no task's name"):
        load(find_checkout(tmp_path))


@pytest.fixture(scope="module")
def public():
    """The public tasks, where their checkout is at hand."""
    if not os.environ.get(ROOT):
        pytest.skip(f"no checkout of OSWorld ({ROOT})")
    return load(find_checkout())


def test_all_public_tasks_are_read_and_what_they_take_is_counted(public):
    needs = [needs_of(record) for record in public]
    assert len(public) == 369
    assert Counter(need.network for need in needs) == {"offline": 63, "assets": 241, "live": 65}
    assert Counter(need.reads for need in needs) == {"files": 252, "desktop": 88, "nothing": 29}
    assert sum(need.proxy for need in needs) == 52
    assert sum(need.account for need in needs) == 8


def test_most_public_evaluators_are_graded_by_our_own_metrics(public):
    assert sum(not lacking(record.evaluator) for record in public) == 250
    assert sum(not task_lacks(record, Equipment()) for record in public) == 44
