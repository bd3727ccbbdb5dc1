"""Tables of texts, and upstream's digest of them: pure.

AgentBench keeps every column as TEXT and grades a change by an MD5 that MySQL computes: of each
row the first five digits of the MD5 of its values joined by commas (NULLs left out), these sorted
and joined by commas, of that the MD5. A second row that is alike changes it. MySQL cuts a
GROUP_CONCAT at 1024 bytes, so of a table of more than 170 rows it sees the first 170 digests, and
so does this.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from hfr_bench.model.record import digest

Row = Sequence[str | None]
Tables = Mapping[str, Sequence[Row]]
"""By table: its rows, all values as texts."""

_KEPT_BYTES = 1024


def table_hash(rows: Sequence[Row]) -> str:
    """Upstream's MD5 of one table; "None" for an empty one, as its MySQL client shows it."""
    if not rows:
        return "None"
    marks = sorted(_md5(",".join(v for v in row if v is not None))[:5] for row in rows)
    return _md5(",".join(marks)[:_KEPT_BYTES])


def tables_hash(tables: Tables, names: Sequence[str]) -> str:
    """Of several: sorted, joined by underscores. One that is gone counts as `gone`."""
    return "_".join(sorted(table_hash(tables[n]) if n in tables else "gone" for n in names))


def read_hash(text: str) -> str:
    """The MD5 in an `answer_md5`, which is a printed list of one tuple."""
    return text.strip("[]()").split(",")[0].strip().strip("'")


def state(tables: Tables) -> str:
    """Digest of all rows of all tables, in whatever order they lie."""
    return digest({name: sorted(map(_line, rows)) for name, rows in sorted(tables.items())})


def same(first: Tables, second: Tables, names: Sequence[str]) -> bool:
    """Whether the named tables hold the same rows, as often, in whatever order."""
    return all(
        (name in first) == (name in second)
        and Counter(map(tuple, first.get(name, ()))) == Counter(map(tuple, second.get(name, ())))
        for name in names
    )


def _line(row: Row) -> list[str]:
    return ["" if value is None else f"'{value}" for value in row]


def _md5(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
