"""Derived tables in Parquet, made of the traces by SQL: convenient, and never the truth.

    trials     a row a trial file, as in `hfr.duckdb`
    attempts   what went out, with what came back
    effects    what tools really did
    decisions  what the strategy believed and chose
    faults     what was injected

All money and time in whole microdollars and microseconds. `path` names the trace, `seq` the line.
"""

from pathlib import Path
from typing import NamedTuple

from hfr_bench.lab.database import FILE, connect
from hfr_bench.lab.index import gather
from hfr_bench.lab.ingest import Ingest
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.store import Store
from hfr_bench.model.bundle import Content

_PLACE = "path, trial_id, seq, t_us, step, attempt"
_TEXT, _WHOLE, _TRUTH, _REAL, _LIST = "VARCHAR", "BIGINT", "BOOLEAN", "DOUBLE", "VARCHAR[]"

_STARTED = {
    "point": _TEXT, "occurrence": _WHOLE, "channel": _TEXT, "target": _TEXT, "purpose": _TEXT,
    "timeout_us": _WHOLE, "level": _TEXT, "intent_id": _TEXT, "key": _TEXT,
    "request_digest": _TEXT, "operation_id": _TEXT, "told": _TRUTH,
}  # fmt: skip
_ENDED = {
    "answered": _TRUTH, "sent": _TRUTH, "status": _WHOLE, "exception": _TEXT,
    "domain_error": _TRUTH, "response_digest": _TEXT, "retry_after": _TEXT,
    "returned_model": _TEXT, "finish_reason": _TEXT, "tokens_in": _WHOLE, "tokens_out": _WHOLE,
    "cost_microusd": _WHOLE, "latency_us": _WHOLE,
}  # fmt: skip
_EFFECT = {
    "operation_id": _TEXT, "point": _TEXT, "tool": _TEXT, "actor": _TEXT, "level": _TEXT,
    "natural_key": _TEXT, "args_digest": _TEXT, "domain_error": _TRUTH, "changed": _LIST,
    "response_digest": _TEXT,
}  # fmt: skip
_DECIDED = {
    "on": _TEXT, "action": _TEXT, "reason": _TEXT, "fault_class": _TEXT, "confidence": _REAL,
    "evidence": _TEXT, "delay_us": _WHOLE, "substitute": _TEXT, "rung": _TEXT, "check": _TEXT,
    "step_left": _WHOLE, "task_left": _WHOLE, "deadline_left_us": _WHOLE,
}  # fmt: skip
_FAULT = {"injection_id": _TEXT, "kind": _TEXT, "effect_lands": _TRUTH, "forwarded": _TRUTH}


class Table(NamedTuple):
    """A table that was written: its name, rows, and columns with DuckDB's types."""

    name: str
    rows: int
    columns: dict[str, str]


def _taken(columns: dict[str, str], of: str = "") -> str:
    """SQL for fields of a body as typed columns; a value that does not fit is NULL."""
    body = f"{of}.body" if of else "body"
    return ", ".join(
        f"""try_cast({body}{"->" if kind == _LIST else "->>"}'$.{name}' AS {kind}) AS "{name}\""""
        for name, kind in columns.items()
    )


QUERIES = {
    "trials": "FROM trial SELECT * EXCLUDE (facts, size, mtime_ns) ORDER BY path",
    "attempts": f"""
        FROM (FROM event WHERE type = 'attempt_started') s
        ASOF LEFT JOIN (FROM event WHERE type = 'attempt_ended') e
            ON s.path = e.path AND s.seq < e.seq
        SELECT s.path, s.trial_id, s.seq, s.t_us, s.step, s.attempt,
               {_taken(_STARTED, "s")}, e.seq AS ended_seq, {_taken(_ENDED, "e")}
        ORDER BY s.path, s.seq""",
    "effects": f"""
        FROM event SELECT {_PLACE}, {_taken(_EFFECT)}
        WHERE type = 'effect' ORDER BY path, seq""",
    "decisions": f"""
        FROM event SELECT {_PLACE}, {_taken(_DECIDED)}
        WHERE type = 'decided' ORDER BY path, seq""",
    "faults": f"""
        FROM event SELECT {_PLACE}, type AS told_by, {_taken(_FAULT)}
        WHERE type IN ('fault_injected', 'upstream_hit') AND body->>'$.injection_id' IS NOT NULL
        ORDER BY path, seq""",
}
"""Table -> the SQL that makes it, over the table `trial` and the view `event` of the index."""


def write(experiment: Experiment, made_of: Content, folder: Path) -> tuple[Table, ...]:
    """Write `NAME.parquet` for each table into a folder; the experiment's index is made for it."""
    store = Store(experiment.path, indexed=True)
    gather(store, Ingest(experiment.prereg, experiment.plan, experiment.book.like, made_of.kinds))
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with connect(experiment.path / FILE) as connection:
        for name, query in QUERIES.items():
            path = str(folder / f"{name}.parquet").replace("'", "''")
            connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
            shape = connection.execute(f"DESCRIBE FROM read_parquet('{path}')").fetchall()
            rows = connection.execute(f"FROM read_parquet('{path}') SELECT count(*)").fetchall()
            made.append(Table(name, rows[0][0], {row[0]: row[1] for row in shape}))
    return tuple(made)
