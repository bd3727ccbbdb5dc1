"""One tool host with a database in it: filled anew for every task, watched row by row, graded."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from hfr_bench.model.attempt import Observation
from hfr_bench.model.breakage import Breakage
from hfr_bench.model.record import digest
from hfr_bench.model.terms import SideEffect
from hfr_bench.model.trial import Grade
from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import FaultyHost, ToolHost
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.suites._scripted import ScriptedUser
from hfr_bench.suites.agentbench.dbbench import contracts, tables
from hfr_bench.suites.agentbench.dbbench.answers import right
from hfr_bench.suites.agentbench.dbbench.catalog import DbTask
from hfr_bench.suites.agentbench.dbbench.contracts import COMMIT, EXECUTE, LOOK_UP
from hfr_bench.suites.agentbench.dbbench.dialect import for_sqlite
from hfr_bench.suites.agentbench.dbbench.levels import level_of, natural_key
from hfr_bench.suites.agentbench.dbbench.statements import Statement, read

TIMEOUT_S = 60.0
ANSWERS = "answers"

Dump = dict[str, list[list[str | None]]]


class DbWorld:
    """Implements `ports.suite.World` and, in a sandbox whose hosts can be broken, `Exposed`.

    `spell`: writes a statement for the host's engine.
    """

    exposure = Exposure(bears=frozenset({Breakage.PAUSE}))

    def __init__(
        self,
        host: ToolHost,
        tasks: Callable[[str], DbTask],
        spell: Callable[[Statement], str] = for_sqlite,
    ) -> None:
        self._host, self._spell = host, spell
        self._tasks = tasks
        self._task: DbTask | None = None
        self._now: Dump = {}
        self._columns: dict[str, list[str]] = {}
        self._answers: list[str] | None = None

    @property
    def host(self) -> FaultyHost:
        """Where it lives; only a container's host can be broken."""
        return cast("FaultyHost", self._host)

    def reset(self, task_id: str) -> str:
        """The host is told the tables, and nothing of what is wanted of them."""
        self._task, self._answers = self._tasks(task_id), None
        self._ask("open", tables=[table.told() for table in self._task.row.tables])
        self._look()
        return self._state()

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        if tool == COMMIT:
            return self._commit(arguments.get("answers"))
        query = arguments.get("query")
        if tool not in (EXECUTE, LOOK_UP):
            return self._refused(f"there is no tool {tool!r}")
        if not isinstance(query, str) or "\0" in query:
            return self._refused("`query` must be a text")
        statement = read(query)
        return self._look_up(statement) if tool == LOOK_UP else self._run(statement)

    def user(self, task_id: str, act: UserAct) -> ScriptedUser:
        """Nobody: who asks for a user's word hears that the question has been put."""
        return ScriptedUser("Please answer the question.", (), act, told="", bye="Thank you.")

    def grade(self, said: Sequence[str]) -> Grade:
        """`said` does not matter: what was committed and what is in the tables does."""
        assert self._task is not None
        row = self._task.row
        components = {"committed": float(self._answers is not None)}
        if row.changes:
            components |= self._against_the_solution()
        else:
            components["answer"] = float(right(self._answers, row.label))
        official = float(
            all(components[k] for k in ("committed", "table", "answer") if k in components)
        )
        return Grade(
            official=official,
            goal_met=official == 1.0,
            components=components,
            state_digest=self._state(),
        )

    def close(self) -> None:
        self._host.close()

    def _run(self, statement: Statement) -> Execution:
        sql = self._spell(statement)
        if not sql:
            return self._seen(contracts.shown(()))
        done = self._ask("run", sql=sql)
        changed = self._look()
        key = natural_key(statement, tuple(self._columns_of(statement)))
        if "refused" in done:
            return self._seen(f"Error: {done['refused']}", changed, key, refused=True)
        # Nobody looks behind an R3 success; here it is known that nothing was taken away.
        idle = level_of(statement) is SideEffect.IRREVERSIBLE and not changed
        return self._seen(contracts.shown(done["rows"]), changed, key, refused=idle)

    def _look_up(self, statement: Statement) -> Execution:
        told = self._told_of(statement)
        if told is None:
            return self._refused("the database does not know what this statement is about")
        return self._seen(json.dumps(told))

    def _told_of(self, statement: Statement) -> dict[str, Any] | None:
        if not level_of(statement).writes:
            return {"writes": False}
        assert self._task is not None
        ours = {table.name.lower() for table in self._task.row.tables}
        columns = self._columns_of(statement)
        if (
            not statement.plain
            or statement.bounded
            or (columns and statement.table.lower() not in ours)
        ):
            return {"state": tables.state(self._now)}  # what else was made may hold no texts
        if statement.verb == "INSERT":
            alike = contracts.alike(statement, columns, self._rows_of(statement))
            return None if alike is None else {"alike": alike}
        update = statement.verb == "UPDATE"
        query = contracts.would(statement) if update else contracts.count(statement)
        done = self._ask("run", sql=self._spell(read(query)))
        if "refused" in done:
            return None
        rows = done["rows"]
        return {"cells": contracts.pairs(rows)} if update else {"matching": rows[0][0]}

    def _commit(self, answers: object) -> Execution:
        if not isinstance(answers, list) or not all(isinstance(one, str) for one in answers):
            return self._refused("`answers` must be a list of texts")
        done = self._ask("commit", answers=answers)
        if done["new"]:
            self._answers = list(answers)
            return self._seen("The answer is committed.", (ANSWERS,))
        if done["stands"]:
            return self._seen("The answer is committed.")
        return self._refused("another answer was committed already, and it stands")

    def _against_the_solution(self) -> dict[str, float]:
        """The tables against those that the solution makes of a fresh copy, on the same engine."""
        assert self._task is not None
        row = self._task.row
        first = [table.told() for table in row.tables]
        wanted = self._ask("after", tables=first, sql=self._spell(read(row.gold)))["tables"]
        names = [table.name for table in row.tables]
        mark = tables.tables_hash(self._now, names)
        found = {
            "table": float(mark == tables.tables_hash(wanted, names)),
            "rows": float(tables.same(self._now, wanted, names)),
        }
        if row.answer_md5:
            found["answer_md5"] = float(mark == tables.read_hash(row.answer_md5))
        return found

    def _look(self) -> tuple[str, ...]:
        """Read all tables; the rows that have come or gone since the last time."""
        was, seen = self._now, self._ask("dump")
        self._now, self._columns = seen["tables"], seen["columns"]
        changed = []
        for name in sorted(was.keys() | self._now.keys()):
            old, new = (Counter(map(tuple, side.get(name, ()))) for side in (was, self._now))
            if (name in was) != (name in self._now):
                changed.append(name)
            moved = ((old - new) + (new - old)).elements()
            changed += sorted(f"{name}/{digest(list(row))[:8]}" for row in moved)
        return tuple(changed)

    def _state(self) -> str:
        return digest([tables.state(self._now), self._answers])

    def _columns_of(self, statement: Statement) -> list[str]:
        named = {name.lower(): columns for name, columns in self._columns.items()}
        return named.get(statement.table.lower(), [])

    def _rows_of(self, statement: Statement) -> list[list[str | None]]:
        named = {name.lower(): rows for name, rows in self._now.items()}
        return named.get(statement.table.lower(), [])

    def _refused(self, why: str) -> Execution:
        return self._seen(f"Error: {why}", refused=True)

    def _seen(
        self, body: str, changed: tuple[str, ...] = (), key: str = "", *, refused: bool = False
    ) -> Execution:
        seen = Observation(answered=True, status=200, body=body, payload=body, domain_error=refused)
        return Execution(seen, changed, self._state(), key)

    def _ask(self, op: str, **fields: Any) -> dict[str, Any]:
        return self._host.request(op, fields, TIMEOUT_S)
