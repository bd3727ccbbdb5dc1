"""The desk's suite in child processes, and one living world for the session."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from hfr_bench.lab.judge import Effects, atomic_groups, expected_counts, judge_effects
from hfr_bench.lab.recorder import TruthQueue, WorldTools
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.record import digest
from hfr_bench.model.terms import Channel, Criticality
from hfr_bench.model.trial import Grade
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.shopdesk import ShopdeskSuite
from hfr_bench.suites.shopdesk.adapter import DeskWorld
from hfr_bench.suites.shopdesk.draft import Chance
from hfr_bench.suites.shopdesk.generate import Instance, build
from hfr_bench.testing.fakes import FakeClock, ListSink

MakeSuite = Callable[..., ShopdeskSuite]


class Desk:
    """A world with any generated task open in it, and a log of what ran."""

    def __init__(self, world: DeskWorld, instances: dict[str, Instance]) -> None:
        self._world, self._instances = world, instances
        self.task: Instance

    def open(self, task: Instance) -> str:
        """Open a task; the state."""
        name = f"{task.public.task_id}/{digest(task.tables)}"  # a changed world is another task
        self._instances[name] = self.task = task
        self._sink, self._truth = ListSink(), TruthQueue({})
        self._tools = WorldTools(self._world, task.public, self._truth, FakeClock(), 0)
        return self._world.reset(name)

    def call(self, tool: str, actor: str = "agent", **arguments: Any) -> Observation:
        """Run a tool; the user's calls are not logged."""
        if actor == "user":
            return self._world.execute(tool, arguments, actor=actor, operation_id="u").observation
        call = Call(
            step=1,
            point=f"tool:{tool}",
            occurrence=1,
            attempt=1,
            channel=Channel.TOOL,
            target=tool,
            timeout_us=1,
            payload=arguments,
            purpose="agent" if actor == "agent" else "reconcile",
        )
        seen = self._tools.attempt(call)
        self._truth.drain(self._sink)
        return seen

    def look(self, tool: str, arguments: Mapping[str, Any]) -> Observation:
        """A read for the strategy."""
        return self.call(tool, "strategy", **arguments)

    def told(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers, which must not be an error."""
        seen = self.call(tool, **arguments)
        assert not seen.domain_error, seen.body
        answer: dict[str, Any] = json.loads(seen.body)
        return answer

    def play(self, upto: int | None = None) -> None:
        """The oracle's first calls, or all of them."""
        for step in self.task.sealed.oracle[:upto]:
            self.call(step.tool, step.actor, **step.arguments)

    def grade(self) -> Grade:
        """The checker's verdict, everything due having been said."""
        return self._world.grade(self.task.sealed.say)

    def effects(self) -> Effects:
        """What the judge makes of the log."""
        sealed = self.task.sealed
        return judge_effects(self._sink.events, expected_counts(sealed), atomic_groups(sealed))


def made_of(*wishes: str, fits: Callable[[Instance], bool] = lambda _: True) -> Instance:
    """A task of just these wishes; the first one by number that fits."""
    name = f"shopdesk/{'-'.join(wishes)}"
    numbers = (build(name, Criticality.LOW, wishes, Chance("test", n)) for n in range(200))
    return next(made for made in numbers if fits(made))


@pytest.fixture(scope="session")
def made() -> Callable[..., Instance]:
    """Makes tasks of given wishes."""
    return made_of


@pytest.fixture(scope="session")
def context() -> SandboxContext:
    return SandboxContext("desk-test", this_process())


@pytest.fixture(scope="session")
def make_suite(context: SandboxContext) -> Iterator[MakeSuite]:
    """Makes suites; their hosts are ended with the session."""
    made: list[ShopdeskSuite] = []

    def make(**config: Any) -> ShopdeskSuite:
        made.append(ShopdeskSuite(ProcessSandbox(context), **config))
        return made[-1]

    yield make
    for suite in made:
        suite.close()


@pytest.fixture(scope="session")
def living(context: SandboxContext) -> Iterator[Desk]:
    """One host for all tests; each opens its own task."""
    sandbox = ProcessSandbox(context)
    instances: dict[str, Instance] = {}
    host = ShopdeskSuite(sandbox).open()
    yield Desk(DeskWorld(host._host, instances), instances)
    sandbox.close()


@pytest.fixture
def desk(living: Desk) -> Desk:
    """The desk, closed until the test opens a task."""
    return living
