"""One shell host with a task's world: scripts, the answer, and the task's own check."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.attempt import Observation
from hfr_bench.model.breakage import Breakage
from hfr_bench.model.record import digest
from hfr_bench.model.terms import SideEffect
from hfr_bench.model.trial import Grade
from hfr_bench.ports.exposure import Exposure, mark
from hfr_bench.ports.sandbox import FaultyHost
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.shell.ran import STATUS, status
from hfr_bench.suites._scripted import ScriptedUser
from hfr_bench.suites.agentbench.os_interaction import contracts
from hfr_bench.suites.agentbench.os_interaction.catalog import OsTask
from hfr_bench.suites.agentbench.os_interaction.contracts import ANSWER, BASH, FINISH
from hfr_bench.suites.agentbench.os_interaction.levels import level_of
from hfr_bench.suites.agentbench.os_interaction.room import OsRoom
from hfr_bench.suites.agentbench.os_interaction.rows import Match, OsRow

ENDS = {ANSWER: "answer", FINISH: "thought"}
THE_END = "answers"

EXPOSURE = Exposure(bears=frozenset({Breakage.PAUSE}))
"""The world is in the host's memory: it outlives being frozen, and no more."""


class OsWorld:
    """Implements `ports.suite.World` and, in a sandbox whose hosts can be broken, `Exposed`.

    `room`: one host for all tasks, or None: then `start` makes one for each.
    """

    exposure = EXPOSURE

    def __init__(
        self,
        tasks: Callable[[str], OsTask],
        start: Callable[[], OsRoom],
        timeout_s: float,
        *,
        fresh: bool,
    ) -> None:
        self._tasks, self._start = tasks, start
        self._timeout_s, self._fresh = timeout_s, fresh
        self._room: OsRoom | None = None if fresh else start()
        self._task: OsTask | None = None
        self._files: dict[str, str] = {}
        self._answer: str | None = None

    @property
    def host(self) -> FaultyHost:
        """The agent's host."""
        return cast("FaultyHost", self._here().host)

    def reset(self, task_id: str) -> str:
        self._task, self._answer = self._tasks(task_id), None
        if self._fresh:
            self.close()
            self._room = self._start()
        room = self._here()
        room.make(self._task.row)
        self._files = room.state()
        return self._state()

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        if tool in ENDS:
            return self._end(tool, arguments.get(ENDS[tool]))
        script = arguments.get("script")
        if tool not in (BASH, STATUS):
            return self._refused(f"there is no tool {tool!r}")
        if not isinstance(script, str) or "\0" in script:
            return self._refused("`script` must be a text")
        room = self._here()
        shown = partial(contracts.answer, where=room.scratch)
        if tool == STATUS:
            return self._seen(status(room.recall(script), shown))
        done = room.run(script, self._timeout_s, mark(operation_id))
        before, self._files = self._files, room.state()
        names = sorted(before.keys() | self._files.keys())
        moved = tuple(name for name in names if before.get(name) != self._files.get(name))
        # A script that failed half way has not been refused: something of it is there. One that
        # was to take away what is not there has done nothing, whatever it says.
        idle = not moved and level_of(script) is SideEffect.IRREVERSIBLE
        refused = idle or (done.exit_code != 0 and not moved)
        seen = self._seen(shown(done), moved, refused=refused)
        code = -1 if done.exit_code is None else done.exit_code
        return _with_code(seen, code)

    def user(self, task_id: str, act: UserAct) -> ScriptedUser:
        """Nobody: who asks for a user's word hears that the task has been given."""
        return ScriptedUser("Please do what was asked for.", (), act, told="", bye="Thank you.")

    def grade(self, said: Sequence[str]) -> Grade:
        """`said` does not matter: the answer does, and what the task's check finds here."""
        assert self._task is not None
        state = self._state()
        right = self._answer is not None and self._is_right(self._task.row, self._answer)
        return Grade(
            official=float(right),
            goal_met=right,
            components={"committed": float(self._answer is not None), "checked": float(right)},
            state_digest=state,
        )

    def close(self) -> None:
        if self._room is not None:
            self._room.close()
            self._room = None

    def solve(self, task_id: str) -> str:
        """What the task's solution says in a world of its own."""
        self.reset(task_id)
        assert self._task is not None
        assert self._task.row.example is not None
        return self._here().ours(self._task.row.example).stdout

    def _end(self, tool: str, word: object) -> Execution:
        if not isinstance(word, str):
            return self._refused(f"`{ENDS[tool]}` must be a text")
        if self._answer is None:
            self._answer = word
            return self._seen("The task is handed in.", (THE_END,))
        if self._answer == word:
            return self._seen("The task is handed in.")
        return self._refused("the task was handed in already, and that stands")

    def _is_right(self, row: OsRow, answer: str) -> bool:
        if row.match is not None:
            return matches(row.match, answer)
        words = [answer]
        for given in row.check:
            script = given or row.example
            assert script is not None
            done = self._here().ours(script, *words)
            if done.timed_out:
                raise InfrastructureError(f"{row.where}: its check does not come to an end")
            if done.exit_code != 0:
                return False
            words.append(done.stdout)
        return True

    def _state(self) -> str:
        return digest([sorted(self._files.items()), self._answer])

    def _here(self) -> OsRoom:
        assert self._room is not None, "a world is reset before it is used"
        return self._room

    def _refused(self, why: str) -> Execution:
        return self._seen(f"Error: {why}", refused=True)

    def _seen(
        self, body: str, changed: tuple[str, ...] = (), *, refused: bool = False
    ) -> Execution:
        seen = Observation(answered=True, status=200, body=body, payload=body, domain_error=refused)
        return Execution(seen, changed, self._state())


def matches(match: Match, answer: str) -> bool:
    """Whether an answer is the registered one, by upstream's rule."""
    text = answer.strip() if match.strip else answer
    if match.answer is not None:
        return text == match.answer
    return match.regex is not None and re.search(match.regex, text) is not None


def _with_code(done: Execution, code: int) -> Execution:
    return replace(done, observation=replace(done.observation, exit_code=code))
