"""A row of dbbench, upstream's format read strictly: tables, question, label.

A row holds `description`, `type` (INSERT, UPDATE, DELETE, or a kind of question), `table` (one or a
list: table_name, table_info {columns, rows}), `label` (the answers; of a change, the statement),
and may hold `sql.query` (a question's statement), `answer_md5` (the digest of the changed table),
`add_description`, `evidence`. What else it holds is upstream's own affair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hfr_bench.errors import BadInputError

CHANGES = ("INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class Table:
    """A table at first. `rows`: each value a text; a short row lacks its last values."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def told(self) -> dict[str, Any]:
        """As the tool host is told it."""
        return {"name": self.name, "columns": self.columns, "rows": self.rows}


@dataclass(frozen=True, slots=True)
class DbRow:
    """One task. `gold`: the solution's statement; of a question it may be broken, or ""."""

    where: str
    kind: str
    question: str
    hints: tuple[str, ...]
    tables: tuple[Table, ...]
    label: tuple[str, ...] = field(repr=False)
    gold: str = field(repr=False)
    answer_md5: str = field(repr=False)
    name: str = ""
    source: str = ""

    @property
    def changes(self) -> bool:
        """Whether it is graded by its tables, and not by an answer."""
        return self.kind in CHANGES


def read_row(row: Mapping[str, Any], where: str) -> DbRow:
    """The row. Raises BadInputError: where, and which part of it is not as it must be."""
    tables = row.get("table")
    listed = tables if isinstance(tables, list) else [tables]
    kind = _kind(row, where)
    label = _label(row.get("label"), where)
    sql = row.get("sql")
    query = sql.get("query", "") if isinstance(sql, dict) else ""
    if kind in CHANGES and not (query or label):
        raise BadInputError(f"{where}: a change without a statement in `label` or `sql.query`")
    hints = [row.get(key) or "" for key in ("evidence", "add_description")]
    return DbRow(
        where,
        kind,
        _text(row, "description", where),
        tuple(str(hint) for hint in hints if hint),
        tuple(_table(table, where) for table in listed),
        label,
        str(query or (label[0] if kind in CHANGES else "")),
        str(row.get("answer_md5") or ""),
        str(row.get("id") or ""),
        str(row.get("source") or ""),
    )


def _kind(row: Mapping[str, Any], where: str) -> str:
    kinds = row.get("type")
    if not isinstance(kinds, list) or not kinds or not isinstance(kinds[0], str):
        raise BadInputError(f"{where}: `type` must be a list that begins with a text")
    return kinds[0]


def _label(label: Any, where: str) -> tuple[str, ...]:
    if label is None:
        return ()
    if not isinstance(label, list):
        raise BadInputError(f"{where}: `label` must be a list")
    return tuple(str(one) for one in label)


def _table(table: Any, where: str) -> Table:
    try:
        info = table["table_info"]
        columns = tuple(str(column["name"]) for column in info["columns"])
        rows = tuple(tuple(str(value) for value in row) for row in info["rows"])
        name = table["table_name"]
    except (KeyError, TypeError) as error:
        raise BadInputError(f"{where}: a `table` without {error}") from error
    if not isinstance(name, str) or not name or not columns:
        raise BadInputError(f"{where}: a `table` needs a name and columns")
    if any(len(row) > len(columns) for row in rows):
        raise BadInputError(f"{where}: table {name} has a row with more values than columns")
    return Table(name, columns, rows)


def _text(row: Mapping[str, Any], key: str, where: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value:
        raise BadInputError(f"{where}: `{key}` must be a text")
    return value


def domain(tables: Sequence[Table]) -> str:
    """How a task's world is called in lists: its first table."""
    return tables[0].name
