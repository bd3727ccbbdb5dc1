"""The `Suite` of swe_mini: commands in a sandbox, graded in another one."""

import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, cast

from hfr_bench import __version__
from hfr_bench.errors import BadInputError
from hfr_bench.model.breakage import Breakage
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.task import Probe, SealedTask, TaskSpec
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import FaultyHost, Sandbox
from hfr_bench.shell import ran
from hfr_bench.suites._selecting import chosen
from hfr_bench.suites.swe_bench.grade import GRADER
from hfr_bench.suites.swe_bench.grading import Grader
from hfr_bench.suites.swe_bench.mini import catalog
from hfr_bench.suites.swe_bench.mini.catalog import SUITE, MiniTask
from hfr_bench.suites.swe_bench.mini.repository import MiniRoom
from hfr_bench.suites.swe_bench.room import HOLDS
from hfr_bench.suites.swe_bench.verifier import CommandVerifier, level_of_call
from hfr_bench.suites.swe_bench.world import RepoWorld, Workplace

CONTROLS = 3
"""How often a task's fix is graded anew by `validate`."""
EXTRA = "pip install 'hfr-bench[swe-mini]'"
EXPOSURE = Exposure(
    bears=frozenset(Breakage) - {Breakage.PARTITION},  # it has no network
    scratch="/sandbox",
    repository="/sandbox/testbed",
    holds=HOLDS,
)


class SweMiniSuite:
    """swe_mini: twelve small tasks of our own, by SWE-bench's rule; never SWE-bench itself.

    Implements `ports.suite.Suite`, `ports.suite.Levelled`, `ports.suite.Controlled`,
    `ports.verifier.Checked` and `ports.exposure.Bearing`. Pools: all, base (both all twelve), demo,
    and one a repository.
    """

    name = SUITE
    agent, matrix = "bash", "shell"  # what `hfr-bench new` writes
    exposure = EXPOSURE

    @staticmethod
    def diagnose() -> Diagnosis:
        """For `hfr-bench doctor`."""
        lacks = [name for name in ("git", "patch", "bash") if shutil.which(name) is None]
        if find_spec("pytest") is None:
            return Diagnosis(False, f"no pytest for {sys.executable}", EXTRA)
        if lacks:
            return Diagnosis(
                None,
                f"lacks {', '.join(lacks)} here: its commands run in docker alone",
                f"apt-get install {' '.join(lacks)}",
            )
        return Diagnosis(True, "git, patch and pytest are here; in docker it brings its own")

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        found = catalog.settings()
        self._timeout_s = float(found["command_timeout_s"])
        self._pools: dict[str, list[str]] = found["pools"]
        self._grader = Grader(
            self._fresh, lambda _: sandbox.image_id or "process", float(found["eval_timeout_s"])
        )
        self._checked = False

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        known = catalog.tasks()
        repos = {task_id: task.public.domain for task_id, task in known.items()}
        ids = chosen(SUITE, selection, repos, self._pools)
        self._check_host()
        return tuple(known[task_id].public for task_id in ids)

    def sealed(self, task_id: str) -> SealedTask:
        return catalog.tasks()[task_id].sealed

    def pin(self, selection: SuiteSelection) -> SourcePin:
        tasks = self.select(selection)
        return SourcePin(
            suite=SUITE,
            distribution="hfr-bench",
            version=f"{__version__}, {GRADER}",
            content_digest=catalog.content_digest(),
            tasks=tuple(task.task_id for task in tasks),
            task_digests={task.task_id: task.source_digest for task in tasks},
        )

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        return ran.landed(predicate, before, after, arguments)

    def level_of(self, tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
        """Of this very command; None where the tool's own stands."""
        return level_of_call(tool, arguments)

    def verifier(self, task: TaskSpec) -> CommandVerifier:
        """Strategy-side checks of commands and what they leave; they know what the agent knows."""
        return CommandVerifier(task, catalog.project(task.task_id))

    def controls(self, task_id: str) -> tuple[str, ...]:
        """The fix is resolved, each time; nothing done is not, and breaks no other test."""
        return self._grader.controls(catalog.tasks()[task_id], CONTROLS)

    def probes(self) -> tuple[Probe, ...]:
        return ()

    def open(self) -> "MiniWorld":
        room = MiniRoom(self._sandbox, persists=True)
        return MiniWorld(room, self._grader, self._timeout_s)

    def close(self) -> None:
        self._sandbox.close()

    def _fresh(self, task: MiniTask) -> MiniRoom:
        room = MiniRoom(self._sandbox)
        try:
            room.make(task)
        except BaseException:
            room.close()
            raise
        return room

    def _check_host(self) -> None:
        """What commands need here, before the first trial. Raises BadInputError.

        In a container the image brings it; making it is then done before the first trial, too.
        """
        if self._checked:
            return
        if self._sandbox.contained:
            MiniRoom(self._sandbox, persists=True).close()
        else:
            _check_here()
        self._checked = True


class MiniWorld(RepoWorld[MiniTask]):
    """One agent's host and the grader behind it.

    Implements `ports.suite.World` and, in a sandbox whose hosts can be broken,
    `ports.exposure.Exposed`.
    """

    exposure = EXPOSURE

    def __init__(self, room: MiniRoom, grader: Grader[MiniTask], timeout_s: float) -> None:
        def made(task: MiniTask, _room: Workplace | None) -> MiniRoom:
            room.make(task)
            return room

        super().__init__(lambda task_id: catalog.tasks()[task_id], made, grader, timeout_s)
        self._room = self._mine = room

    @property
    def host(self) -> FaultyHost:
        """The agent's host."""
        return cast("FaultyHost", self._mine.host)


def _check_here() -> None:
    """Raises BadInputError if this machine lacks what commands and tests need."""
    for name in ("git", "patch", "bash"):
        if shutil.which(name) is None:
            raise BadInputError(
                f"suite {SUITE}: no {name} here; install it, or use --sandbox docker"
            )
    if find_spec("pytest") is None:
        raise BadInputError(f"suite {SUITE}: {sys.executable} has no pytest: {EXTRA}")
