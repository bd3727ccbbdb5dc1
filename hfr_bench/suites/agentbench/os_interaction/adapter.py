"""The suites os_interaction and os_mini: shell scripts in a sandbox."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hfr_bench import __version__
from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.record import digest
from hfr_bench.model.task import OracleStep, Probe, SealedTask, TaskSpec
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.shell import ran
from hfr_bench.shell.ran import STATUS
from hfr_bench.suites._selecting import check_one_way
from hfr_bench.suites.agentbench.os_interaction import catalog, image
from hfr_bench.suites.agentbench.os_interaction.catalog import DEV, OWN, UPSTREAM, OsTask
from hfr_bench.suites.agentbench.os_interaction.contracts import BASH
from hfr_bench.suites.agentbench.os_interaction.levels import level_of
from hfr_bench.suites.agentbench.os_interaction.room import OsRoom
from hfr_bench.suites.agentbench.os_interaction.verifier import ScriptVerifier
from hfr_bench.suites.agentbench.os_interaction.world import EXPOSURE, OsWorld
from hfr_bench.suites.agentbench.source import ROOT

_KINDS = ("answer", "found", "state")


class OsSuite:
    """Tasks in a shell, in os_interaction's format. What it is called says whose tasks they are.

    Implements `ports.suite.Suite`, `ports.suite.Levelled`, `ports.verifier.Checked` and
    `ports.exposure.Bearing`.
    """

    name = OWN
    matrix = "os"  # what `hfr-bench new` writes
    exposure = EXPOSURE
    files: tuple[str, ...] = ("own",)
    whole = False
    """Whether a task's world is the whole system, which then is thrown away after it."""

    def __init__(self, sandbox: Sandbox, data_dir: Path | None = None) -> None:
        self._sandbox = sandbox
        self._data_dir = data_dir
        self._loaded: dict[str, Mapping[str, OsTask]] = {}
        self._found: dict[str, str] = {}
        self._checked = False

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        check_one_way(self.name, selection)
        self._check_host()
        if selection.pool:
            return tuple(task.public for task in self._pool(selection.pool))
        return tuple(self._task(task_id).public for task_id in selection.tasks)

    def sealed(self, task_id: str) -> SealedTask:
        """Where only the solution tells the answer, it is run once, in a world of its own."""
        task = self._task(task_id)
        if task.row.answered_by_example and task_id not in self._found:
            world = self.open()
            try:
                self._found[task_id] = world.solve(task_id).strip()
            finally:
                world.close()
        return catalog.sealed(self.name, task, self._found.get(task_id))

    def pin(self, selection: SuiteSelection) -> SourcePin:
        chosen = self.select(selection)
        rows = [self._task(task.task_id).row for task in chosen]
        graded = [repr((row.match, row.check, row.example, row.commands)) for row in rows]
        return SourcePin(
            suite=self.name,
            distribution="hfr-bench",
            version=__version__,
            content_digest=catalog.content_digest(self.name),
            tasks=tuple(task.task_id for task in chosen),
            task_digests={task.task_id: task.source_digest for task in chosen},
            domains={f"{self.name}.graded_by": digest(graded)},
        )

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        return ran.landed(predicate, before, after, arguments)

    def level_of(self, tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
        """Of this very script; None where the tool's own stands."""
        script = arguments.get("script")
        return level_of(script) if tool == BASH and isinstance(script, str) else None

    def verifier(self, task: TaskSpec) -> ScriptVerifier:
        """Strategy-side checks of scripts; they know what the agent knows."""
        return ScriptVerifier(task)

    def probes(self) -> tuple[Probe, ...]:
        return ()

    def open(self) -> OsWorld:
        timeout_s = float(catalog.settings(self.name)["script_timeout_s"])
        return OsWorld(self._task, self._start, timeout_s, fresh=self.whole)

    def close(self) -> None:
        self._sandbox.close()

    def _start(self) -> OsRoom:
        host = self._sandbox.start(image.command(self.name, self._sandbox.contained))
        return OsRoom(host, whole=self.whole)

    def _check_host(self) -> None:
        """What scripts need, before the first trial. Raises BadInputError."""
        if self._checked:
            return
        if self.whole and not self._sandbox.contained:
            raise BadInputError(
                f"suite {self.name}: its tasks change a whole system as root and run in docker "
                f"alone (--sandbox docker); {OWN}, our own pack, runs anywhere"
            )
        self._start().close()
        self._checked = True

    def _file(self, name: str) -> Mapping[str, OsTask]:
        if name not in self._loaded:
            self._loaded[name] = catalog.load(self.name, name, self._data_dir)
        return self._loaded[name]

    def _pool(self, name: str) -> tuple[OsTask, ...]:
        """Tasks that lack something here are in no pool."""
        first = self.files[0]
        file = name if name in self.files else first
        tasks = [task for task in self._file(file).values() if not task.lacks]
        if name in (*self.files, "base", "all"):
            return tuple(tasks)
        if name in _KINDS:
            return tuple(task for task in tasks if task.public.stratum == name)
        offered = ", ".join(("base", *self.files, *_KINDS))
        raise BadInputError(f"suite {self.name} has no pool {name!r}; there are: {offered}")

    def _task(self, task_id: str) -> OsTask:
        first = self.files[0]
        tasks = self._file(DEV if task_id.startswith(f"{DEV}-") and DEV in self.files else first)
        task = tasks.get(task_id)
        if task is None:
            raise BadInputError(
                f"suite {self.name} has no task {task_id!r}; there are {len(tasks)}, "
                f"such as {next(iter(tasks), 'none')!r}"
            )
        if task.lacks:
            why = catalog.WHY[task.lacks]
            raise BadInputError(f"{task.row.where}: task {task_id} {why}; choose another")
        return task


class OsMiniSuite(OsSuite):
    """os_mini: small tasks of our own, by os_interaction's rule; never os_interaction itself."""

    name = OWN

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox)

    def probes(self) -> tuple[Probe, ...]:
        """The read of the contract, which no solution makes."""
        first = next(iter(self._pool("base")))
        asked = {"script": first.row.commands[0]}
        step = OracleStep(actor="agent", tool=STATUS, arguments=asked)
        return (Probe(task_id=first.public.task_id, steps=(step,)),)

    @staticmethod
    def diagnose() -> Diagnosis:
        """It needs a bash where its scripts run on this machine."""
        if shutil.which("bash") is None:
            return Diagnosis(None, "no bash here: it runs in docker alone", "apt-get install bash")
        return Diagnosis(True, "bash is here; in docker it brings its own")


class OsInteractionSuite(OsSuite):
    """os_interaction: AgentBench's tasks in a shell, from a user's checkout; in docker alone.

    `data_dir`: the checkout; without, it is named by the environment (`source.ROOT`).
    """

    name = UPSTREAM
    files = ("std", DEV)
    whole = True

    @staticmethod
    def diagnose() -> Diagnosis:
        """It looks at nothing: where the checkout is may be said with each command."""
        return Diagnosis(None, f"its tasks are read from a checkout ({ROOT} or --data-dir)")
