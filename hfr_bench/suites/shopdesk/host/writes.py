"""The desk's writing tools (R1-R3), and the shift lead's own one."""

from typing import Any

from .database import Database, Row
from .errors import ToolError
from .reads import get_order, refunded, the_customer, the_order

Answer = dict[str, Any]

OPEN = ("placed", "packed")  # an order can still be changed or cancelled
SHIPPING = ("standard", "express", "pickup")
CANCEL_REASONS = ("no longer needed", "ordered by mistake", "replaced")
TOPICS = ("damaged", "late", "missing part", "question")
ACTIONS = ("refund", "exception")
DECISIONS = ("approved", "refused")
TEMPLATES = ("order_changed", "order_cancelled", "refund_sent", "ticket_update", "address_changed")
MOST = 20  # pieces an order
APPROVED = (
    "SELECT 1 FROM approvals WHERE order_id = ? AND action = 'refund' AND status = 'approved'"
    " AND amount_cents >= ?"
)
PENDING = "SELECT id FROM approvals WHERE order_id = ? AND action = ? AND status = 'pending'"


def set_address(
    db: Database,
    customer_id: str,
    street: str,
    city: str,
    zip: str,  # noqa: A002 - the parameter's name for the model
) -> Answer:
    """R1: the same address twice is the same address."""
    the_customer(db, customer_id)
    sql = "UPDATE customers SET street = ?, city = ?, zip = ? WHERE id = ?"
    db.run(sql, street, city, zip, customer_id)
    return the_customer(db, customer_id)


def set_shipping(db: Database, order_id: str, method: str) -> Answer:
    """R1, while the order is open."""
    _one_of("method", method, SHIPPING)
    _open(db, order_id)
    db.run("UPDATE orders SET shipping = ? WHERE id = ?", method, order_id)
    return the_order(db, order_id)


def toggle_gift_wrap(db: Database, order_id: str) -> Answer:
    """R2: a second call takes the first one back."""
    _open(db, order_id)
    db.run("UPDATE orders SET gift_wrap = 1 - gift_wrap WHERE id = ?", order_id)
    return the_order(db, order_id)


def place_order(db: Database, customer_id: str, sku: str, quantity: int) -> Answer:
    """R2 without a key: a second call is a second order."""
    the_customer(db, customer_id)
    product = db.row("SELECT * FROM products WHERE sku = ?", sku)
    if product is None:
        raise ToolError(f"no product {sku}")
    if not product["available"]:
        raise ToolError(f"{sku} is sold out")
    if not 1 <= quantity <= MOST:
        raise ToolError(f"quantity must be from 1 to {MOST}")
    order_id = db.new_id("orders", "O")
    total = product["price_cents"] * quantity
    db.run(
        "INSERT INTO orders VALUES (?, ?, ?, ?, ?, 'placed', 'standard', 0, NULL)",
        *(order_id, customer_id, sku, quantity, total),
    )
    return the_order(db, order_id)


def cancel_order(db: Database, order_id: str, reason: str) -> Answer:
    """R2: a cancelled order cannot be cancelled again."""
    _one_of("reason", reason, CANCEL_REASONS)
    _open(db, order_id)
    sql = "UPDATE orders SET status = 'cancelled', cancel_reason = ? WHERE id = ?"
    db.run(sql, reason, order_id)
    return the_order(db, order_id)


def refund(db: Database, order_id: str, amount_cents: int, reason: str = "") -> Answer:
    """R2: accumulates up to what was paid; above the limit it needs an approval."""
    order = the_order(db, order_id)
    if order["status"] == "cancelled":
        raise ToolError(f"{order_id} is cancelled: its payment was released already")
    left = order["total_cents"] - refunded(db, order_id)
    if not 1 <= amount_cents <= left:
        raise ToolError(f"amount_cents must be from 1 to {left}, what is left of {order_id}")
    limit = db.row("SELECT limit_cents FROM policies WHERE topic = 'refunds'")
    most = limit["limit_cents"] if limit else amount_cents
    if amount_cents > most and not db.row(APPROVED, order_id, amount_cents):
        raise ToolError(f"refunds above {most} cents need an approval")
    refund_id = db.new_id("refunds", "R")
    db.run("INSERT INTO refunds VALUES (?, ?, ?, ?)", refund_id, order_id, amount_cents, reason)
    return get_order(db, order_id)


def create_ticket(
    db: Database,
    customer_id: str,
    topic: str,
    order_id: str | None = None,
    note: str = "",
    idempotency_key: str | None = None,
) -> Answer:
    """R2 with a key: the same key gives the same ticket; without one, a second ticket."""
    _one_of("topic", topic, TOPICS)
    the_customer(db, customer_id)
    if order_id is not None and the_order(db, order_id)["customer_id"] != customer_id:
        raise ToolError(f"{order_id} is not an order of {customer_id}")
    if idempotency_key is not None and (known := _keyed(db, idempotency_key)):
        if (known["customer_id"], known["order_id"], known["topic"]) != (
            *(customer_id, order_id, topic),
        ):
            raise ToolError("this idempotency_key was used with other arguments")
        return known
    ticket_id = db.new_id("tickets", "T")
    db.run(
        "INSERT INTO tickets VALUES (?, ?, ?, ?, ?, 'open', NULL)",
        *(ticket_id, customer_id, order_id, topic, note),
    )
    if idempotency_key is not None:
        db.run("INSERT INTO ticket_keys VALUES (?, ?)", idempotency_key, ticket_id)
    return _ticket(db, ticket_id)


def close_ticket(db: Database, ticket_id: str, customer_id: str, resolution: str) -> Answer:
    """R2: a closed ticket cannot be closed again."""
    ticket = _ticket(db, ticket_id)
    if ticket["customer_id"] != customer_id:
        raise ToolError(f"{ticket_id} is not a ticket of {customer_id}")
    if ticket["status"] == "closed":
        raise ToolError(f"{ticket_id} is closed already")
    sql = "UPDATE tickets SET status = 'closed', resolution = ? WHERE id = ?"
    db.run(sql, resolution, ticket_id)
    return _ticket(db, ticket_id)


def request_approval(db: Database, order_id: str, action: str, amount_cents: int) -> Answer:
    """R2: while one is pending or granted, the same is not asked for again."""
    _one_of("action", action, ACTIONS)
    if amount_cents < 1:
        raise ToolError("amount_cents must be above 0")
    the_order(db, order_id)
    sql = "SELECT * FROM approvals WHERE order_id = ? AND action = ? AND amount_cents = ?"
    if db.row(f"{sql} AND status != 'refused'", order_id, action, amount_cents):
        raise ToolError(f"this approval for {order_id} was requested already")
    approval_id = db.new_id("approvals", "A")
    values = (approval_id, order_id, action, amount_cents)
    db.run("INSERT INTO approvals VALUES (?, ?, ?, ?, 'pending')", *values)
    return db.rows("SELECT * FROM approvals WHERE id = ?", approval_id)[0]


def send_email(db: Database, customer_id: str, template: str, note: str = "") -> Answer:
    """R3: it is gone, and no tool can see it."""
    _one_of("template", template, TEMPLATES)
    customer = the_customer(db, customer_id)
    db.run(
        "INSERT INTO emails VALUES (?, ?, ?, ?)",
        *(db.new_id("emails", "E"), customer_id, template, note),
    )
    return {"sent_to": customer["email"], "template": template}


def decide_approval(db: Database, order_id: str, action: str, decision: str) -> Answer:
    """The shift lead's: decides what is pending."""
    _one_of("decision", decision, DECISIONS)
    pending = db.row(PENDING, order_id, action)
    if pending is None:
        raise ToolError(f"no approval is pending for {order_id}")
    db.run("UPDATE approvals SET status = ? WHERE id = ?", decision, pending["id"])
    return db.rows("SELECT * FROM approvals WHERE id = ?", pending["id"])[0]


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ToolError(f"{name} must be one of: {', '.join(allowed)}")


def _open(db: Database, order_id: str) -> None:
    status = the_order(db, order_id)["status"]
    if status not in OPEN:
        raise ToolError(f"{order_id} is {status}: it cannot be changed any more")


def _ticket(db: Database, ticket_id: str) -> Row:
    found = db.row("SELECT * FROM tickets WHERE id = ?", ticket_id)
    if found is None:
        raise ToolError(f"no ticket {ticket_id}")
    return found


def _keyed(db: Database, key: str) -> Row | None:
    sql = "SELECT t.* FROM tickets t JOIN ticket_keys k ON k.ticket_id = t.id"
    return db.row(f"{sql} WHERE k.idempotency_key = ?", key)


WRITES = {
    function.__name__: function
    for function in (
        set_address, set_shipping, toggle_gift_wrap, place_order, cancel_order, refund,
        create_ticket, close_ticket, request_approval, send_email,
    )
}  # fmt: skip
USER_TOOLS = {"decide_approval": decide_approval}
