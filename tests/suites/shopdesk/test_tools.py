"""The desk's tools: what they refuse, what repeats do, and that an error leaves no trace."""

from collections.abc import Callable
from typing import Any

import pytest

from hfr_bench.suites.shopdesk.catalog import tools
from hfr_bench.suites.shopdesk.generate import Instance
from hfr_bench.suites.shopdesk.host.desk import TOOLS

Make = Callable[..., Instance]


def refused(desk: Any, tool: str, **arguments: Any) -> str:
    """The tool's error; nothing may have changed."""
    was = desk.grade().state_digest
    seen = desk.call(tool, **arguments)
    assert seen.domain_error
    assert seen.body.startswith("Error: ")
    assert desk.grade().state_digest == was
    return str(seen.body)


def argument(task: Instance, tool: str, name: str) -> Any:
    return next(s.arguments[name] for s in task.sealed.oracle if s.tool == tool)


def test_the_catalog_describes_the_host_tools_as_they_are() -> None:
    assert set(tools()) == set(TOOLS["agent"])
    for name, spec in tools().items():
        code = TOOLS["agent"][name].__code__
        names = code.co_varnames[1 : code.co_argcount]
        optional = TOOLS["agent"][name].__defaults__ or ()
        assert set(spec.parameters["properties"]) == set(names), name
        assert set(spec.parameters["required"]) == set(names[: len(names) - len(optional)]), name
        assert set(spec.identity_args) <= set(names), name


def test_a_refund_above_what_is_left_is_refused(desk: Any, made: Make) -> None:
    task = made("refund")
    desk.open(task)
    order = argument(task, "refund", "order_id")
    left = desk.told("get_order", order_id=order)["refundable_cents"]
    assert "what is left" in refused(desk, "refund", order_id=order, amount_cents=left + 1)
    assert "from 1" in refused(desk, "refund", order_id=order, amount_cents=0)


def test_refunds_add_up(desk: Any, made: Make) -> None:
    task = made("refund")
    desk.open(task)
    order = argument(task, "refund", "order_id")
    first = desk.told("refund", order_id=order, amount_cents=5)
    second = desk.told("refund", order_id=order, amount_cents=5)
    assert first["refundable_cents"] - second["refundable_cents"] == 5


def test_above_the_limit_the_shift_lead_decides(desk: Any, made: Make) -> None:
    task = made("approved_refund")
    desk.open(task)
    wanted = {k: argument(task, "refund", k) for k in ("order_id", "amount_cents")}
    assert "need an approval" in refused(desk, "refund", **wanted)
    desk.told("request_approval", **wanted, action="refund")
    assert "need an approval" in refused(desk, "refund", **wanted)
    asked = {"order_id": wanted["order_id"], "action": "refund"}
    desk.call("decide_approval", "user", **asked, decision="approved")
    more = wanted | {"amount_cents": wanted["amount_cents"] + 1}
    assert "need an approval" in refused(desk, "refund", **more)
    desk.told("refund", **wanted)


def test_a_refused_approval_can_be_asked_for_again(desk: Any, made: Make) -> None:
    task = made("approved_refund")
    desk.open(task)
    asked = {k: argument(task, "refund", k) for k in ("order_id", "amount_cents")}
    desk.told("request_approval", **asked, action="refund")
    refusal = {"order_id": asked["order_id"], "action": "refund", "decision": "refused"}
    desk.call("decide_approval", "user", **refusal)
    desk.told("request_approval", **asked, action="refund")


def test_the_same_key_gives_the_same_ticket(desk: Any, made: Make) -> None:
    desk.open(made("ticket"))
    wanted = {"customer_id": "C-1001", "topic": "late", "idempotency_key": "k1"}
    first = desk.told("create_ticket", **wanted)
    assert desk.told("create_ticket", **wanted) == first
    assert desk.told("create_ticket", **wanted | {"idempotency_key": "k2"}) != first
    assert "other arguments" in refused(desk, "create_ticket", **wanted | {"topic": "damaged"})


def test_keys_are_no_part_of_the_world_and_end_with_the_task(desk: Any, made: Make) -> None:
    wanted = {"customer_id": "C-1001", "topic": "late"}
    states = []
    for key in ({"idempotency_key": "k1"}, {"idempotency_key": "k1"}, {}):
        desk.open(made("ticket"))
        desk.told("create_ticket", **wanted, **key)
        states.append(desk.grade().state_digest)
    assert len(set(states)) == 1


def test_without_a_key_another_ticket_is_opened(desk: Any, made: Make) -> None:
    desk.open(made("ticket"))
    wanted = {"customer_id": "C-1001", "topic": "late"}
    assert desk.told("create_ticket", **wanted)["id"] != desk.told("create_ticket", **wanted)["id"]


def test_a_toggle_takes_itself_back(desk: Any, made: Make) -> None:
    task = made("gift")
    state = desk.open(task)
    for _ in range(2):
        desk.told("toggle_gift_wrap", order_id=argument(task, "toggle_gift_wrap", "order_id"))
    assert desk.grade().state_digest == state


def test_a_mail_is_gone_and_no_tool_shows_it(desk: Any, made: Make) -> None:
    desk.open(made("address", "mail"))
    reads = [name for name, spec in tools().items() if not spec.level.writes]
    arguments = {"customer_id": "C-1001", "order_id": "O-1001", "topic": "mail", "query": "T"}
    fitting = {
        name: {k: arguments[k] for k in tools()[name].parameters["required"] if k in arguments}
        for name in reads
    }
    before = {name: desk.call(name, **fitting[name]).body for name in reads}
    desk.told("send_email", customer_id="C-1001", template="order_changed")
    assert {name: desk.call(name, **fitting[name]).body for name in reads} == before


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("get_order", {"order_id": "O-9"}, "no order O-9"),
        ("get_customer", {"customer_id": "C-9"}, "no customer C-9"),
        ("find_customer", {"email": "x"}, "no customer with"),
        ("get_policy", {"topic": "love"}, "there are: approvals"),
        ("get_order", {}, "order_id is missing"),
        ("get_order", {"order_id": 7}, "order_id must be a string"),
        ("get_order", {"order_id": "O-1001", "x": 1}, "unknown argument x"),
        ("get_order", {"order_id": "\ud800"}, "order_id is not valid text"),
        ("refund", {"order_id": "O-1001", "amount_cents": True}, "must be an integer"),
        ("refund", {"order_id": "O-1001", "amount_cents": 1.5}, "must be an integer"),
        ("place_order", {"customer_id": "C-1001", "sku": "X", "quantity": 1}, "no product X"),
        ("place_order", {"customer_id": "C-1001", "sku": "TEA-100", "quantity": 21}, "1 to 20"),
        ("set_shipping", {"order_id": "O-1001", "method": "boat"}, "method must be one of"),
        ("close_ticket", {"ticket_id": "T-9", "customer_id": "C-1001", "resolution": ""}, "T-9"),
        ("decide_approval", {"order_id": "O-1001"}, "no tool decide_approval"),
        ("drop_tables", {}, "no tool drop_tables"),
    ],
)
def test_what_makes_no_sense_is_answered_and_changes_nothing(
    desk: Any, made: Make, tool: str, arguments: dict[str, Any], why: str
) -> None:
    desk.open(made("address"))
    assert why in refused(desk, tool, **arguments)


def test_quotes_are_text(desk: Any, made: Make) -> None:
    desk.open(made("address"))
    odd = "Robert'); DROP TABLE customers; --"
    wanted = {"customer_id": "C-1001", "street": odd, "city": "ü", "zip": "\x00"}
    assert desk.told("set_address", **wanted)["street"] == odd


def test_a_shipped_order_cannot_be_changed(desk: Any, made: Make) -> None:
    task = made("ticket")
    desk.open(task)
    order = argument(task, "create_ticket", "order_id")
    for tool, more in (
        ("cancel_order", {"reason": "replaced"}),
        ("toggle_gift_wrap", {}),
        ("set_shipping", {"method": "pickup"}),
    ):
        assert "is shipped" in refused(desk, tool, order_id=order, **more)
