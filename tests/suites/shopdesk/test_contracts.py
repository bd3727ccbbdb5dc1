"""Did it land? Judged on the living desk, and on reads that tell nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from hfr_bench.model.terms import Landed
from hfr_bench.suites.shopdesk.catalog import tools
from hfr_bench.suites.shopdesk.contracts import PREDICATES, landed
from hfr_bench.suites.shopdesk.generate import Instance

Make = Callable[..., Instance]

COMMITTED, ABSENT, UNKNOWN = Landed.COMMITTED, Landed.ABSENT, Landed.UNKNOWN
OF_WISH = {
    "address": "set_address",
    "shipping": "set_shipping",
    "gift": "toggle_gift_wrap",
    "reorder": "place_order",
    "refund": "refund",
    "ticket": "create_ticket",
    "close": "close_ticket",
    "swap": "cancel_order",
    "approved_refund": "request_approval",
}


class Asked:
    """The write of a wish, up to which the oracle has been played, and its contract."""

    def __init__(self, desk: Any, task: Instance, tool: str) -> None:
        desk.open(task)
        at = next(n for n, s in enumerate(task.sealed.oracle) if s.tool == tool)
        desk.play(at)
        self.desk, self.tool, self.spec = desk, tool, tools()[tool]
        self.arguments = task.sealed.oracle[at].arguments
        assert self.spec.reconcile is not None
        self.contract = self.spec.reconcile

    def read(self) -> str:
        return str(self.desk.look(self.contract.read, self.contract.fill(self.arguments)).body)

    def write(self) -> None:
        self.desk.told(self.tool, **self.arguments)

    def judge(self, before: str | None, after: str | None) -> Landed:
        return landed(self.contract.landed, before, after, self.arguments)


def test_every_predicate_belongs_to_a_contract_and_the_other_way_round() -> None:
    used = {tool.reconcile.landed for tool in tools().values() if tool.reconcile}
    assert used == set(PREDICATES)


@pytest.mark.parametrize(("wish", "tool"), OF_WISH.items())
def test_what_landed_is_committed_and_what_did_not_is_absent(
    desk: Any, made: Make, wish: str, tool: str
) -> None:
    asked = Asked(desk, made(wish), tool)
    before = asked.read()
    known = before if asked.contract.needs_before else None
    assert asked.judge(known, before) is ABSENT
    asked.write()
    assert asked.judge(known, asked.read()) is COMMITTED


@pytest.mark.parametrize(("wish", "tool"), OF_WISH.items())
def test_reads_that_tell_nothing_leave_it_unknown(
    desk: Any, made: Make, wish: str, tool: str
) -> None:
    asked = Asked(desk, made(wish), tool)
    before = asked.read()
    for nothing in (None, "", "Error: no order O-1", "[1]", "{", '"text"', "{}", "3"):
        assert asked.judge(before, nothing) is UNKNOWN


@pytest.mark.parametrize("wish", ["gift", "reorder", "refund", "ticket"])
def test_what_accumulates_or_flips_is_not_told_without_the_read_before(
    desk: Any, made: Make, wish: str
) -> None:
    asked = Asked(desk, made(wish), OF_WISH[wish])
    assert asked.contract.needs_before
    asked.write()
    assert asked.judge(None, asked.read()) is UNKNOWN


def test_a_refund_is_told_from_earlier_ones_of_the_same_amount(desk: Any, made: Make) -> None:
    def has_a_twin(task: Instance) -> bool:
        wanted = task.sealed.grading["add"]["refunds"][0]
        return sum(wanted.items() <= row.items() for row in task.tables.get("refunds", ())) == 1

    asked = Asked(desk, made("refund", fits=has_a_twin), "refund")
    before = asked.read()
    assert asked.judge(before, before) is ABSENT
    asked.write()
    assert asked.judge(before, asked.read()) is COMMITTED


def test_nor_is_it_confused_by_another_refund_in_between(desk: Any, made: Make) -> None:
    asked = Asked(desk, made("refund"), "refund")
    before = asked.read()
    desk.told("refund", order_id=asked.arguments["order_id"], amount_cents=1)
    assert asked.judge(before, asked.read()) is ABSENT


def test_an_order_that_was_cancelled_meanwhile_was_placed(desk: Any, made: Make) -> None:
    asked = Asked(desk, made("reorder"), "place_order")
    before = asked.read()
    placed = desk.told("place_order", **asked.arguments)
    desk.told("cancel_order", order_id=placed["id"], reason="ordered by mistake")
    assert asked.judge(before, asked.read()) is COMMITTED


def test_a_ticket_of_another_topic_is_another_ticket(desk: Any, made: Make) -> None:
    asked = Asked(desk, made("ticket"), "create_ticket")
    before = asked.read()
    desk.told("create_ticket", customer_id=asked.arguments["customer_id"], topic="question")
    assert asked.judge(before, asked.read()) is ABSENT


def test_a_cancellation_for_another_reason_is_not_the_asked_one(desk: Any, made: Make) -> None:
    asked = Asked(desk, made("swap"), "cancel_order")
    desk.told("cancel_order", order_id=asked.arguments["order_id"], reason="no longer needed")
    assert asked.judge(None, asked.read()) is ABSENT
