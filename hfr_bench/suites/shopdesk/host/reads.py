"""The desk's reading tools (R0)."""

from typing import Any

from .database import Database, Row
from .errors import ToolError

Answer = dict[str, Any]


def find_customer(db: Database, email: str) -> Answer:
    """A customer by e-mail address."""
    found = db.row("SELECT * FROM customers WHERE email = ?", email)
    if found is None:
        raise ToolError(f"no customer with the e-mail address {email}")
    return found


def get_customer(db: Database, customer_id: str) -> Answer:
    """A customer by id."""
    return the_customer(db, customer_id)


def search_orders(db: Database, customer_id: str, status: str | None = None) -> Answer:
    """A customer's orders, oldest first."""
    the_customer(db, customer_id)
    sql = "SELECT * FROM orders WHERE customer_id = ? AND status = COALESCE(?, status) ORDER BY id"
    return {"orders": db.rows(sql, customer_id, status)}


def get_order(db: Database, order_id: str) -> Answer:
    """One order with its refunds and what is left to refund."""
    order = the_order(db, order_id)
    sql = "SELECT id AS refund_id, amount_cents, reason FROM refunds WHERE order_id = ? ORDER BY id"
    refunds = db.rows(sql, order_id)
    left = 0 if order["status"] == "cancelled" else order["total_cents"] - refunded(db, order_id)
    return {**order, "refunds": refunds, "refundable_cents": left}


def search_products(db: Database, query: str) -> Answer:
    """Products whose name or number contains the query."""
    sql = "SELECT * FROM products WHERE name LIKE ? OR sku LIKE ? ORDER BY sku"
    return {"products": db.rows(sql, f"%{query}%", f"%{query}%")}


def get_policy(db: Database, topic: str) -> Answer:
    """The desk's rules on a topic."""
    found = db.row("SELECT * FROM policies WHERE topic = ?", topic)
    if found is None:
        topics = ", ".join(row["topic"] for row in db.rows("SELECT topic FROM policies"))
        raise ToolError(f"no policy on {topic!r}; there are: {topics}")
    return found


def list_tickets(db: Database, customer_id: str) -> Answer:
    """A customer's tickets, oldest first."""
    the_customer(db, customer_id)
    sql = "SELECT * FROM tickets WHERE customer_id = ? ORDER BY id"
    return {"tickets": db.rows(sql, customer_id)}


def list_approvals(db: Database, order_id: str) -> Answer:
    """The approvals asked for an order, oldest first."""
    the_order(db, order_id)
    return {
        "approvals": db.rows("SELECT * FROM approvals WHERE order_id = ? ORDER BY id", order_id)
    }


def the_customer(db: Database, customer_id: str) -> Row:
    """The customer, or a ToolError."""
    found = db.row("SELECT * FROM customers WHERE id = ?", customer_id)
    if found is None:
        raise ToolError(f"no customer {customer_id}")
    return found


def the_order(db: Database, order_id: str) -> Row:
    """The order, or a ToolError."""
    found = db.row("SELECT * FROM orders WHERE id = ?", order_id)
    if found is None:
        raise ToolError(f"no order {order_id}")
    return found


def refunded(db: Database, order_id: str) -> int:
    """What was paid back of an order so far, in cents."""
    sql = "SELECT COALESCE(SUM(amount_cents), 0) AS n FROM refunds WHERE order_id = ?"
    return int(db.rows(sql, order_id)[0]["n"])


READS = {
    function.__name__: function
    for function in (
        find_customer, get_customer, search_orders, get_order, search_products, get_policy,
        list_tickets, list_approvals,
    )
}  # fmt: skip
