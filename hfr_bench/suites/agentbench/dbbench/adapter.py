"""The suites dbbench and db_mini: SQL on a database of each trial's own."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from hfr_bench import __version__
from hfr_bench.errors import BadInputError
from hfr_bench.model.breakage import Breakage
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.record import digest
from hfr_bench.model.task import OracleStep, Probe, SealedTask, TaskSpec
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import Sandbox, ToolHost
from hfr_bench.suites._selecting import check_one_way
from hfr_bench.suites.agentbench.dbbench import contracts, image
from hfr_bench.suites.agentbench.dbbench.catalog import (
    OWN,
    UPSTREAM,
    DbTask,
    content_digest,
    pools,
)
from hfr_bench.suites.agentbench.dbbench.contracts import EXECUTE, LOOK_UP
from hfr_bench.suites.agentbench.dbbench.dialect import for_mysql, for_sqlite
from hfr_bench.suites.agentbench.dbbench.image import ENGINES, MARIADB, SQLITE
from hfr_bench.suites.agentbench.dbbench.levels import level_of
from hfr_bench.suites.agentbench.dbbench.statements import read
from hfr_bench.suites.agentbench.dbbench.verifier import SqlVerifier
from hfr_bench.suites.agentbench.dbbench.world import DbWorld
from hfr_bench.suites.agentbench.source import ROOT

EXPOSURE = Exposure(bears=frozenset({Breakage.PAUSE}))
"""The host holds the answer and the open database: it outlives being frozen, and no more."""
_BY_KIND = ("select", "insert", "update", "delete")


class DbSuite:
    """Tasks on databases, in dbbench's format. What it is called says whose tasks they are.

    `engine`: sqlite, or in containers mariadb.
    Implements `ports.suite.Suite`, `ports.suite.Levelled`, `ports.verifier.Checked` and
    `ports.exposure.Bearing`.
    """

    name = OWN
    matrix = "sql"  # what `hfr-bench new` writes
    exposure = EXPOSURE

    def __init__(
        self, sandbox: Sandbox, data_dir: Path | None = None, engine: str = SQLITE
    ) -> None:
        if engine not in ENGINES:
            raise BadInputError(
                f"suite {self.name}: no engine {engine!r}; there are: {', '.join(ENGINES)}"
            )
        if engine != SQLITE and not sandbox.contained:
            raise BadInputError(
                f"suite {self.name}: the engine {engine} runs in containers alone "
                "(--sandbox docker)"
            )
        self._engine, self._sandbox = engine, sandbox
        self._data_dir = data_dir
        self._loaded: dict[str, Mapping[str, DbTask]] = {}
        self._checked = False

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        check_one_way(self.name, selection)
        self._check_host()
        if selection.pool:
            return tuple(task.public for task in self._pool(selection.pool))
        return tuple(self._task(task_id).public for task_id in selection.tasks)

    def sealed(self, task_id: str) -> SealedTask:
        return self._task(task_id).sealed

    def pin(self, selection: SuiteSelection) -> SourcePin:
        chosen = self.select(selection)
        rows = {task.task_id: self._task(task.task_id).row for task in chosen}
        graded = [[r.label, r.gold, r.answer_md5] for r in rows.values()]
        return SourcePin(
            suite=self.name,
            distribution="hfr-bench",
            version=f"{__version__}, {self.engine}",
            content_digest=content_digest(self.name),
            tasks=tuple(rows),
            task_digests={task.task_id: task.source_digest for task in chosen},
            domains={f"{self.name}.graded_by": digest(graded)},
        )

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        return contracts.landed(predicate, before, after, arguments)

    def level_of(self, tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
        """Of this very statement; None where the tool's own stands."""
        query = arguments.get("query")
        return level_of(read(query)) if tool == EXECUTE and isinstance(query, str) else None

    def verifier(self, task: TaskSpec) -> SqlVerifier:
        """Strategy-side checks; they know what the agent knows."""
        return SqlVerifier(task)

    def probes(self) -> tuple[Probe, ...]:
        return ()

    def open(self) -> DbWorld:
        return DbWorld(
            self._start(), self._task, for_mysql if self._engine == MARIADB else for_sqlite
        )

    def close(self) -> None:
        self._sandbox.close()

    @cached_property
    def engine(self) -> str:
        """What database the hosts hold; a host is started to ask it."""
        host = self._start()
        try:
            return str(host.request("hello", {}, 60.0)["engine"])
        finally:
            host.close()

    def _start(self) -> ToolHost:
        return self._sandbox.start(image.command(self.name, self._engine, self._sandbox.contained))

    def _check_host(self) -> None:
        """Start a host once before the first trial, so that its image is there."""
        if not self._checked:
            self._checked = bool(self.engine)

    def _file(self, name: str) -> Mapping[str, DbTask]:
        if name not in self._loaded:
            tasks = pools(self.name, self._data_dir)[name]()
            self._loaded[name] = {task.public.task_id: task for task in tasks}
        return self._loaded[name]

    def _pool(self, name: str) -> tuple[DbTask, ...]:
        files = tuple(pools(self.name, self._data_dir))
        if name in files:
            return tuple(self._file(name).values())
        if name in ("base", "all"):
            return tuple(self._file(files[0]).values())
        if name in _BY_KIND:
            return tuple(t for t in self._file(files[0]).values() if t.public.stratum == name)
        offered = ", ".join(("base", *files, *_BY_KIND))
        raise BadInputError(f"suite {self.name} has no pool {name!r}; there are: {offered}")

    def _task(self, task_id: str) -> DbTask:
        files = tuple(pools(self.name, self._data_dir))
        chosen = task_id.partition("-")[0]
        tasks = self._file(chosen if chosen in files else files[0])
        if task_id not in tasks:
            raise BadInputError(
                f"suite {self.name} has no task {task_id!r}; there are {len(tasks)}, "
                f"such as {next(iter(tasks), 'none')!r}"
            )
        return tasks[task_id]


class DbMiniSuite(DbSuite):
    """db_mini: eight small tasks of our own, by dbbench's rule; never dbbench itself."""

    name = OWN

    def __init__(self, sandbox: Sandbox, engine: str = SQLITE) -> None:
        super().__init__(sandbox, engine=engine)

    def probes(self) -> tuple[Probe, ...]:
        """The read of the contract, which no solution makes, of what each solution does."""
        found = []
        for task in self._pool("base"):
            query = {"query": task.row.gold}
            step = OracleStep(actor="agent", tool=LOOK_UP, arguments=query)
            found.append(Probe(task_id=task.public.task_id, steps=(step,)))
        return tuple(found)

    @staticmethod
    def diagnose() -> Diagnosis:
        """It needs nothing but Python."""
        return Diagnosis(True, "its tool host runs on Python's standard library")


class DbBenchSuite(DbSuite):
    """dbbench: AgentBench's tasks on databases, from a user's checkout.

    `data_dir`: the checkout; without, it is named by the environment (`source.ROOT`).
    """

    name = UPSTREAM

    @staticmethod
    def diagnose() -> Diagnosis:
        """It looks at nothing: where the checkout is may be said with each command."""
        return Diagnosis(None, f"its tasks are read from a checkout ({ROOT} or --data-dir)")
