"""The sites' database: one SQLite file (WAL), made anew from a template for every trial.

What is in `TABLES` is the world: it is digested, told as effects and graded. The first column is
the key, a number that SQLite gives where it is called `id`. Sessions are the sites' bookkeeping.
"""

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from .errors import HostError

TABLES = {
    "forum_forums": ("name", "title", "description"),
    "forum_users": ("name", "password", "bio"),
    "forum_submissions": ("id", "forum", "author", "title", "body", "date"),
    "forum_comments": ("id", "submission", "author", "body", "date"),
    "forum_votes": ("id", "submission", "user", "choice"),
    "forum_subscriptions": ("id", "forum", "user"),
    "shop_customers": (
        "email", "password", "name", "street", "city", "postcode", "phone",
    ),
    "shop_products": (
        "id", "sku", "slug", "name", "category", "price_cents", "stock", "description",
    ),
    "shop_reviews": ("id", "sku", "customer", "nickname", "rating", "title", "detail", "status"),
    "shop_cart": ("id", "customer", "sku", "qty"),
    "shop_orders": ("id", "customer", "items", "total_cents", "status", "date"),
    "shop_order_comments": ("id", "order_id", "comment"),
    "shop_mails": ("id", "order_id", "recipient", "subject"),
    "shop_wishlist": ("id", "customer", "sku"),
    "shop_subscribers": ("email", "source"),
    "shop_messages": ("id", "name", "email", "comment"),
    "tracker_users": ("name", "password", "full_name", "status"),
    "tracker_projects": ("path", "title", "description"),
    "tracker_issues": (
        "id", "project", "iid", "title", "description", "author", "assignee", "state", "labels",
    ),
    "tracker_notes": ("id", "project", "iid", "author", "body"),
    "tracker_members": ("id", "project", "user", "access"),
    "tracker_milestones": ("id", "project", "title"),
    "tracker_stars": ("id", "project", "user"),
}  # fmt: skip
SESSIONS = "CREATE TABLE sessions (token TEXT PRIMARY KEY, site TEXT, user TEXT, flash TEXT)"

Row = dict[str, Any]
Snapshot = dict[str, dict[Any, tuple[Any, ...]]]


class Store:
    """The living database, its template, and what has changed since somebody asked."""

    def __init__(self, folder: Path) -> None:
        self._template, self._live = folder / "template.db", folder / "live.db"
        self._db: sqlite3.Connection | None = None
        self._first: Snapshot = {}
        self._seen: Snapshot = {}
        self._written = 0

    @property
    def ready(self) -> bool:
        """Whether a template was made."""
        return bool(self._first)

    def init(self, tables: dict[str, list[Row]], sessions: list[Row]) -> None:
        """Make the template of these rows. Raises HostError (bad_request)."""
        self._close()
        self._template.unlink(missing_ok=True)
        db = sqlite3.connect(self._template)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            for table, columns in TABLES.items():
                kind = "INTEGER PRIMARY KEY" if columns[0] == "id" else "TEXT PRIMARY KEY"
                db.execute(f"CREATE TABLE {table} ({columns[0]} {kind}, {', '.join(columns[1:])})")
            db.execute(SESSIONS)
            for table, rows in tables.items():
                _fill(db, table, TABLES[table], rows)
            _fill(db, "sessions", ("token", "site", "user", "flash"), sessions)
            db.commit()
            self._first = _read(db)
        except (sqlite3.Error, KeyError, TypeError, AttributeError) as error:
            raise HostError("bad_request", f"`tables` cannot be filled in: {error!r}") from None
        finally:
            db.close()  # the last connection: all of the log goes into the file

    def reset(self) -> str:
        """The world as the template has it; its digest. Raises HostError (not_ready)."""
        if not self.ready:
            raise HostError("not_ready", "there is no template; send the op `init` first")
        self._close()
        shutil.copyfile(self._template, self._live)
        # Requests may come by a server's threads, one at a time.
        self._db = sqlite3.connect(self._live, check_same_thread=False)
        self._db.execute("PRAGMA synchronous = OFF")  # nobody needs it after a power cut
        self._seen, self._written = self._first, self._db.total_changes
        return digest(self._seen)

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """What a query finds, as dicts."""
        cursor = self._open.execute(sql, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def row(self, sql: str, *values: Any) -> Row | None:
        """The first row that a query finds."""
        found = self.rows(sql, *values)
        return found[0] if found else None

    def run(self, sql: str, *values: Any) -> None:
        """Write, inside the request's transaction."""
        self._open.execute(sql, values)

    def add(self, table: str, **values: Any) -> int:
        """Insert a row; the number that SQLite gave it."""
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"  # noqa: S608 - ours
        return int(self._open.execute(sql, tuple(values.values())).lastrowid or 0)

    def commit(self) -> None:
        self._open.commit()

    def undo(self) -> None:
        self._open.rollback()

    def changes(self) -> tuple[list[Row], str]:
        """What changed in the world since this was last asked, and its digest.

        Each change: table, key, `was` and `is` (the row's columns; null where there is none).
        """
        if self._open.total_changes == self._written:
            return [], digest(self._seen)
        was, self._seen = self._seen, _read(self._open)
        self._written = self._open.total_changes
        found = []
        for table, rows in self._seen.items():
            old = was[table]
            for key in sorted(rows.keys() | old.keys()):
                if rows.get(key) != old.get(key):
                    change = {
                        "was": _named(table, old.get(key)),
                        "is": _named(table, rows.get(key)),
                    }
                    found.append({"table": table, "key": key, **change})
        return found, digest(self._seen)

    def sell_out(self) -> str:
        """All that lies in carts is sold to somebody else: what there was, "" if nothing was.

        It is nobody's request, so that `changes` does not tell of it.
        """
        table = "shop_products"
        there = "stock > 0 AND sku IN (SELECT sku FROM shop_cart)"
        found = self.rows(f"SELECT sku FROM {table} WHERE {there}")  # noqa: S608 - ours
        gone = [row["sku"] for row in found]
        if gone:
            self.run(f"UPDATE {table} SET stock = 0 WHERE {there}")  # noqa: S608 - ours
            self.commit()
            self._seen = {**self._seen, table: _read(self._open)[table]}
        return ", ".join(sorted(gone))

    def state(self) -> tuple[dict[str, list[Row]], str]:
        """Every row of the world by table, in the order of the keys, and the digest of it all."""
        read = _read(self._open)
        named = {
            table: [dict(zip(TABLES[table], row, strict=True)) for row in rows.values()]
            for table, rows in read.items()
        }
        return named, digest(read)

    @property
    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            raise HostError("not_ready", "no world is open; send the op `reset` first")
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
        for suffix in ("", "-wal", "-shm"):
            self._live.with_name(self._live.name + suffix).unlink(missing_ok=True)


def digest(snapshot: Snapshot) -> str:
    """sha256 (hex) of the whole world."""
    text = json.dumps([[table, *rows.values()] for table, rows in snapshot.items()])
    return hashlib.sha256(text.encode()).hexdigest()


def _fill(db: sqlite3.Connection, table: str, columns: tuple[str, ...], rows: list[Row]) -> None:
    marks = ", ".join("?" * len(columns))
    values = [tuple(row[name] for name in columns) for row in rows]
    db.executemany(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608 - our own names


def _read(db: sqlite3.Connection) -> Snapshot:
    found: Snapshot = {}
    for table in TABLES:
        sql = f"SELECT * FROM {table} ORDER BY 1"  # noqa: S608 - our own names
        found[table] = {row[0]: row for row in db.execute(sql)}
    return found


def _named(table: str, row: tuple[Any, ...] | None) -> Row | None:
    return None if row is None else dict(zip(TABLES[table], row, strict=True))
