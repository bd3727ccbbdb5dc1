"""The database `hfr.duckdb`: its table, its view of all trace lines, their copies in Parquet.

    trial   one row a trial file: place, result, flaws, audit. Counts, money and time are integers.
    graded  a view: the trials that the report is made of, controls left out (`lab.metrics_sql`).
    event   a view: one row a trace line, body as JSON; of the JSONL files, or of Parquet files for
            those that `compact` has taken in. What is no JSON object is a row of NULLs.

Every column has a registered type, none is inferred; a value that does not fit becomes NULL in
the view, and the file's row in `trial` counts the line as bad. What it all rests on: `lab.index`.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple

import duckdb

from hfr_bench.lab.metrics_sql import GRADED, MEASURES
from hfr_bench.lab.store import TRIALS

FILE, PARQUET = "hfr.duckdb", "parquet"
CHUNK = 2000
"""Trial files in one Parquet file."""

Connection = duckdb.DuckDBPyConnection

RESULT = {
    "trial_id": "VARCHAR", "suite": "VARCHAR", "task_id": "VARCHAR", "seed": "BIGINT",
    "profile": "VARCHAR", "rate": "DOUBLE", "cohort_id": "VARCHAR", "tenant": "VARCHAR",
    "origin": "VARCHAR", "void": "VARCHAR", "void_reason": "VARCHAR", "steps": "BIGINT",
    "attempts": "BIGINT", "reads": "BIGINT", "cost_microusd": "BIGINT", "latency_us": "BIGINT",
    "injected_wait_us": "BIGINT", "human_us": "BIGINT", "backoff_us": "BIGINT",
    "recovery_us": "BIGINT", "recoveries": "BIGINT", "tokens_in": "BIGINT", "tokens_out": "BIGINT",
    "state_digest": "VARCHAR",
}  # fmt: skip
OUTCOME = {
    "end": "VARCHAR", "reason": "VARCHAR", "official": "DOUBLE", "goal_met": "BOOLEAN",
    "accepted": "BOOLEAN", "in_time": "BOOLEAN", "succeeded": "BOOLEAN", "escalated": "BOOLEAN",
    "harm": "BIGINT", "effects": "BIGINT", "duplicates": "BIGINT",
    "duplicate_dispatches": "BIGINT", "unwanted": "BIGINT", "partial": "BIGINT",
    "packet_true": "BOOLEAN", "degraded_steps": "BIGINT", "ambiguous_writes": "BIGINT",
    "lost_effects": "BIGINT",
}  # fmt: skip
COLUMNS = {
    "path": "VARCHAR", "pair_group": "VARCHAR", "round": "BIGINT", "arm": "VARCHAR",
    "control": "VARCHAR", "planned": "BOOLEAN", "size": "BIGINT", "mtime_ns": "BIGINT",
    "sha256": "VARCHAR", "digest": "VARCHAR", "whole": "BOOLEAN", "bad_lines": "BIGINT",
    "chain_breaks": "BIGINT", **RESULT, **OUTCOME, **MEASURES,
    "sandbox": "VARCHAR", "image_id": "VARCHAR",
    "faults_scheduled": "BIGINT", "faults_reached": "BIGINT", "faults_delivered": "BIGINT",
    "failed_unplanned": "BIGINT", "untrue": "BIGINT", "underived": "BIGINT", "facts": "JSON",
}  # fmt: skip
"""The table `trial`. `facts`: all that is known, as the report takes it back."""

EVENT = {
    "v": "BIGINT", "trial_id": "VARCHAR", "seq": "BIGINT", "t_us": "BIGINT", "wall_us": "BIGINT",
    "step": "BIGINT", "attempt": "BIGINT", "prev": "VARCHAR", "body": "JSON",
}  # fmt: skip
"""A trace line's own keys; `event` adds `path` and `type`."""


def unusable(error: Exception) -> str:
    """Why the database cannot be used, for a person."""
    if isinstance(error, duckdb.IOException) and "lock" in str(error):
        return "another process holds it"
    first = (str(error) or type(error).__name__).splitlines()[0]
    if isinstance(error, duckdb.Error):
        return f"{first}; delete it if this stays, it is made anew from the traces"
    return first


Unusable = (duckdb.Error, OSError)
"""What is raised here if the file is held, damaged, or cannot be written."""


@contextmanager
def connect(path: Path, *, write: bool = False) -> Iterator[Connection]:
    """A connection that is closed again. Raises duckdb.Error if the file is held or damaged."""
    config: dict[str, str | bool | int | float | list[str]] = {"threads": 1}
    with duckdb.connect(str(path), read_only=not write, config=config) as connection:
        yield connection


def kept_rows(folder: Path, context: str) -> list[tuple[str, int, int, str, str]]:
    """path, size, mtime_ns, sha256 and facts of every row.

    None from an index of something else, or of a directory that was elsewhere: the view `event`
    names files by their whole path.

    Raises one of Unusable.
    """
    if not (folder / FILE).exists():
        return []
    with connect(folder / FILE) as connection:
        if _made_of(connection) != [(context, str(folder.resolve()))]:
            return []
        found = connection.execute("SELECT path, size, mtime_ns, sha256, facts FROM trial")
        return found.fetchall()


def _made_of(connection: Connection) -> list[tuple[str, str]]:
    """What the rows follow from besides the traces, and the directory that they are of."""
    try:
        return connection.execute("SELECT context, folder FROM made_of").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):
        return []


def write(folder: Path, context: str, lines: Sequence[bytes], gone: Iterable[str]) -> None:
    """Put rows in, take rows out, and point the view at the files that there are."""
    with connect(folder / FILE, write=True) as connection:
        made_of = (context, str(folder.resolve()))
        known = _made_of(connection)
        connection.begin()
        if known != [made_of]:
            _create(connection, made_of)
        with NamedTemporaryFile(suffix=".jsonl") as made:
            made.write(b"\n".join(lines))
            made.flush()
            source = _read_json([made.name], COLUMNS)
            connection.execute(f"CREATE TEMP TABLE fresh AS FROM {source}")
        connection.execute("DELETE FROM trial WHERE path IN (SELECT path FROM fresh)")
        connection.execute("DELETE FROM trial WHERE path IN (SELECT unnest(?))", [list(gone)])
        connection.execute("INSERT INTO trial SELECT * FROM fresh")
        connection.execute("DROP TABLE fresh")
        connection.execute(f"CREATE OR REPLACE VIEW graded AS {GRADED}")
        _view(connection, folder)
        connection.commit()


def _create(connection: Connection, made_of: tuple[str, str]) -> None:
    columns = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
    for table, fields in (
        ("made_of", "context VARCHAR, folder VARCHAR"),
        ("trial", columns),
        ("compacted", "path VARCHAR, sha256 VARCHAR, part VARCHAR"),
    ):
        connection.execute(f"CREATE OR REPLACE TABLE {table} ({fields})")
    connection.execute("INSERT INTO made_of VALUES (?, ?)", made_of)


def _read_json(paths: Sequence[str], columns: Mapping[str, str], *, lenient: bool = False) -> str:
    """SQL that reads JSONL with these columns and no others; unknown keys are left out.

    `records`: without it, a single column is read nine times slower.
    """
    listed = ", ".join(_quoted(path) for path in paths)
    typed = ", ".join(f"{_quoted(name)}: {_quoted(kind)}" for name, kind in columns.items())
    more = ", ignore_errors = true, filename = true" if lenient else ""
    return (
        f"read_json([{listed}], format = 'newline_delimited', records = true, "
        f"columns = {{{typed}}}{more})"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literal(path: str) -> str:
    """A path in which nothing is taken for a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", path)


# -- all lines of all traces ------------------------------------------------------------------


def _view(connection: Connection, folder: Path) -> None:
    """`event` reads Parquet where it holds a file as it is now, JSONL for all others."""
    root = str(folder.resolve())
    parts = _sound_parts(connection, folder)
    plain = _open_files(connection, parts)
    sources = []
    if parts:
        listed = ", ".join(_quoted(_literal(f"{root}/{part}")) for part in parts)
        sources.append(f"FROM read_parquet([{listed}])")
    if not parts and plain:  # all of them: a short pattern, no long list
        sources.append(_lines_of(root, [f"{_literal(root)}/{TRIALS}/*/r*/*.jsonl"]))
    elif plain:
        sources.append(_lines_of(root, [_literal(f"{root}/{name}") for name in plain]))
    if not sources:
        nothing = ", ".join(f"NULL::{kind} AS {name}" for name, kind in EVENT.items())
        sources.append(f"SELECT NULL::VARCHAR AS path, {nothing} WHERE false")
    lines = " UNION ALL ".join(f"({source})" for source in sources)
    keys = ", ".join(EVENT)
    connection.execute(
        f"CREATE OR REPLACE VIEW event AS FROM ({lines}) "
        f"SELECT path, body->>'$.type' AS type, {keys}"
    )


def _lines_of(root: str, paths: Sequence[str]) -> str:
    source = _read_json(paths, EVENT, lenient=True)
    return f"FROM {source} SELECT substr(filename, {len(root) + 2}) AS path, {', '.join(EVENT)}"


def _sound_parts(connection: Connection, folder: Path) -> list[str]:
    """The Parquet files that are there, and of which every trial file is as it was taken in."""
    found = connection.execute(
        "SELECT part FROM compacted LEFT JOIN trial USING (path, sha256) "
        "GROUP BY part HAVING count(trial.path) = count(*) ORDER BY part"
    )
    return [part for (part,) in found.fetchall() if (folder / part).is_file()]


def _open_files(connection: Connection, parts: Collection[str]) -> list[str]:
    """The trial files that no sound part holds, in order."""
    found = connection.execute(
        "SELECT path FROM trial WHERE size > 0 AND path NOT IN "
        "(SELECT path FROM compacted WHERE list_contains(?, part)) ORDER BY path",
        [list(parts)],
    )
    return [path for (path,) in found.fetchall()]


class Compacted(NamedTuple):
    """What `compact` left: Parquet files, and trial files that stay as JSONL (not whole)."""

    parts: int
    files: int
    left: int


def compact(folder: Path) -> Compacted:
    """Copy the lines of whole trial files into Parquet (zstd), CHUNK trial files in one.

    The copies speed up queries of `event`, and may be deleted; the JSONL files stay the truth.
    The index must be up to date. Raises one of Unusable.
    """
    (folder / PARQUET).mkdir(exist_ok=True)
    with connect(folder / FILE, write=True) as connection:
        parts = _sound_parts(connection, folder)
        connection.execute("DELETE FROM compacted WHERE NOT list_contains(?, part)", [parts])
        whole = connection.execute("SELECT path FROM trial WHERE whole").fetchall()
        open_files = set(_open_files(connection, parts))
        todo = sorted(open_files & {name for (name,) in whole})
        for start in range(0, len(todo), CHUNK):
            parts.append(_part(connection, folder, todo[start : start + CHUNK]))
        _view(connection, folder)
        taken = connection.execute("SELECT count(*) FROM compacted").fetchall()[0][0]
    for old in (folder / PARQUET).glob("*.parquet*"):
        if f"{PARQUET}/{old.name}" not in parts:
            old.unlink()
    return Compacted(len(parts), taken, len(open_files) - len(todo))


def _part(connection: Connection, folder: Path, chunk: Sequence[str]) -> str:
    """Write one Parquet file, whole or not at all; returns its path in the experiment."""
    root = folder.resolve()
    part = f"{PARQUET}/{hashlib.sha256(json.dumps(chunk).encode()).hexdigest()[:16]}.parquet"
    lines = _lines_of(str(root), [_literal(f"{root}/{name}") for name in chunk])
    half = root / f"{part}.part"
    connection.execute(f"COPY ({lines}) TO {_quoted(str(half))} (FORMAT parquet, COMPRESSION zstd)")
    half.replace(root / part)
    connection.execute(
        "INSERT INTO compacted SELECT path, sha256, ? FROM trial WHERE list_contains(?, path)",
        [part, chunk],
    )
    return part
