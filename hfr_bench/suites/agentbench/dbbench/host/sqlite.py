"""A task's tables in a SQLite file, made anew for every task; each statement a transaction.

Every column is a TEXT that compares without regard to case and accents, as MySQL's does by default.
Functions that MySQL has and SQLite lacks are added where they are few and plain.
"""

import contextlib
import hashlib
import os
import re
import sqlite3
import unicodedata
from typing import Any

from .errors import HostError, StatementError

COLLATION = "plainly"
STEPS = 20_000_000
"""How much work a statement may be, in steps of SQLite's own machine: some seconds."""
_EVERY = 100_000
_FORBIDDEN = (
    *(sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_TRANSACTION),
    sqlite3.SQLITE_SAVEPOINT,
)
_PRAGMAS = ("table_info",)

Row = list[Any]


class Database:
    """Holds one task's tables, in the file NAME.db where the host was started."""

    def __init__(self, name: str) -> None:
        self._path = f"{name}.db"
        self._db: sqlite3.Connection | None = None
        self._steps = 0

    def engine(self) -> str:
        """What it is."""
        return f"SQLite {sqlite3.sqlite_version}"

    def fill(self, tables: list[dict[str, Any]]) -> None:
        """These tables and nothing else. Raises HostError (bad_request) if they cannot be made."""
        self.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)  # noqa: PTH108 - pathlib is slow
        db = self._db = sqlite3.connect(self._path, isolation_level=None)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA journal_mode = MEMORY")
        _add_functions(db)
        try:
            db.execute("BEGIN")
            for table in tables:
                _make(db, table["name"], table["columns"], table["rows"])
            db.execute("COMMIT")
        except (sqlite3.Error, KeyError, TypeError) as error:
            raise HostError("bad_request", f"`tables` cannot be filled in: {error!r}") from None
        db.set_authorizer(_authorize)
        db.set_progress_handler(self._step, _EVERY)

    def run(self, sql: str, values: list[Any]) -> list[Row]:
        """What one statement answers; it is all done, or not at all. Raises StatementError."""
        self._steps = 0
        try:
            return [list(map(_plain, row)) for row in self._open().execute(sql, values).fetchall()]
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            raise StatementError(str(error)) from None

    def dump(self) -> tuple[dict[str, list[Row]], dict[str, list[str]]]:
        """All rows of all tables, each value as a text; and their columns."""
        db = self._open()
        db.set_authorizer(None)
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        rows, columns = {}, {}
        for (name,) in db.execute(names).fetchall():
            cursor = db.execute(f"SELECT * FROM {_name(name)}")  # noqa: S608 - quoted
            columns[name] = [column[0] for column in cursor.description]
            rows[name] = [[None if v is None else _text(v) for v in row] for row in cursor]
        db.set_authorizer(_authorize)
        return rows, columns

    def close(self) -> None:
        """Forget everything."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            raise HostError("no_task", "no task is open; send the op `open` first")
        return self._db

    def _step(self) -> int:
        self._steps += _EVERY
        return int(self._steps > STEPS)


def _make(db: sqlite3.Connection, name: str, columns: list[str], rows: list[Row]) -> None:
    cells = ", ".join(f"{_name(column)} TEXT COLLATE {COLLATION}" for column in columns)
    db.execute(f"CREATE TABLE {_name(name)} ({cells})")
    for row in rows:  # a row that is short lacks its last values
        marks, named = ", ".join("?" * len(row)), ", ".join(_name(c) for c in columns[: len(row)])
        db.execute(f"INSERT INTO {_name(name)} ({named}) VALUES ({marks})", row)  # noqa: S608


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _plain(value: Any) -> Any:
    return _text(value) if isinstance(value, bytes) else value


def _authorize(action: int, first: str | None, *_others: str | None) -> int:
    """No other file, no transaction over several statements, no settings."""
    if action in _FORBIDDEN or (action == sqlite3.SQLITE_PRAGMA and first not in _PRAGMAS):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _add_functions(db: sqlite3.Connection) -> None:
    db.create_collation(COLLATION, _compare)
    steady = {"deterministic": True}
    db.create_function("concat", -1, _concat, **steady)
    db.create_function("concat_ws", -1, _concat_ws, **steady)
    db.create_function("md5", 1, lambda text: _md5(_text(text)), **steady)
    db.create_function("if", 3, lambda test, yes, no: yes if test else no, **steady)
    db.create_function("regexp", 2, _regexp, **steady)
    db.create_function("char_length", 1, lambda text: len(_text(text)), **steady)


def _compare(one: str, other: str) -> int:
    first, second = _bare(one), _bare(other)
    return (first > second) - (first < second)


def _bare(text: str) -> str:
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


def _concat(*parts: Any) -> str | None:
    return None if None in parts else "".join(_text(part) for part in parts)


def _concat_ws(between: Any, *parts: Any) -> str:
    return _text(between).join(_text(part) for part in parts if part is not None)


def _regexp(pattern: Any, text: Any) -> bool | None:
    if pattern is None or text is None:
        return None
    return re.search(_text(pattern), _text(text), re.IGNORECASE) is not None


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
