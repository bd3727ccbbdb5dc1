"""The `Suite` of OSWorld: its own tasks, from the user's checkout, on our container desktop."""

import json
import os
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hfr_bench import __version__, content
from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.record import digest
from hfr_bench.model.task import Probe, SealedTask, TaskSpec
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.suites.osworld.actions import DONE, FAIL
from hfr_bench.suites.osworld.classify import Equipment, needs_of, task_lacks
from hfr_bench.suites.osworld.desktop import Desktop
from hfr_bench.suites.osworld.episode import DeskWorld
from hfr_bench.suites.osworld.exposed import suite_exposure
from hfr_bench.suites.osworld.halves import DeskTask, desk_task, read_tools
from hfr_bench.suites.osworld.image import Profile
from hfr_bench.suites.osworld.judging import Judging
from hfr_bench.suites.osworld.load import Checkout, find_checkout, load
from hfr_bench.suites.osworld.machine import RESET, URL, guest_world, machine_of
from hfr_bench.suites.osworld.observe import Observer
from hfr_bench.suites.osworld.on_a_desk import OnADesk, finish, no_time
from hfr_bench.suites.osworld.tasks import Record

SUITE = "osworld"
RUNNABLE = "runnable"
"""The pool of the tasks that lack nothing here."""
PROFILES = {"guest": Profile.SHELL, "gui": Profile.GUI}
_SHOWN = 3
_SUDO = re.compile(r"\bsudo\b")


class OsworldSuite(OnADesk):
    """OSWorld's tasks. Nothing of them is shipped, and nothing is downloaded.

    Implements `ports.suite.Suite`, `ports.suite.Levelled`, `ports.suite.Declinable`,
    `ports.verifier.Checked` and `ports.exposure.Bearing`. Settings: `root`, the checkout
    (`data_dir` goes before it; else HFR_BENCH_OSWORLD_ROOT); `profile`, gui or guest (without a
    screen); `keep`, a folder for pictures and trees; `url`: a machine of the user's own in place of
    our guests (else HFR_BENCH_OSWORLD_URL), `reset`: what puts it back (else
    HFR_BENCH_OSWORLD_RESET), see `machine.py`. Pools: those of the checkout (`all`, ...), a
    domain's name, and `runnable`. Raises BadInputError.
    """

    name = SUITE
    matrix = "desk_screen"

    @staticmethod
    def diagnose() -> Diagnosis:
        """For `hfr-bench doctor`."""
        try:
            found = find_checkout()
            count = len(load(found))
        except BadInputError as error:
            return Diagnosis(None, "its tasks are read from a checkout of OSWorld", str(error))
        return Diagnosis(True, f"{count} tasks in {found.examples}")

    def __init__(
        self,
        sandbox: Sandbox,
        root: str = "",
        profile: str = "gui",
        keep: str = "",
        url: str = "",
        reset: str = "",
        data_dir: Path | None = None,
    ) -> None:
        if profile not in PROFILES:
            raise BadInputError(
                f"suite {SUITE}: no profile {profile!r}; there are: {', '.join(PROFILES)}"
            )
        self._machine = machine_of(
            url or os.environ.get(URL, ""), reset or os.environ.get(RESET, "")
        )
        if profile == "gui" and not (sandbox.contained or self._machine):
            raise BadInputError(
                f"suite {SUITE}: profile gui needs containers: use --sandbox docker, profile "
                f"guest, or a machine of your own ({URL})"
            )
        self._sandbox, self._profile = sandbox, PROFILES[profile]
        self.exposure = Exposure() if self._machine else suite_exposure(self._profile)
        self._keep = Path(keep) if keep else None
        self._root = data_dir or root
        self._found: Checkout | None = None
        self._settings: Mapping[str, Any] = content.read_yaml(_folder() / "suite.yaml")
        self._tasks: dict[str, DeskTask] = {}
        self._checked = False

    @property
    def _checkout(self) -> Checkout:
        if self._found is None:
            self._found = find_checkout(self._root or None)
        return self._found

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        if bool(selection.pool) == bool(selection.tasks):
            raise BadInputError(f"suite {SUITE}: name either a `pool` or `tasks`, one of the two")
        records = self._records(selection)
        if lacking := {one.id: why for one in records if (why := self.lacks(one))}:
            raise BadInputError(self._cannot(records, lacking))
        for record in records:
            self._tasks.setdefault(record.id, self._task(record))
        if not self._checked:  # the image is made before the first trial
            if self._machine:
                self._machine.check()
            else:
                Desktop.start(self._sandbox, self._profile).close()
            self._checked = True
        return tuple(self._tasks[record.id].public for record in records)

    def lacks(self, record: Record) -> tuple[str, ...]:
        """What keeps a task from being run here, in words; () = nothing."""
        gui = self._profile is Profile.GUI
        apps = None if self._machine else frozenset(self._settings["apps"] if gui else ("os",))
        why = list(task_lacks(record, Equipment(apps=apps, cache=self._checkout.cache)))
        if not gui and needs_of(record).reads == "desktop":
            why.append("it is graded by what is on a screen")
        # Its failure would not be told: the guest answers 200, and the desk would start otherwise.
        text = json.dumps([list(record.config), dict(record.sealed)])
        if not self._machine and _SUDO.search(text):
            why.append("it takes sudo, and nobody has more rights than others here")
        return tuple(why)

    def sealed(self, task_id: str) -> SealedTask:
        return self._known(task_id).sealed

    def pin(self, selection: SuiteSelection) -> SourcePin:
        chosen = self.select(selection)
        return SourcePin(
            suite=SUITE,
            distribution="OSWorld (a checkout)",
            version=f"hfr-bench {__version__}, profile {self._profile}"
            + (f", {self._machine.told}" if self._machine else ""),
            content_digest=digest({task.task_id: task.source_digest for task in chosen}),
            tasks=tuple(task.task_id for task in chosen),
            task_digests={task.task_id: task.source_digest for task in chosen},
        )

    def probes(self) -> tuple[Probe, ...]:
        return ()

    def open(self) -> DeskWorld:
        gui = self._profile is Profile.GUI
        cache = self._checkout.cache
        judging = Judging(time.sleep if gui else no_time, lambda task: cache / task.public.task_id)
        return guest_world(
            self._machine or (lambda: Desktop.start(self._sandbox, self._profile)),
            self._profile,
            self._known,
            judging,
            float(self._settings["command_timeout_s"]),
            Observer(self._keep),
        )

    def close(self) -> None:
        self._sandbox.close()

    # -- tasks ---------------------------------------------------------------------------------

    def _records(self, selection: SuiteSelection) -> Sequence[Record]:
        """The chosen records. Raises BadInputError."""
        checkout, pool = self._checkout, selection.pool
        if selection.tasks:
            return load(checkout, ids=selection.tasks)
        if pool in checkout.pools:
            return load(checkout, str(pool))
        every = load(checkout)
        if pool in (RUNNABLE, "base"):  # `hfr-bench new` writes the latter
            found = [record for record in every if not self.lacks(record)]
        else:
            found = [record for record in every if record.problem.domain == pool]
        if not found:
            domains = dict.fromkeys(record.problem.domain for record in every)
            offered = ", ".join((*checkout.pools, RUNNABLE, *domains))
            raise BadInputError(f"suite {SUITE} has no tasks in pool {pool!r}; pools: {offered}")
        return found

    def _cannot(self, records: Sequence[Record], lacking: Mapping[str, Sequence[str]]) -> str:
        counted = Counter(why for whys in lacking.values() for why in whys)
        shown = [f"{task}: {'; '.join(why)}" for task, why in list(lacking.items())[:_SHOWN]]
        most = ", ".join(f"{why} ({count})" for why, count in counted.most_common(_SHOWN))
        said = (
            f"suite {SUITE}: {len(lacking)} of the {len(records)} chosen tasks lack something "
            f"here; mostly: {most}. Choose others, or the pool {RUNNABLE}"
        )
        return "\n".join((said, *shown))

    def _known(self, task_id: str) -> DeskTask:
        if task_id not in self._tasks:
            (record,) = load(self._checkout, ids=(task_id,))
            self._tasks[task_id] = self._task(record)
        return self._tasks[task_id]

    def _task(self, record: Record) -> DeskTask:
        """Nobody has written down how OSWorld's tasks are solved, but of those that cannot be."""
        last = finish(DONE if record.evaluator.feasible else FAIL)
        row = {
            "id": record.id,
            "instruction": record.problem.instruction,
            "related_apps": list(record.problem.apps),
            "config": list(record.config),
            "evaluator": record.sealed,
        }
        return desk_task(
            row,
            suite=SUITE,
            domain=record.problem.domain,
            tools=read_tools(
                content.root() / "suites" / "desk_mini" / "tools.yaml",
                screen=self._profile is Profile.GUI,
            ),
            deadline_s=float(self._settings["deadline_s"]),
            oracle=({last.tool: last.arguments},),
            where=record.where,
        )


def _folder() -> Path:
    return content.root() / "suites" / SUITE
