"""What a world's database is made of: digests of it, what a call changed, and the way back.

Two kinds. `TableState` (airline, retail) watches which rows a call touches, so that a digest or a
reset costs the touched rows and not the 7 MB. `DumpState` (telecom: two small databases, the
operator's and the user's phone) looks at everything each time, at about 0.3 ms.

Both digests are equal exactly when upstream's full database hashes are equal: rows are compared by
the very text that upstream hashes, and the pristine rows are the same for all.
"""

import pickle
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from .canonical import digest_of, text_of

RowKey = tuple[str, str]


class DatabaseState(Protocol):
    """A living database that can be watched, digested and taken back to its pristine state."""

    pristine: str

    def begin(self, *, writing: bool) -> None:
        """Watch from here; `writing` is whether the call may change rows."""

    def end(self) -> list[str]:
        """Names of the rows that changed since `begin`, sorted."""

    def digest(self) -> str:
        """Of the whole present state."""

    def reset(self) -> None:
        """Back to pristine, in place."""


class Row(NamedTuple):
    """A pristine row: how to rebuild it, and its canonical text."""

    image: bytes
    text: str


class Table(dict[str, Any]):
    """A table that notes which rows are handed out before anybody can change them."""

    def __init__(self, name: str, rows: dict[str, Any], owner: "TableState") -> None:
        super().__init__(rows)
        self.name = name
        self.owner = owner

    def __getitem__(self, key: str) -> Any:
        self.owner.touch(self, key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 this *is* get

    def __setitem__(self, key: str, value: Any) -> None:
        self.owner.touch(self, key)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self.owner.touch(self, key)
        super().__delitem__(key)

    def pop(self, key: str, *default: Any) -> Any:
        self.owner.touch(self, key)
        return super().pop(key, *default)

    def values(self) -> Any:
        self.owner.touch_all(self)
        return super().values()

    def items(self) -> Any:
        self.owner.touch_all(self)
        return super().items()

    def raw(self, key: str) -> Any:
        """The row, or None, unwatched."""
        return super().__getitem__(key) if key in self else None

    def put(self, key: str, row: Any) -> None:
        """Set the row, or delete it when None, unwatched."""
        if row is not None:
            super().__setitem__(key, row)
        elif key in self:
            super().__delitem__(key)


class TableState:
    """A database of dict tables (airline, retail), watched row by row.

    `tables` are to take the place of the database's own, which its owner sees to.
    """

    def __init__(self, database: Any, tables: Mapping[str, dict[str, Any]]) -> None:
        self.pristine = digest_of(database)
        self.tables = {name: Table(name, rows, self) for name, rows in tables.items()}
        self._rows: dict[RowKey, Row | None] = {}  # touched rows as they were when pristine
        self._texts: dict[RowKey, str | None] = {}  # rows that differ from pristine, as they are
        self._touched: set[RowKey] = set()
        self._writing = False

    def touch(self, table: Table, key: str) -> None:
        """Note that a caller is about to hold this row; keep its pristine form the first time."""
        name = (table.name, key)
        self._touched.add(name)
        if name not in self._rows:
            row = table.raw(key)
            self._rows[name] = None if row is None else Row(pickle.dumps(row), text_of(row))

    def touch_all(self, table: Table) -> None:
        """A scan. Upstream's read tools scan whole tables to search; only a write may keep rows."""
        if self._writing:
            for key in tuple(table):
                self.touch(table, key)

    def begin(self, *, writing: bool) -> None:
        """See `DatabaseState`."""
        self._touched.clear()
        self._writing = writing

    def end(self) -> list[str]:
        """See `DatabaseState`. Every touched row is looked at, also those only read."""
        changed = []
        for name in sorted(self._touched):
            row = self._rows[name]
            before = self._texts.get(name, row.text if row else None)
            now = self.tables[name[0]].raw(name[1])
            after = None if now is None else text_of(now)
            if after == before:
                continue
            changed.append("/".join(name))
            if after == (row.text if row else None):
                self._texts.pop(name, None)
            else:
                self._texts[name] = after
        self._touched.clear()
        self._writing = False
        return changed

    def digest(self) -> str:
        """Of the pristine database and of the rows that differ from it."""
        return digest_of([self.pristine, sorted(self._texts.items())])

    def reset(self) -> None:
        """Rebuild the differing rows from their pristine images."""
        for name in tuple(self._texts):
            row = self._rows[name]
            rebuilt = None if row is None else pickle.loads(row.image)  # noqa: S301 our own bytes
            self.tables[name[0]].put(name[1], rebuilt)
            now = self.tables[name[0]].raw(name[1])
            if (None if now is None else text_of(now)) == (row.text if row else None):
                del self._texts[name]  # else it stays, and the digest will tell


class DumpState:
    """Small databases, dumped whole (telecom's operator and the user's phone)."""

    def __init__(self, tools: Any, user_tools: Any, id_source: Any) -> None:
        self._kits = (tools, user_tools)
        self._ids = id_source
        self._images = tuple(pickle.dumps(kit.db) for kit in self._kits)
        self.pristine = self.digest()
        self._before: dict[str, str] = {}

    def begin(self, *, writing: bool) -> None:
        """See `DatabaseState`. All rows are compared, whether or not the call may write."""
        del writing
        self._before = dict(self._row_texts())

    def end(self) -> list[str]:
        """See `DatabaseState`."""
        after = dict(self._row_texts())
        names = self._before.keys() | after.keys()
        return sorted(n for n in names if self._before.get(n) != after.get(n))

    def digest(self) -> str:
        """Of both databases, whole (the order of the rows counts, as it does upstream)."""
        return digest_of([kit.db.model_dump() for kit in self._kits])

    def reset(self) -> None:
        """Both databases from their pristine images; bill numbers start over."""
        for kit, image in zip(self._kits, self._images, strict=True):
            kit.db = pickle.loads(image)  # noqa: S301 our own bytes
        self._ids.restart()

    def _row_texts(self) -> Iterator[tuple[str, str]]:
        agent, user = (kit.db.model_dump() for kit in self._kits)
        for table, rows in agent.items():
            for row in rows:
                # each row's first field is its id: plan_id, customer_id, line_id, ...
                yield f"{table}/{next(iter(row.values()))}", text_of(row)
        for table, fields in user.items():
            for field, value in fields.items():
                yield f"user.{table}/{field}", text_of(value)
