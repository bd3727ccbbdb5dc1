"""The world of tasks in a repository: one agent's host, and the grader behind it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from hfr_bench.model.attempt import Observation
from hfr_bench.model.trial import Grade
from hfr_bench.ports.exposure import mark
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.shell.client import Executed, Recalled
from hfr_bench.shell.ran import STATUS, status
from hfr_bench.suites._scripted import ScriptedUser
from hfr_bench.suites.swe_bench import contracts
from hfr_bench.suites.swe_bench.contracts import BASH
from hfr_bench.suites.swe_bench.grade import Outcome
from hfr_bench.suites.swe_bench.grading import Grader
from hfr_bench.suites.swe_bench.room import changed, graded_state
from hfr_bench.suites.swe_bench.tasks import RepoTask

Task = TypeVar("Task", bound=RepoTask)


class Workplace(Protocol):
    """The agent's host; `room.Room` is one once it says what commit it started at."""

    where: str
    base: str

    def run(self, command: str, timeout_s: float, marked: str = "") -> Executed: ...
    def recall(self, command: str) -> Recalled: ...
    def state(self) -> dict[str, str]: ...
    def model_patch(self, base: str) -> str | None: ...
    def close(self) -> None: ...


class RepoWorld(Generic[Task]):
    """Implements `ports.suite.World`.

    `tasks`: by id; `room`: a host with the task's repository as it is at first, made of the one
    that is here (None: none yet) or in its place.
    """

    def __init__(
        self,
        tasks: Callable[[str], Task],
        room: Callable[[Task, Workplace | None], Workplace],
        grader: Grader[Task],
        timeout_s: float,
    ) -> None:
        self._tasks, self._make = tasks, room
        self._grader = grader
        self._timeout_s = timeout_s
        self._task: Task | None = None
        self._room: Workplace | None = None
        self._files: dict[str, str] = {}

    def reset(self, task_id: str) -> str:
        self._task = self._tasks(task_id)
        self._room = self._make(self._task, self._room)
        self._files = self._room.state()
        return graded_state(self._files)

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        command = arguments.get("command")
        if not isinstance(command, str):
            return Execution(_seen("Error: `command` must be a text", refused=True))
        room = self._here()
        shown = partial(contracts.answer, where=room.where)
        if tool == STATUS:
            return Execution(_seen(status(room.recall(command), shown)))
        if tool != BASH:
            return Execution(_seen(f"Error: there is no tool {tool!r}", refused=True))
        done = room.run(command, self._timeout_s, mark(operation_id))
        before, self._files = self._files, room.state()
        moved = changed(before, self._files)
        # A command that failed half way has not been refused: something of it is there.
        refused = done.exit_code != 0 and not moved
        code = -1 if done.exit_code is None else done.exit_code
        seen = replace(_seen(shown(done), refused=refused), exit_code=code)
        return Execution(seen, moved, graded_state(self._files))

    def user(self, task_id: str, act: UserAct) -> ScriptedUser:
        """Nobody: who asks for a user's word hears that the task has been given."""
        opening = "Please resolve the issue."
        return ScriptedUser(opening, (), act, told="", bye="Thank you.")

    def grade(self, said: Sequence[str]) -> Grade:
        """`said` does not matter; the patch does. What is beside it goes into `components`."""
        task, room = self._task, self._here()
        assert task is not None
        graded = self._grader.grade(task, room.model_patch(room.base) or "")
        components = {f"outcome:{graded.outcome}": 1.0}
        for name, results in (
            ("fail_to_pass", graded.fail_to_pass),
            ("pass_to_pass", graded.pass_to_pass),
        ):
            if results is not None:
                components[name] = results.share
        components["suspect_spoof"] = float(bool(graded.suspect_spoof))
        return Grade(
            official=float(graded.outcome is Outcome.RESOLVED),
            goal_met=graded.resolved,
            components=components,
            state_digest=graded_state(room.state()),
        )

    def close(self) -> None:
        if self._room is not None:
            self._room.close()

    def _here(self) -> Workplace:
        assert self._room is not None, "a world is reset before it is used"
        return self._room


def _seen(body: str, *, refused: bool = False) -> Observation:
    return Observation(answered=True, status=200, body=body, payload=body, domain_error=refused)
