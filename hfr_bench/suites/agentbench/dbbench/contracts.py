"""What `look_up` tells of a statement, and what can be read from it: pure.

`look_up` answers in JSON what the database holds of that which a statement is about; it runs no
statement of the agent's. Of an INSERT of constants: how often each of its rows is there. Of an
UPDATE: what is in its columns now, and what it would put there, row by row. Of a DELETE: how many
rows it would take. Of anything else that writes: a digest of all there is.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hfr_bench.model.terms import Landed
from hfr_bench.suites.agentbench.dbbench.dialect import name
from hfr_bench.suites.agentbench.dbbench.statements import Statement, read
from hfr_bench.suites.agentbench.dbbench.tables import Row

EXECUTE, LOOK_UP, COMMIT = "execute_sql", "look_up", "commit_final_answer"
TOOK_HOLD = "took_hold"
MOST_SHOWN = 800
CUT = "[TRUNCATED]"


def shown(rows: Sequence[Sequence[Any]]) -> str:
    """What `execute_sql` answers: rows as upstream's client prints them, cut at 800 characters."""
    text = str([tuple(row) for row in rows])
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + CUT


def alike(statement: Statement, columns: Sequence[str], rows: Sequence[Row]) -> list[int] | None:
    """How often each of an INSERT's rows is in the table; None if its columns are not the table's.

    Values that it does not name do not matter.
    """
    places = {column.lower(): at for at, column in enumerate(columns)}
    named = [column.lower() for column in statement.columns or columns]
    width = len(statement.rows[0])
    at = [places.get(one, -1) for one in named[:width]]
    if -1 in at or len(at) != width or any(len(row) != width for row in statement.rows):
        return None
    there = Counter(tuple(row[place] for place in at) for row in rows)
    return [there[row] for row in dict.fromkeys(statement.rows)]


def would(statement: Statement) -> str:
    """The query, in MySQL's words, that tells an UPDATE's cells, now and as it would leave them.

    As texts: what becomes of a number in a column of texts is the engine's own affair.
    """
    text = {key: statement.sql(tokens) for key, tokens in statement.sets}
    if statement.where:
        where = statement.sql(statement.where)
        text = {
            key: f"CASE WHEN ({where}) THEN CAST({value} AS CHAR) ELSE {name(key)} END"
            for key, value in text.items()
        }
    else:
        text = {key: f"CAST({value} AS CHAR)" for key, value in text.items()}
    cells = ", ".join((*map(name, text), *text.values()))
    return f"SELECT {cells} FROM {name(statement.table)}"  # noqa: S608 - a read, by its own text


def count(statement: Statement) -> str:
    """The query, in MySQL's words, that tells how many rows a DELETE would take."""
    where = f" WHERE {statement.sql(statement.where)}" if statement.where else ""
    return f"SELECT COUNT(*) FROM {name(statement.table)}{where}"  # noqa: S608 - as above


def pairs(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """[now, then, how often] of what `would` finds."""
    half = len(rows[0]) // 2 if rows else 0
    texts = [[None if cell is None else str(cell) for cell in row] for row in rows]
    found = Counter(json.dumps([row[:half], row[half:]]) for row in texts)
    return [[*json.loads(pair), times] for pair, times in sorted(found.items())]


def landed(
    predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
) -> Landed:
    """Whether a statement took hold, by what `look_up` told before and after.

    Raises ValueError for another predicate.
    """
    if predicate != TOOK_HOLD:
        raise ValueError(f"no predicate {predicate!r}; there is: {TOOK_HOLD}")
    query, then, now = arguments.get("query"), _parse(before), _parse(after)
    if now is None or not isinstance(query, str):
        return Landed.UNKNOWN
    try:
        done = _took_hold(read(query), then, now)
    except (KeyError, TypeError, ValueError, IndexError):
        return Landed.UNKNOWN  # not what `look_up` answers
    if done is None:
        return Landed.UNKNOWN
    return Landed.COMMITTED if done else Landed.ABSENT


def _took_hold(
    statement: Statement, then: Mapping[str, Any] | None, now: Mapping[str, Any]
) -> bool | None:
    if "alike" in now:
        return _inserted(statement, then["alike"] if then else None, now["alike"])
    if "cells" in now:
        return _updated(statement, then["cells"] if then else None, now["cells"])
    if "matching" in now:
        return _deleted(then["matching"] if then else None, now["matching"])
    return None if then is None or then["state"] != now["state"] else False


def _inserted(statement: Statement, then: Sequence[int] | None, now: Sequence[int]) -> bool | None:
    if then is None:
        return None if any(now) else False
    due = list(Counter(statement.rows).values())
    more = [late - early for early, late in zip(then, now, strict=True)]
    if not any(more):
        return False
    return True if more == due else None


def _updated(statement: Statement, then: Sequence[Any] | None, now: Sequence[Any]) -> bool | None:
    """Unread before, only constants tell: nothing is left to be set, or something is."""
    if then is None:
        settled = all(is_now == is_due for is_now, is_due, _ in now)
        return settled if statement.absolute else None
    was, due, found = _cells(then, 0), _cells(then, 1), _cells(now, 0)
    if found == due:
        return True
    return False if found == was else None


def _cells(pairs_told: Sequence[Any], side: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in pairs_told:
        found[json.dumps(row[side])] += row[2]
    return found


def _deleted(then: int | None, now: int) -> bool | None:
    if then is None:
        return None if now == 0 else False
    if then == now:
        return None if now == 0 else False
    return True if now == 0 else None


def _parse(body: str | None) -> Mapping[str, Any] | None:
    try:
        value = json.loads(body or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
