"""The `Suite` of web_mini: a browser before four small sites, and their database as the witness."""

from collections.abc import Callable, Mapping
from typing import Any

from hfr_bench import __version__
from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.task import OracleStep, Probe, SealedTask, TaskSpec
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.suites._selecting import chosen
from hfr_bench.suites.webarena.acting import contracts
from hfr_bench.suites.webarena.acting.verifier import ActionVerifier
from hfr_bench.suites.webarena.browse.browser import lacking
from hfr_bench.suites.webarena.browse.chromium import ChromiumDriver
from hfr_bench.suites.webarena.browse.driver import Driver
from hfr_bench.suites.webarena.browse.http import HttpDriver
from hfr_bench.suites.webarena.mini import catalog, content, image
from hfr_bench.suites.webarena.mini.content import SUITE
from hfr_bench.suites.webarena.mini.world import WebWorld

DRIVERS: dict[str, Callable[[], Driver]] = {"http": HttpDriver, "chromium": ChromiumDriver}


class WebMiniSuite:
    """web_mini: browsing four small sites of our own, by WebArena's rules; never WebArena itself.

    Implements `ports.suite.Suite`, `ports.suite.Levelled`, `ports.suite.Controlled` and
    `ports.verifier.Checked`. Settings: `driver` (http, chromium). Pools: all, base (both all),
    demo, and one a site. Raises BadInputError for an unknown driver.
    """

    name = SUITE

    @staticmethod
    def diagnose() -> Diagnosis:
        """It needs nothing; a real browser is on top."""
        lacks = lacking()
        more = "a real browser is here, too" if lacks is None else f"its driver http alone: {lacks}"
        return Diagnosis(True, f"its sites run on Python's standard library; {more}")

    def __init__(self, sandbox: Sandbox, driver: str = "http") -> None:
        if driver not in DRIVERS:
            raise BadInputError(
                f"suite {SUITE}: no driver {driver!r}; there are: {', '.join(DRIVERS)}"
            )
        self._sandbox = sandbox
        self._driver = driver
        self._pools: dict[str, list[str]] = content.settings()["pools"]
        self._checked = False
        self._own: WebWorld | None = None

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        known = catalog.tasks()
        sites = {task_id: task.site for task_id, task in known.items()}
        ids = chosen(SUITE, selection, sites, self._pools)
        if self._driver == "chromium" and (lacks := lacking()) is not None:
            raise BadInputError(f"suite {SUITE}: {lacks}; or choose the driver http")
        if not self._checked:  # the image is made before the first trial
            self._sandbox.start(image.command(self._sandbox.contained)).close()
            self._checked = True
        return tuple(known[task_id].public for task_id in ids)

    def sealed(self, task_id: str) -> SealedTask:
        return catalog.tasks()[task_id].sealed

    def pin(self, selection: SuiteSelection) -> SourcePin:
        tasks = self.select(selection)
        return SourcePin(
            suite=SUITE,
            distribution="hfr-bench",
            version=f"{__version__}, driver {self._driver}",
            content_digest=content.content_digest(),
            tasks=tuple(task.task_id for task in tasks),
            task_digests={task.task_id: task.source_digest for task in tasks},
        )

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        return contracts.landed(predicate, before, after, arguments)

    def level_of(self, tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
        """Of this very action; None where the tool's own stands."""
        return contracts.level_of(tool, arguments, content.offer().button)

    def verifier(self, task: TaskSpec) -> ActionVerifier:
        """Strategy-side checks of actions; they know what a runtime with a browser can see."""
        return ActionVerifier(task, content.offer())

    def controls(self, task_id: str) -> tuple[str, ...]:
        """By the oracle both rules and the database agree; doing nothing changes nothing."""
        if self._own is None:
            self._own = self.open()
        world, task = self._own, catalog.tasks()[task_id]
        world.reset(task_id)
        idle = world.grade(())
        world.reset(task_id)
        for step in task.sealed.oracle:
            world.execute(step.tool, step.arguments, actor="agent", operation_id="control")
        done = world.grade(())
        rules = {name: done.components[name] for name in ("verified", "original", "state")}
        wrong = [f"{name} is {value:g}" for name, value in rules.items() if value != 1.0]
        if not done.goal_met:
            wrong.append("the goal is not met")
        if idle.goal_met:
            wrong.append("the goal is met by doing nothing")
        return tuple(f"{task_id}: by its oracle {one}" for one in wrong)

    def probes(self) -> tuple[Probe, ...]:
        """Tools that no oracle uses, each tried once."""
        task_id = next(iter(catalog.tasks()))
        made = [
            Probe(task_id=task_id, steps=(OracleStep(actor="agent", tool=tool, arguments=given),))
            for tool, given in _PROBES.items()
        ]
        return tuple(made)

    def open(self) -> WebWorld:
        host = self._sandbox.start(image.command(self._sandbox.contained))
        return WebWorld(host, DRIVERS[self._driver])

    def close(self) -> None:
        if self._own is not None:
            self._own.close()
        self._sandbox.close()


_PROBES: dict[str, dict[str, Any]] = {
    "hover": {"role": "link", "name": "Forums"},
    "scroll": {"direction": "down"},
    "go_back": {},
    "go_forward": {},
    "new_tab": {},
    "tab_focus": {"tab": 0},
    "close_tab": {},
    "read_back": {"name": "Create submission", "on": "/submit/books"},
}
"""What each is tried with, at the start of the first task."""
