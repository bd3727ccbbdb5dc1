"""The desk's SQLite database: filled anew in place for every task, and told apart by digest."""

import hashlib
import json
import sqlite3
from typing import Any

from .errors import HostError

# The first column is the key. What is written here is the world: it is digested and graded.
TABLES = {
    "customers": ("id", "name", "email", "street", "city", "zip"),
    "products": ("sku", "name", "price_cents", "available"),
    "orders": (
        "id", "customer_id", "sku", "quantity", "total_cents", "status", "shipping", "gift_wrap",
        "cancel_reason",
    ),
    "refunds": ("id", "order_id", "amount_cents", "reason"),
    "tickets": ("id", "customer_id", "order_id", "topic", "note", "status", "resolution"),
    "approvals": ("id", "order_id", "action", "amount_cents", "status"),
    "emails": ("id", "customer_id", "template", "note"),
    "policies": ("topic", "text", "limit_cents"),
}  # fmt: skip
# Bookkeeping of the ticket service, no part of the world: keys differ from runtime to runtime.
KEYS = "CREATE TABLE ticket_keys (idempotency_key PRIMARY KEY, ticket_id)"
INDEXED = (("orders", "customer_id"), ("refunds", "order_id"), ("tickets", "customer_id"))

Row = dict[str, Any]
Snapshot = dict[str, dict[Any, tuple[Any, ...]]]


class Database:
    """Holds one task's world. A call runs in one transaction, so that an error leaves no trace."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:")
        for table, columns in TABLES.items():
            key, *others = columns
            self._connection.execute(
                f"CREATE TABLE {table} ({key} PRIMARY KEY, {', '.join(others)})"
            )
        for table, column in INDEXED:
            self._connection.execute(f"CREATE INDEX {table}_{column} ON {table} ({column})")
        self._connection.execute(KEYS)
        self._seen = self._connection.total_changes
        self._snapshot: Snapshot = {}
        self._digest = ""

    def fill(self, tables: dict[str, list[Row]]) -> str:
        """Empty everything and insert these rows; the digest. Raises HostError (bad_request)."""
        try:
            for table, columns in TABLES.items():
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
                marks = ", ".join("?" * len(columns))
                rows = [tuple(row[name] for name in columns) for row in tables.get(table, ())]
                insert = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - our own names
                self._connection.executemany(insert, rows)
            self._connection.execute("DELETE FROM ticket_keys")
        except (sqlite3.Error, KeyError, TypeError, AttributeError) as error:
            self._connection.rollback()
            raise HostError("bad_request", f"`tables` cannot be filled in: {error!r}") from None
        self._connection.commit()
        self.settle()
        return self._digest

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """What a query finds, as dicts."""
        cursor = self._connection.execute(sql, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def row(self, sql: str, *values: Any) -> Row | None:
        """The first row that a query finds."""
        found = self.rows(sql, *values)
        return found[0] if found else None

    def run(self, sql: str, *values: Any) -> None:
        """Write, inside the call's transaction."""
        self._connection.execute(sql, values)

    def new_id(self, table: str, prefix: str) -> str:
        """The next number of a table, such as O-1042."""
        last = f"SELECT MAX(CAST(SUBSTR(id, 3) AS INTEGER)) AS n FROM {table}"  # noqa: S608 - ours
        return f"{prefix}-{(self.rows(last)[0]['n'] or 1000) + 1}"

    def undo(self) -> None:
        """Take back what the call has written."""
        self._connection.rollback()
        self._seen = self._connection.total_changes  # a rollback does not count backwards

    def settle(self) -> list[str]:
        """Commit; the rows that changed since the last time, as table/key."""
        self._connection.commit()
        if self._connection.total_changes == self._seen:
            return []
        self._seen = self._connection.total_changes
        was, self._snapshot = self._snapshot, self._read()
        text = json.dumps([[table, *rows.values()] for table, rows in self._snapshot.items()])
        self._digest = hashlib.sha256(text.encode()).hexdigest()
        return [
            f"{table}/{key}"
            for table, rows in self._snapshot.items()
            for key in sorted(rows.keys() | was.get(table, {}).keys())
            if rows.get(key) != was.get(table, {}).get(key)
        ]

    def digest(self) -> str:
        """sha256 (hex) of the whole world, as of the last call."""
        return self._digest

    def _read(self) -> Snapshot:
        found: Snapshot = {}
        for table in TABLES:
            sql = f"SELECT * FROM {table} ORDER BY 1"  # noqa: S608 - our own names
            found[table] = {row[0]: row for row in self._connection.execute(sql)}
        return found
