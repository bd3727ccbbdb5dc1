"""The checker: is the living world the wanted one, and was the user told what is due?

What is wanted arrives with the request to grade and is forgotten with the answer: no tool can
know it. Free text is not compared, nor the numbers that the desk gave to new rows.
"""

import json
from collections import Counter
from typing import Any

from .database import TABLES, Database, Row

FREE_TEXT = frozenset({"note", "reason", "resolution"})


def grade(
    db: Database,
    initial: dict[str, list[Row]],
    wanted: dict[str, Any],
    say: list[str],
    said: list[str],
) -> dict[str, float]:
    """1.0 or 0.0 for STATE (a duplicate or half a change makes it wrong) and for SAID.

    `wanted`: {"set": {table: {key: {column: value}}}, "add": {table: [row without its key]}}.
    """
    state = all(_same(db, table, initial.get(table, []), wanted) for table in TABLES)
    told = all(any(text in spoken for spoken in said) for text in say)
    return {"STATE": float(state), "SAID": float(told)}


def _same(db: Database, table: str, initial: list[Row], wanted: dict[str, Any]) -> bool:
    key = TABLES[table][0]
    changes = wanted.get("set", {}).get(table, {})
    due = {row[key]: _plain(row | changes.get(row[key], {})) for row in initial}
    new = Counter(_plain(row) for row in wanted.get("add", {}).get(table, []))
    for row in db.rows(f"SELECT * FROM {table}"):  # noqa: S608 - our own names
        name = row[key]
        if name in due:
            if due.pop(name) != _plain(row):
                return False
        else:
            del row[key]
            new[_plain(row)] -= 1
    return not due and not any(new.values())


def _plain(row: Row) -> str:
    kept = {name: value for name, value in row.items() if name not in FREE_TEXT}
    return json.dumps(kept, sort_keys=True)
