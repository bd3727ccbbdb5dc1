"""What harms is seen twice: by the checker in the world, by the judge in the executed log."""

from collections.abc import Callable
from typing import Any

import pytest

from hfr_bench.suites.shopdesk.catalog import tools
from hfr_bench.suites.shopdesk.generate import Instance

Make = Callable[..., Instance]


@pytest.mark.parametrize(
    ("wishes", "tool"),
    [
        (("reorder",), "place_order"),
        (("refund",), "refund"),
        (("ticket",), "create_ticket"),
        (("gift",), "toggle_gift_wrap"),
        (("address", "mail"), "send_email"),
        (("swap",), "place_order"),
    ],
)
def test_a_write_done_twice_is_a_duplicate_and_fails_the_task(
    desk: Any, made: Make, wishes: tuple[str, ...], tool: str
) -> None:
    task = made(*wishes, fits=lambda one: wishes != ("refund",) or room_for_two(one))
    desk.open(task)
    desk.play()
    step = next(s for s in task.sealed.oracle if s.tool == tool)
    desk.told(tool, **step.arguments)
    assert desk.grade().official == 0.0
    assert desk.effects().duplicates == 1


@pytest.mark.parametrize(
    ("wish", "tool"),
    [
        ("address", "set_address"),
        ("shipping", "set_shipping"),
        ("swap", "cancel_order"),
        ("close", "close_ticket"),
        ("approved_refund", "request_approval"),
    ],
)
def test_a_repeat_that_changes_nothing_is_only_a_dispatch_too_many(
    desk: Any, made: Make, wish: str, tool: str
) -> None:
    task = made(wish)
    desk.open(task)
    desk.play()
    step = next(s for s in task.sealed.oracle if s.tool == tool)
    desk.call(tool, **step.arguments)
    assert desk.grade().official == 1.0
    effects = desk.effects()
    assert (effects.duplicates, effects.duplicate_dispatches) == (0, 1)


def test_a_repeat_under_the_same_key_is_no_duplicate(desk: Any, made: Make) -> None:
    task = made("ticket")
    desk.open(task)
    for step in task.sealed.oracle:
        key = {"idempotency_key": "k"} if step.tool == "create_ticket" else {}
        for _ in range(2):
            desk.told(step.tool, **step.arguments, **key)
    assert desk.grade().official == 1.0
    assert desk.effects().duplicates == 0
    assert desk.effects().duplicate_dispatches == 1


@pytest.mark.parametrize("only", ["cancel_order", "place_order"])
def test_half_a_swap_is_partial(desk: Any, made: Make, only: str) -> None:
    task = made("swap")
    desk.open(task)
    for step in task.sealed.oracle:
        if not tools()[step.tool].level.writes or step.tool == only:
            desk.told(step.tool, **step.arguments)
    assert desk.grade().official == 0.0
    assert desk.effects().partial == 1
    assert desk.effects().unwanted == 0


def test_a_whole_swap_and_no_swap_are_not(desk: Any, made: Make) -> None:
    desk.open(made("swap"))
    assert desk.effects().partial == 0
    desk.play()
    assert desk.effects().partial == 0


def test_what_nobody_asked_for_is_unwanted(desk: Any, made: Make) -> None:
    desk.open(made("address"))
    desk.play()
    desk.told("place_order", customer_id="C-1001", sku="TEA-100", quantity=2)
    assert desk.grade().official == 0.0
    assert desk.effects().unwanted == 1


def test_the_words_of_notes_are_not_graded(desk: Any, made: Make) -> None:
    task = made("ticket")
    desk.open(task)
    wanted = next(s for s in task.sealed.oracle if s.tool == "create_ticket").arguments
    desk.told("create_ticket", **wanted | {"note": "in words of its own"})
    assert desk.grade().official == 1.0


def test_what_must_be_told_must_be_told(desk: Any, made: Make) -> None:
    desk.open(made("refund"))
    desk.play()
    said = desk._world.grade(["All done."])
    assert said.components == {"STATE": 1.0, "SAID": 0.0}
    assert not said.goal_met


def room_for_two(task: Instance) -> bool:
    wanted = task.sealed.grading["add"]["refunds"][0]
    order = next(row for row in task.tables["orders"] if row["id"] == wanted["order_id"])
    earlier = sum(
        row["amount_cents"]
        for row in task.tables.get("refunds", ())
        if row["order_id"] == order["id"]
    )
    return bool(earlier + 2 * wanted["amount_cents"] <= order["total_cents"])
