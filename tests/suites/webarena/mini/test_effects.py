"""Rows that changed as effects, and a database held against what a task wants."""

from typing import Any

import pytest

from hfr_bench.suites.webarena.mini.effects import (
    as_wanted,
    differences,
    drop_key,
    natural_key,
    set_key,
    wanted_key,
)

IDENTITY = {
    "orders": ["customer", "items"],
    "shop_cart": ["customer", "sku"],
    "stock": ["sku"],
}
ORDER = {"id": 7, "customer": "e", "items": "1 x L", "note": "quick"}
LINE = {"id": 1, "customer": "e", "sku": "L", "qty": 1}


def change(table: str, was: Any, now: Any) -> dict[str, Any]:
    return {"table": table, "key": (was or now)["id"], "was": was, "is": now}


def test_free_text_and_numbers_do_not_tell_effects_apart() -> None:
    first = natural_key([change("orders", None, ORDER)], IDENTITY)
    again = natural_key([change("orders", None, {**ORDER, "id": 8, "note": "slow"})], IDENTITY)
    other = natural_key([change("orders", None, {**ORDER, "items": "2 x L"})], IDENTITY)
    assert first == again == wanted_key("orders", ORDER, IDENTITY)
    assert other != first


def test_the_table_listed_first_names_an_action_that_changed_several() -> None:
    stock = {"id": 2, "sku": "L", "left": 3}
    changes = [
        change("stock", stock, {**stock, "left": 2}),
        change("shop_cart", LINE, None),
        change("orders", None, ORDER),
    ]
    assert natural_key(changes, IDENTITY) == wanted_key("orders", ORDER, IDENTITY)
    assert natural_key([change("unlisted", None, ORDER)], IDENTITY) == ""


def test_more_in_the_cart_is_the_same_effect_again() -> None:
    put = natural_key([change("shop_cart", None, LINE)], IDENTITY)
    assert natural_key([change("shop_cart", LINE, {**LINE, "qty": 2})], IDENTITY) == put


def test_setting_and_removing_are_effects_of_their_own() -> None:
    done = natural_key([change("orders", ORDER, {**ORDER, "note": "x"})], IDENTITY)
    gone = natural_key([change("orders", ORDER, None)], IDENTITY)
    assert done == set_key("orders", ORDER, ["note"], IDENTITY)
    assert gone == drop_key("orders", ORDER, IDENTITY)
    assert len({done, gone, wanted_key("orders", ORDER, IDENTITY)}) == 3


FIRST = {
    "forum_submissions": [{"id": 1, "title": "a"}, {"id": 2, "title": "b"}],
    "forum_votes": [{"id": 5, "submission": 1}],
}


@pytest.mark.parametrize(
    ("now", "wanted", "wrong"),
    [
        ({}, {}, ()),
        ({"forum_votes": []}, {}, ("forum_votes/5 is gone",)),
        (
            {"forum_submissions": [{"id": 2, "title": "b"}], "forum_votes": []},
            {"drop": {"forum_submissions": [1]}},
            (),
        ),
        (
            {"forum_submissions": [{"id": 2, "title": "b"}]},
            {"drop": {"forum_submissions": [2]}},
            ("forum_submissions/1 is gone", "forum_submissions/2 is still there"),
        ),
        (
            {"forum_submissions": [{"id": 1, "title": "a"}, {"id": 2, "title": "c"}]},
            {"set": {"forum_submissions": {2: {"title": "c"}}}},
            (),
        ),
        ({}, {"set": {"forum_votes": {5: {"x": 1}}}}, ("forum_votes/5 is not set",)),
        (
            {"forum_votes": [{"id": 5, "submission": 1}, {"id": 6, "submission": 2}]},
            {"add": {"forum_votes": [{"submission": 2}]}},
            (),
        ),
        (
            {
                "forum_votes": [
                    {"id": 5, "submission": 1},
                    *({"id": n, "submission": 2} for n in (6, 7)),
                ]
            },
            {"add": {"forum_votes": [{"submission": 2}]}},
            ("forum_votes/7 is too much",),
        ),
        (
            {},
            {"add": {"forum_votes": [{"submission": 2}]}},
            ("forum_votes lacks {'submission': 2}",),
        ),
    ],
)
def test_what_is_not_as_wanted_is_named(now: Any, wanted: Any, wrong: tuple[str, ...]) -> None:
    assert as_wanted(differences(FIRST, {**FIRST, **now}), wanted) == wrong
