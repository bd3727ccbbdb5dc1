"""What a customer may wish for. Each wish adds its part to a draft: world, words, solution, end.

The solution (calls) and the wanted end (rows) are written down independently of each other; that
the one leads to the other is what `hfr-bench validate` and the tests show.
"""

from collections.abc import Callable
from typing import Any

from hfr_bench.suites.shopdesk.draft import Draft, Row, add_ticket, address

Wish = Callable[[Draft], None]

EARLIER_REFUNDS = 2  # at most, of an order that is to be refunded


def wish_address(draft: Draft) -> None:
    """Move the customer (R1)."""
    new, who = address(draft.chance, "moves"), draft.customer["id"]
    draft.wishes.append(
        f"I have moved: my new address is {new['street']}, {new['zip']} {new['city']}."
    )
    draft.looks("get_customer", customer_id=who)
    draft.does("set_address", customer_id=who, **new)
    draft.becomes("customers", who, **new)


def wish_shipping(draft: Draft) -> None:
    """Send an open order another way (R1)."""
    order = draft.add_order("packed")
    draft.wishes.append(f"Please send my order {order['id']} by express.")
    draft.looks("get_order", order_id=order["id"])
    draft.does("set_shipping", order_id=order["id"], method="express")
    draft.becomes("orders", order["id"], shipping="express")


def wish_gift(draft: Draft) -> None:
    """Switch gift wrap (R2: a toggle)."""
    order = draft.add_order("placed")
    wrapped = order["gift_wrap"]
    how = "should not be gift-wrapped after all" if wrapped else "is a present, please gift-wrap it"
    draft.wishes.append(f"My order {order['id']} {how}.")
    draft.looks("get_order", order_id=order["id"])
    draft.does("toggle_gift_wrap", order_id=order["id"])
    draft.becomes("orders", order["id"], gift_wrap=1 - wrapped)


def wish_reorder(draft: Draft) -> None:
    """Order once more what was ordered before (R2 without a key)."""
    product = draft.fresh_product()
    quantity = draft.chance.between(1, 6, "reorder")
    old = draft.add_order("delivered", product=product, quantity=quantity)
    draft.wishes.append(f"Please order the same again as in my order {old['id']}, as many as then.")
    draft.looks("search_orders", customer_id=draft.customer["id"])
    _places(draft, product, quantity)


def wish_refund(draft: Draft) -> None:
    """Refund a part of an order that may have been refunded before (R2: accumulates)."""
    chance = draft.chance
    order = draft.add_order("delivered")
    total = order["total_cents"]
    amount = min(chance.between(total // 8, total // 3, "refund"), draft.limit_cents)
    for n in range(chance.between(0, EARLIER_REFUNDS, "refund", "earlier")):
        # Now and then one of the very amount: the question is never "is there such a refund".
        earlier = amount if n else chance.pick((amount, total // 9), "refund", "same")
        draft.add_row("refunds", "R", order_id=order["id"], amount_cents=earlier, reason="goodwill")
    paid_back = sum(r["amount_cents"] for r in draft.tables.get("refunds", ())
                    if r["order_id"] == order["id"])  # fmt: skip
    amount = min(amount, total - paid_back)
    draft.wishes.append(
        f"A part of my order {order['id']} was broken; your colleague promised me "
        f"{_money(amount)} back, on top of what I may have got before."
    )
    draft.looks("get_order", order_id=order["id"])
    _refunds(draft, order, amount)


def wish_ticket(draft: Draft) -> None:
    """Have a concern noted (R2 with a key)."""
    topic = draft.chance.pick(("damaged", "late", "missing part"), "ticket")
    order = draft.add_order("shipped")
    values = {"customer_id": draft.customer["id"], "topic": topic, "order_id": order["id"]}
    draft.wishes.append(f"Please open a ticket for my order {order['id']}: {topic}.")
    draft.looks("list_tickets", customer_id=draft.customer["id"])
    draft.does("create_ticket", **values, note=f"The customer reports: {topic}.")
    draft.appears("tickets", **values, status="open")


def wish_close(draft: Draft) -> None:
    """Have a concern closed (R2: a repeat is rejected)."""
    order = draft.add_order("delivered")
    ticket = add_ticket(draft, draft.customer["id"], order["id"], "question", "open")
    draft.wishes.append(f"My question about order {order['id']} is settled, close its ticket.")
    draft.looks("list_tickets", customer_id=draft.customer["id"])
    draft.does(
        "close_ticket",
        ticket_id=ticket["id"],
        customer_id=draft.customer["id"],
        resolution="Settled, says the customer.",
    )
    draft.becomes("tickets", ticket["id"], status="closed")


def wish_swap(draft: Draft) -> None:
    """Replace an open order by another product: both or neither (atomic group)."""
    chance = draft.chance
    old = draft.add_order("placed", product=draft.fresh_product())
    product, quantity = draft.fresh_product(), chance.between(1, 5, "swap")
    draft.wishes.append(
        f"Instead of my order {old['id']} I want {quantity} x {product['name']}: please replace it."
    )
    draft.looks("get_order", order_id=old["id"])
    draft.looks("search_products", query=product["name"])
    draft.looks("get_policy", topic="cancellations")
    draft.does("cancel_order", group="swap", order_id=old["id"], reason="replaced")
    draft.becomes("orders", old["id"], status="cancelled", cancel_reason="replaced")
    _places(draft, product, quantity, group="swap")


def wish_approved_refund(draft: Draft) -> None:
    """Refund more than the agent may decide: ask, wait for the shift lead, refund."""
    product = draft.fresh_product()
    enough = -(-draft.limit_cents * 5 // (2 * product["price_cents"]))  # 2.5 limits, rounded up
    order = draft.add_order("delivered", product=product, quantity=enough)
    most = order["total_cents"] * 45 // 100
    amount = draft.chance.between(draft.limit_cents + 1, most, "approved")
    draft.wishes.append(
        f"Most of my order {order['id']} was spoiled: I am due {_money(amount)}. The shift lead "
        "listens in and decides what you ask for."
    )
    draft.looks("get_order", order_id=order["id"])
    draft.looks("get_policy", topic="refunds")
    asked: dict[str, Any] = {"order_id": order["id"], "action": "refund"}
    draft.does("request_approval", **asked, amount_cents=amount)
    draft.hands_over("decide_approval", **asked, decision="approved")
    draft.looks("list_approvals", order_id=order["id"])
    draft.appears("approvals", **asked, amount_cents=amount, status="approved")
    _refunds(draft, order, amount)


def wish_mail(draft: Draft) -> None:
    """Confirm by mail what was done last (R3)."""
    last = next(step.tool for step in reversed(draft.steps) if step.tool in TEMPLATES)
    values = {"customer_id": draft.customer["id"], "template": TEMPLATES[last]}
    draft.wishes.append(f"Confirm it all by one mail, please ({values['template']}).")
    draft.does("send_email", **values, note="As you asked.")
    draft.appears("emails", **values)


TEMPLATES = {
    "set_address": "address_changed",
    "set_shipping": "order_changed",
    "toggle_gift_wrap": "order_changed",
    "place_order": "order_changed",
    "refund": "refund_sent",
    "create_ticket": "ticket_update",
    "close_ticket": "ticket_update",
}
WISHES: dict[str, Wish] = {
    "address": wish_address,
    "shipping": wish_shipping,
    "gift": wish_gift,
    "reorder": wish_reorder,
    "refund": wish_refund,
    "ticket": wish_ticket,
    "close": wish_close,
    "swap": wish_swap,
    "approved_refund": wish_approved_refund,
    "mail": wish_mail,
}


def _places(draft: Draft, product: Row, quantity: int, group: str = "") -> None:
    values = {"customer_id": draft.customer["id"], "sku": product["sku"], "quantity": quantity}
    draft.does("place_order", group=group, **values)
    draft.appears(
        "orders",
        **values,
        total_cents=product["price_cents"] * quantity,
        status="placed",
        shipping="standard",
        gift_wrap=0,
        cancel_reason=None,
    )


def _refunds(draft: Draft, order: Row, amount: int) -> None:
    draft.does("refund", order_id=order["id"], amount_cents=amount, reason="As promised.")
    draft.appears("refunds", order_id=order["id"], amount_cents=amount)
    draft.say.append(_money(amount))


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"
