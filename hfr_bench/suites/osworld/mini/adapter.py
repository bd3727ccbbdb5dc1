"""The `Suite` of desk_mini: files and commands on a desk, judged by OSWorld's evaluators."""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from hfr_bench import __version__
from hfr_bench.errors import BadInputError
from hfr_bench.model.breakage import Breakage
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.task import OracleStep, Probe, SealedTask, TaskSpec
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import FaultyHost, Sandbox
from hfr_bench.suites.osworld import contracts
from hfr_bench.suites.osworld.actions import DONE
from hfr_bench.suites.osworld.desk import ShellDesk
from hfr_bench.suites.osworld.desktop import Desktop
from hfr_bench.suites.osworld.episode import DeskWorld
from hfr_bench.suites.osworld.exposed import suite_exposure
from hfr_bench.suites.osworld.halves import DeskTask
from hfr_bench.suites.osworld.image import Profile
from hfr_bench.suites.osworld.judging import Judging
from hfr_bench.suites.osworld.machine import guest_world, machine_of
from hfr_bench.suites.osworld.mini import catalog, image
from hfr_bench.suites.osworld.mini.catalog import SUITE
from hfr_bench.suites.osworld.observe import Observer
from hfr_bench.suites.osworld.on_a_desk import OnADesk, finish, no_time

NEEDED = ("bash", "awk", "sed", "find", "python3")
EXPOSURE = Exposure(
    bears=frozenset(
        (
            *(Breakage.PAUSE, Breakage.STALL, Breakage.CRASH),
            *(Breakage.DISK_FULL, Breakage.OOM, Breakage.RESTART),
        )
    ),
    scratch="/sandbox",
)
"""Of the profile shell; it has no network, no repository and no screen."""
SHELL, GUEST, GUI = "shell", "guest", "gui"
PROFILES = (SHELL, GUEST, GUI)
"""A folder and a shell; OSWorld's guest without a screen; with one, in a container."""


class DeskMiniSuite(OnADesk):
    """desk_mini: work on a small desk of our own, by OSWorld's rules; never OSWorld itself.

    Implements `ports.suite.Suite`, `ports.suite.Levelled`, `ports.suite.Controlled`,
    `ports.suite.Declinable`, `ports.verifier.Checked` and `ports.exposure.Bearing`. Pools: all,
    base (both all), demo, infeasible, and one a kind of task. Settings: `profile`, see PROFILES;
    `keep`: a folder for pictures and trees of the screen; `url`, `reset`: a machine of the user's
    own in place of the guest (profiles guest and gui), see `machine.py`. Raises BadInputError.
    """

    name = SUITE
    matrix = "desk"  # what `hfr-bench new` writes

    @staticmethod
    def diagnose() -> Diagnosis:
        """For `hfr-bench doctor`."""
        lacks = [name for name in NEEDED if shutil.which(name) is None]
        if lacks:
            return Diagnosis(
                None,
                f"lacks {', '.join(lacks)} here: its commands run in docker alone",
                f"apt-get install {' '.join(lacks)}",
            )
        return Diagnosis(True, "its desk is a folder and a shell; in docker it brings its own")

    def __init__(
        self,
        sandbox: Sandbox,
        profile: str = SHELL,
        keep: str = "",
        url: str = "",
        reset: str = "",
    ) -> None:
        if profile not in PROFILES:
            raise BadInputError(
                f"suite {SUITE}: no profile {profile!r}; there are: {', '.join(PROFILES)}"
            )
        if url and profile == SHELL:
            raise BadInputError(f"suite {SUITE}: `url` goes with profile {GUEST} or {GUI}")
        self._machine = machine_of(url, reset)
        if profile == GUI and not (sandbox.contained or self._machine):
            raise BadInputError(
                f"suite {SUITE}: profile {GUI} needs containers: use --sandbox docker, or profile "
                f"{SHELL}"
            )
        self._sandbox = sandbox
        self._profile = profile
        self._keep = Path(keep) if keep else None
        self._guest = Profile.GUI if profile == GUI else Profile.SHELL
        self.exposure = EXPOSURE if profile == SHELL else suite_exposure(self._guest)
        if self._machine:
            self.exposure = Exposure()
        found = catalog.settings()
        self._timeout_s = float(found["command_timeout_s"])
        self._pools: dict[str, list[str]] = found["pools"]
        self._checked = False
        self._own: DeskWorld | None = None

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        if bool(selection.pool) == bool(selection.tasks):
            raise BadInputError(f"suite {SUITE}: name either a `pool` or `tasks`, one of the two")
        ids = self._pool(selection.pool) if selection.pool else selection.tasks
        known = self._tasks()
        for task_id in ids:
            if task_id not in known:
                raise BadInputError(
                    f"suite {SUITE} has no task {task_id!r}; there are: {', '.join(known)}"
                )
        self._check_here()
        return tuple(known[task_id].public for task_id in ids)

    def sealed(self, task_id: str) -> SealedTask:
        return self._tasks()[task_id].sealed

    def pin(self, selection: SuiteSelection) -> SourcePin:
        chosen = self.select(selection)
        return SourcePin(
            suite=SUITE,
            distribution="hfr-bench",
            version=f"{__version__}, profile {self._profile}"
            + (f", {self._machine.told}" if self._machine else ""),
            content_digest=catalog.content_digest(),
            tasks=tuple(task.task_id for task in chosen),
            task_digests={task.task_id: task.source_digest for task in chosen},
        )

    def controls(self, task_id: str) -> tuple[str, ...]:
        """The solution meets it, also by the letter; neither DONE nor FAIL alone does.

        Of a task that cannot be done, FAIL alone does.
        """
        world = self._own = self._own or self.open()
        task = self._tasks()[task_id]
        wanted = {
            "its solution": (task.sealed.oracle, 1.0),
            "DONE alone": ((finish(DONE),), 0.0),
            "FAIL alone": ((self.gives_up,), float(task.infeasible)),
            "FAIL behind its solution": (
                (*task.sealed.oracle, self.gives_up),
                float(task.infeasible),
            ),
        }
        wrong = []
        for what, (steps, score) in wanted.items():
            graded = _played(world, task_id, steps)
            if graded.official != score:
                wrong.append(f"{task_id}: {what} scores {graded.official:g}, not {score:g}")
        return tuple(wrong)

    def probes(self) -> tuple[Probe, ...]:
        """Tools that no oracle uses, each tried once a kind of task."""
        first: dict[str, DeskTask] = {}
        for task in self._tasks().values():
            first.setdefault(task.public.domain, task)
        return tuple(
            Probe(
                task_id=task.public.task_id,
                steps=(OracleStep(actor="agent", tool=tool, arguments=dict(given)),),
            )
            for task in first.values()
            for tool, given in _PROBES.items()
        )

    def open(self) -> DeskWorld:
        if self._profile == SHELL:
            host = self._sandbox.start(image.command(self._sandbox.contained))
            return MiniWorld(ShellDesk(host, image.FIXED), self._timeout_s)
        gui = self._profile == GUI
        judging = Judging(time.sleep if gui else no_time, _expected)
        return guest_world(
            self._machine or (lambda: Desktop.start(self._sandbox, self._guest)),
            self._guest,
            lambda task_id: self._tasks()[task_id],
            judging,
            self._timeout_s,
            Observer(self._keep),
        )

    def close(self) -> None:
        if self._own is not None:
            self._own.close()
        self._sandbox.close()

    def _tasks(self) -> Mapping[str, DeskTask]:
        return catalog.tasks(self._profile == GUI)

    def _pool(self, name: str) -> tuple[str, ...]:
        known = self._tasks()
        kinds = sorted({task.public.domain for task in known.values()})
        if name in ("all", "base"):
            return tuple(known)
        if name in self._pools:
            return tuple(self._pools[name])
        if name in kinds:
            return tuple(i for i, task in known.items() if task.public.domain == name)
        offered = ", ".join(("all", "base", *self._pools, *kinds))
        raise BadInputError(f"suite {SUITE} has no pool {name!r}; there are: {offered}")

    def _check_here(self) -> None:
        """What desks need, before the first trial: programs here, or the image.

        Raises BadInputError.
        """
        if self._checked:
            return
        if self._machine:
            self._machine.check()
        elif self._profile != SHELL:
            Desktop.start(self._sandbox, self._guest).close()
        elif self._sandbox.contained:
            self._sandbox.start(image.command(contained=True)).close()
        elif lacks := [name for name in NEEDED if shutil.which(name) is None]:
            raise BadInputError(
                f"suite {SUITE}: no {', '.join(lacks)} here; install it, or use --sandbox docker"
            )
        self._checked = True


class MiniWorld(DeskWorld):
    """A desk of ours. Implements `ports.exposure.Exposed` where its host can be broken."""

    exposure = EXPOSURE

    def __init__(self, desk: ShellDesk, timeout_s: float) -> None:
        judging = Judging(no_time, _expected)
        super().__init__(
            desk, lambda task_id: catalog.tasks()[task_id], judging.begin, judging.judge, timeout_s
        )
        self._mine = desk

    @property
    def host(self) -> FaultyHost:
        """The agent's host."""
        return cast("FaultyHost", self._mine.host)


def _expected(_task: DeskTask) -> Path:
    """The files that evaluators hold a desk's against."""
    return catalog.folder() / "expected"


_PROBES: Mapping[str, Mapping[str, Any]] = {
    contracts.LIST: {"path": "."},
    contracts.TERMINAL: {},
    contracts.WAIT: {},
    contracts.READ: {"path": "nothing.txt"},
    contracts.LOG: {"tool": contracts.EXECUTE, "command": "ls"},
    contracts.WRITE: {"path": "made/new.txt", "text": "a line\n"},
    contracts.APPEND: {"path": "made/new.txt", "text": "a line\n"},
}
"""What each is tried with, at the start of a kind's first task."""


def _played(world: DeskWorld, task_id: str, steps: Sequence[OracleStep]) -> Any:
    world.reset(task_id)
    for step in steps:
        world.execute(step.tool, step.arguments, actor="agent", operation_id="control")
    return world.grade(())
