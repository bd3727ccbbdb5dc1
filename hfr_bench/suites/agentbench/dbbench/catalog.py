"""Tasks as public and sealed halves: of a user's checkout, or of our own pack."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.model.record import digest
from hfr_bench.model.task import ExpectedEffect, OracleStep, SealedTask, TaskSpec, ToolSpec
from hfr_bench.suites._tools import fault_points, read_tools
from hfr_bench.suites.agentbench.dbbench.contracts import COMMIT, EXECUTE
from hfr_bench.suites.agentbench.dbbench.levels import level_of, natural_key
from hfr_bench.suites.agentbench.dbbench.rows import DbRow, Table, read_row
from hfr_bench.suites.agentbench.dbbench.statements import Statement, read
from hfr_bench.suites.agentbench.source import checkout, json_lines

OWN, UPSTREAM = "db_mini", "dbbench"
FILES = {"std": "data/dbbench/standard.jsonl", "dev": "data/dbbench/dev.jsonl"}
PROMPT = """\
You answer a question about a MySQL database, or change it as you are asked to, by SQL. Call \
execute_sql with one statement at a time; what it answers is the raw answer of the database, cut \
if it is long. When you are done, call commit_final_answer once: with the exact answer and no \
other words, each value by itself, or, if something was to be changed, with any text.

{hints}Question: {question}"""
DONE = ("done",)


@dataclass(frozen=True, slots=True)
class DbTask:
    """One task."""

    public: TaskSpec
    sealed: SealedTask = field(repr=False)
    row: DbRow = field(repr=False)


def folder(suite: str) -> Path:
    """Where our content for a suite lies."""
    return content.root() / "suites" / suite


@cache
def settings(suite: str) -> Mapping[str, Any]:
    """suite.yaml."""
    found: Mapping[str, Any] = content.read_yaml(folder(suite) / "suite.yaml")
    return found


@cache
def tool_specs() -> tuple[ToolSpec, ...]:
    """The three tools. Raises BadInputError naming each wrong key."""
    return read_tools(folder(UPSTREAM) / "tools.yaml")


def pools(suite: str, data_dir: Path | None) -> Mapping[str, Callable[[], Iterator[DbTask]]]:
    """By file: what makes its tasks. Of our own pack there is one."""
    if suite == OWN:
        return {"own": lambda: _tasks(suite, "own", folder(OWN) / "tasks.jsonl")}

    def of(name: str) -> Iterator[DbTask]:
        return _tasks(suite, name, checkout(suite, data_dir) / FILES[name])

    return {name: partial(of, name) for name in FILES}


def content_digest(suite: str) -> str:
    """Of our own files that a suite is made of."""
    own = [content.read_yaml(folder(UPSTREAM) / "tools.yaml"), dict(settings(suite)), PROMPT]
    if suite == OWN:
        own.append((folder(OWN) / "tasks.jsonl").read_text("utf-8"))
    return digest(own)


def _tasks(suite: str, pool: str, path: Path) -> Iterator[DbTask]:
    for number, (where, row) in enumerate(json_lines(path)):
        yield make_task(suite, read_row(row, where), f"{pool}-{number:03}")


def make_task(suite: str, row: DbRow, task_id: str) -> DbTask:
    """Both halves of a row. Its id is its own, or its place in its file."""
    task_id, found = row.name or task_id, settings(suite)
    kind = row.kind.lower() if row.changes else "select"
    hints = "".join(f"{hint}\n" for hint in row.hints)
    public = TaskSpec(
        task_id=task_id,
        suite=suite,
        domain="databases",
        prompt=PROMPT.format(hints=hints, question=row.question),
        stratum=kind,
        deadline_s=float(found["deadline_s"]),
        tools=tool_specs(),
        fault_points=fault_points(tool_specs()),
        source_digest=digest([row.question, *row.hints, [t.told() for t in row.tables]]),
    )
    return DbTask(public, _sealed(suite, task_id, row), row)


def _sealed(suite: str, task_id: str, row: DbRow) -> SealedTask:
    steps = [OracleStep(actor="agent", tool=EXECUTE, arguments={"query": row.gold})]
    answers = DONE if row.changes else row.label
    steps.append(OracleStep(actor="agent", tool=COMMIT, arguments={"answers": list(answers)}))
    return SealedTask(
        task_id=task_id,
        suite=suite,
        oracle=tuple(steps if row.gold else steps[1:]),
        expected=_expected(row),
    )


def _expected(row: DbRow) -> tuple[ExpectedEffect, ...]:
    commit = next(spec for spec in tool_specs() if spec.name == COMMIT)
    wanted = [ExpectedEffect(natural_key=commit.natural_key({}), tool=COMMIT)]
    statement = read(row.gold)
    if level_of(statement).writes:
        key = natural_key(statement, columns_of(statement, row.tables))
        wanted.append(ExpectedEffect(natural_key=key, tool=EXECUTE))
    return tuple(wanted)


def columns_of(statement: Statement, tables: Sequence[Table]) -> tuple[str, ...]:
    """The columns of the table that a statement names; () if there is none of that name."""
    named = {table.name.lower(): table.columns for table in tables}
    return named.get(statement.table.lower(), ())


def kinds(tasks: Sequence[DbTask]) -> Mapping[str, int]:
    """How many tasks of each kind and level: what a loaded file is made of."""
    made = Counter(f"{t.public.stratum} {level_of(read(t.row.gold))}" for t in tasks)
    return dict(sorted(made.items()))
