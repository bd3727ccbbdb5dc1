"""A benchmark suite: its tasks, its world, its scripted user, its checker."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from hfr_bench.model.attempt import Observation
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.task import OracleStep, Probe, SealedTask, TaskSpec
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.model.trial import Grade
from hfr_bench.ports.user import User


@dataclass(frozen=True, slots=True)
class Execution:
    """A tool really ran: what it answered, which rows changed, the world's digest after.

    `key`: the natural key of what it did, where its arguments do not tell (a click on a button).
    """

    observation: Observation
    changed: tuple[str, ...] = ()
    state: str = ""
    key: str = ""


# Runs one of the user's own tools: name, arguments -> what it answered.
UserAct = Callable[[str, Mapping[str, Any]], Observation]


class World(Protocol):
    """A living environment, used by one worker thread; reset in place for every trial."""

    def reset(self, task_id: str) -> str:
        """Bring the world to the task's initial state; returns its digest."""
        ...

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        """Run a tool. `actor`: agent, user or strategy."""
        ...

    def user(self, task_id: str, act: UserAct) -> User:
        """A fresh user for the task; its own tool calls go through `act`, never a strategy."""
        ...

    def grade(self, said: Sequence[str]) -> Grade:
        """The checker: reads the living world (and what the agent told the user)."""
        ...

    def close(self) -> None: ...


class Suite(Protocol):
    """A public benchmark, adapted; made with the sandbox that its tool hosts run in."""

    @property
    def name(self) -> str: ...

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        """The chosen tasks, in the registered order.

        Raises BadInputError for an unknown pool or task id (what, and what there is).
        """
        ...

    def sealed(self, task_id: str) -> SealedTask:
        """The grading half of a task: for checker, oracle agent and rehearsal server only."""
        ...

    def pin(self, selection: SuiteSelection) -> SourcePin:
        """What the suite is right now; a frozen experiment is held to it."""
        ...

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        """Judge a reconcile read; never looks at the grader."""
        ...

    def probes(self) -> tuple[Probe, ...]:
        """Calls that try the levels of tools which no oracle uses."""
        ...

    def open(self) -> World:
        """A world for one worker thread, in the sandbox the suite was made with."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Levelled(Protocol):
    """A suite with a tool whose level depends on what it is told to do, such as a shell."""

    def level_of(self, tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
        """The level of this very call, by its text alone; None where the tool's own stands."""
        ...


@runtime_checkable
class Controlled(Protocol):
    """A suite with controls of its own, which `validate` carries out beside oracle and nop."""

    def controls(self, task_id: str) -> tuple[str, ...]:
        """What is wrong with a task; empty if nothing is. Raises InfrastructureError."""
        ...


@runtime_checkable
class Solved(Protocol):
    """A suite that does not know the solution of every task; nobody can play those by script."""

    def unsolved(self, selection: SuiteSelection) -> tuple[str, ...]:
        """The chosen tasks without a solution; their `SealedTask.oracle` is empty."""
        ...


@runtime_checkable
class Declinable(Protocol):
    """A suite with tasks that cannot be done, which an agent says by an action."""

    @property
    def gives_up(self) -> OracleStep:
        """That action. The control that does nothing ends with it."""
        ...


class Regrown(NamedTuple):
    """What a seed gives: the pin of a selection, and its tasks in the same order."""

    pin: SourcePin
    tasks: tuple[TaskSpec, ...]


@runtime_checkable
class Committed(Protocol):
    """A suite that makes its tasks of a seed, which may be committed to (`model.prereg.SEED`)."""

    @property
    def seed(self) -> str:
        """The seed's text. Raises BadInputError while only its digest is known."""
        ...

    @classmethod
    def regrown(cls, seed: str, selection: SuiteSelection) -> Regrown:
        """What `pin` and `select` give with this seed, by the selection's other settings.

        Pure: no host, no sandbox; whoever verifies asks the class. Raises BadInputError for a
        pool, a task or a setting that there is not.
        """
        ...


@runtime_checkable
class Imaged(Protocol):
    """A suite each of whose tasks has a container image of its own, made ahead of a run."""

    def make_images(
        self, selection: SuiteSelection, repos: Path | None, pythons: Path | None
    ) -> Iterator[tuple[str, str]]:
        """(task, image id) of each chosen task, as soon as it is there: found, pulled or built.

        `repos`: a folder of git mirrors to build from, `pythons`: of Pythons by version. Raises
        BadInputError, SandboxUnavailableError.
        """
        ...

    def image_of(self, task_id: str) -> str | None:
        """The id of the image that a task runs in; None if there is none."""
        ...
