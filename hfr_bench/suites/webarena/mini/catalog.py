"""The tasks of web_mini as public and sealed halves, from `suites/web_mini/tasks`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hfr_bench import content as files
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import json_digest
from hfr_bench.model.task import (
    ExpectedEffect,
    OracleStep,
    SealedTask,
    TaskSpec,
    ToolSpec,
)
from hfr_bench.suites.webarena.acting.contracts import CLICK, STOP
from hfr_bench.suites.webarena.acting.offer import read_tools
from hfr_bench.suites.webarena.acting.points import acting_points
from hfr_bench.suites.webarena.acting.steps import read_step
from hfr_bench.suites.webarena.mini import effects, records
from hfr_bench.suites.webarena.mini.content import (
    FILES,
    SUITE,
    folder,
    offer,
    requests,
    seed,
    settings,
)
from hfr_bench.suites.webarena.rows import Record, read_record

PROMPT = """\
You work in a browser. You are signed in, and start at {start}. Do this task on that site:

{intent}

When it is done, or is found to be impossible, call `stop` with your answer."""


@dataclass(frozen=True, slots=True)
class WebTask:
    """One task. `original`, `verified`: its records in the two schemas; `row`: as it lies there."""

    public: TaskSpec
    sealed: SealedTask = field(repr=False)
    original: Record = field(repr=False)
    verified: Record = field(repr=False)
    row: Mapping[str, Any] = field(repr=False)

    @property
    def site(self) -> str:
        return self.public.domain


@cache
def tasks() -> Mapping[str, WebTask]:
    """By name, in the files' order. Raises BadInputError naming the task that cannot be used."""
    found = {}
    for name in FILES:
        path = folder() / "tasks" / f"{name}.yaml"
        for row in files.read_yaml(path):
            where = f"{path}: {row.get('name')}"
            try:
                found[row["name"]] = _task(row, where)
            except (KeyError, TypeError) as error:
                raise BadInputError(f"{where}: lacks {error}") from error
    return found


@cache
def tool_specs() -> tuple[ToolSpec, ...]:
    """tools.yaml. Raises BadInputError naming each wrong key."""
    return read_tools(folder() / "tools.yaml")


def _task(row: Mapping[str, Any], where: str) -> WebTask:
    lines = [read_step(line, where, offer().shown) for line in row["oracle"]]
    told = requests().get(row["name"], [[]] * len(lines))
    if len(told) != len(lines):
        raise BadInputError(f"{where}: requests.yaml has {len(told)} of {len(lines)} steps")
    steps = [
        step.model_copy(update={"requests": tuple(asked)})
        for step, asked in zip(lines, told, strict=True)
    ]
    steps.append(OracleStep(actor="agent", tool=STOP, arguments={"answer": records.said(row)}))
    sealed = SealedTask(
        task_id=row["name"], suite=SUITE, oracle=tuple(steps), expected=_expected(row, where)
    )
    original = read_record(records.original_record(row), where)
    verified = read_record(records.verified_record(row), where)
    return WebTask(_public(row), sealed, original, verified, row)


def _public(row: Mapping[str, Any]) -> TaskSpec:
    specs = tool_specs()
    return TaskSpec(
        task_id=row["name"],
        suite=SUITE,
        domain=records.site_of(row),
        prompt=PROMPT.format(start=offer().shown(row["start"]), intent=row["intent"]),
        stratum=records.site_of(row),
        deadline_s=float(settings()["deadline_s"]),
        tools=specs,
        fault_points=acting_points(specs, offer().routes, [records.site_of(row)]),
        source_digest=json_digest(dict(row)),
    )


def _expected(row: Mapping[str, Any], where: str) -> tuple[ExpectedEffect, ...]:
    """The effects that lead to the wanted state, and those on the way."""
    identity, state = settings()["effects"], row.get("state", {})
    keys = [
        effects.wanted_key(table, one, identity)
        for table, rows in state.get("add", {}).items()
        for one in rows
    ]
    keys += [effects.wanted_key(table, one, identity) for table, one in row.get("passing", ())]
    for table, changed in state.get("set", {}).items():
        keys += [
            effects.set_key(table, _seeded(table, key, where), list(values), identity)
            for key, values in changed.items()
        ]
    for table, gone in state.get("drop", {}).items():
        keys += [effects.drop_key(table, _seeded(table, key, where), identity) for key in gone]
    return tuple(
        ExpectedEffect(natural_key=key, tool=CLICK, count=count)
        for key, count in Counter(keys).items()
    )


def _seeded(table: str, key: Any, where: str) -> Mapping[str, Any]:
    """A row of the seed, by its key: only the columns that identify it."""
    columns = seed()["columns"][table]
    for row in seed()["tables"][table]:
        if row[0] == key:
            return dict(zip(columns, row, strict=True))
    raise BadInputError(f"{where}: the seed has no {table}/{key}")
