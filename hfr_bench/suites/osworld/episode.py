"""One desk and one task: the agent's actions, what they change, and the verdict.

`reset`: an empty home, then the task's own steps (`config`). `execute`: one action; which files it
changed, and the home's digest after it. `grade`: the task's evaluator, by OSWorld's rule, once all
has ended.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hfr_bench.model.attempt import Observation
from hfr_bench.model.record import digest
from hfr_bench.model.trial import Grade
from hfr_bench.ports.exposure import mark
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.suites._scripted import ScriptedUser
from hfr_bench.suites.osworld import contracts
from hfr_bench.suites.osworld.actions import (
    ENDS,
    FAIL,
    WAIT,
    Action,
    BadActionError,
    computer_13,
    pyautogui,
)
from hfr_bench.suites.osworld.desk import Desk, Ran
from hfr_bench.suites.osworld.halves import DeskTask
from hfr_bench.suites.osworld.observe import Observer
from hfr_bench.suites.osworld.screen import Screen

SCREEN = "screen"
"""What an action on the screen changes, as far as anybody can tell."""
_TERMINAL_CHARS = 4000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an evaluator says. `score`: 0 to 1. `why`: its stumbles, if any."""

    score: float
    why: str = ""


Begin = Callable[[DeskTask, Desk], None]
"""Carry out a task's own steps on an empty desk. Raises InfrastructureError."""

Judge = Callable[[DeskTask, Desk, Sequence[str]], Verdict]
"""Judge a desk after an episode; the last is what the agent did at the end (DONE, FAIL, ...)."""


class DeskWorld:
    """Implements `ports.suite.World`."""

    def __init__(
        self,
        desk: Desk,
        tasks: Callable[[str], DeskTask],
        begin: Begin,
        judge: Judge,
        timeout_s: float,
        observer: Observer | None = None,
    ) -> None:
        self.desk = desk
        self._tasks, self._begin, self._judge = tasks, begin, judge
        self._timeout_s = timeout_s
        self._observer = observer or Observer()
        self._task: DeskTask | None = None
        self._files: dict[str, str] = {}
        self._did: list[str] = []
        self._terminal = ""
        self._tools: Mapping[str, Callable[[Mapping[str, Any], str], Observation]] = {
            contracts.EXECUTE: self._execute,
            contracts.APPEND: self._append,
            contracts.WRITE: self._write,
            contracts.READ: self._read,
            contracts.LIST: self._list,
            contracts.TERMINAL: lambda _given, _mark: seen(contracts.terminal(self._terminal)),
            contracts.LOG: self._log,
            contracts.WAIT: self._wait,
            contracts.FINISH: self._finish,
            contracts.COMPUTER: self._computer,
            contracts.PYAUTOGUI: self._pyautogui,
            contracts.SCREENSHOT: lambda _given, _mark: seen(
                self._observer.screenshot(self._screen())
            ),
            contracts.TREE: lambda _given, _mark: seen(self._observer.tree(self._screen())),
        }

    @property
    def task(self) -> DeskTask:
        """The one at hand."""
        assert self._task is not None, "a world is reset before it is used"
        return self._task

    def reset(self, task_id: str) -> str:
        self._task = self._tasks(task_id)
        self.desk.clear()
        self._begin(self._task, self.desk)
        self._did, self._terminal = [], ""
        self._files = self.desk.state()
        return _digest(self._files)

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        run = self._tools.get(tool)
        if run is None:
            return Execution(refused(f"there is no tool {tool!r}"))
        try:
            told = run(arguments, mark(operation_id))
        except BadActionError as error:
            return Execution(refused(str(error)))
        if tool in contracts.LOOKS:
            return Execution(told)
        before, self._files = self._files, self.desk.state()
        moved = _changed(before, self._files)
        if tool in contracts.ON_SCREEN and told.exit_code == 0 and self._acts(tool, arguments):
            moved = (*moved, SCREEN)
        # A command that failed half way has not been refused: something of it is there.
        if told.domain_error and moved:
            told = replace(told, domain_error=False)
        return Execution(told, moved, _digest(self._files))

    def user(self, task_id: str, act: UserAct) -> ScriptedUser:
        """Nobody: who asks for a user's word hears that the task has been given."""
        return ScriptedUser("Please do the task.", (), act, told="", bye="Thank you.")

    def grade(self, said: Sequence[str]) -> Grade:
        """`said` does not matter; the desk does, and whether the agent gave up."""
        task = self.task
        state = _digest(self.desk.state())  # before the evaluator's own commands
        verdict = self._judge(task, self.desk, tuple(self._did))
        components = {
            "score": verdict.score,
            "infeasible": float(task.infeasible),
            "declined": float(bool(self._did) and self._did[-1] == FAIL),
            "evaluator_error": float(bool(verdict.why)),
        }
        return Grade(
            official=verdict.score,
            goal_met=verdict.score == 1.0,
            components=components,
            state_digest=state,
        )

    def close(self) -> None:
        self.desk.close()

    # -- actions -------------------------------------------------------------------------------

    def _execute(self, given: Mapping[str, Any], marked: str) -> Observation:
        command = given.get("command")
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            raise BadActionError("`command` must be a text, not empty")
        name = contracts.noted(contracts.EXECUTE, given)
        done = self.desk.run(name, command, self._timeout_s, marked=marked)
        self._did.append(contracts.EXECUTE)
        shown = contracts.outward(f"$ {command}\n{done.output}{done.error}", self.desk.home)
        self._terminal = f"{self._terminal}{shown}"[-_TERMINAL_CHARS:]
        return _ran(done, self.desk.home)

    def _append(self, given: Mapping[str, Any], marked: str) -> Observation:
        return self._put(contracts.APPEND, given, 'cat >> "$HFR_PATH"', marked)

    def _write(self, given: Mapping[str, Any], marked: str) -> Observation:
        return self._put(contracts.WRITE, given, 'cat > "$HFR_PATH"', marked)

    def _put(self, tool: str, given: Mapping[str, Any], script: str, marked: str) -> Observation:
        path, text = given.get("path"), given.get("text")
        if not _is_path(path) or not isinstance(text, str):
            raise BadActionError("`path` and `text` must be texts, the path not empty")
        made = f'HFR_PATH={quoted(str(path))}\nmkdir -p "$(dirname "$HFR_PATH")" && {script}'
        name = contracts.noted(tool, given)
        done = self.desk.run(name, made, self._timeout_s, stdin=text, marked=marked)
        self._did.append(tool)
        return _ran(done, self.desk.home)

    def _read(self, given: Mapping[str, Any], _marked: str) -> Observation:
        path = given.get("path")
        if not _is_path(path):
            raise BadActionError("`path` must be a text, not empty")
        found = self.desk.text(str(path))
        told = None if found is None else contracts.outward(found.text, self.desk.home)
        cut = found is not None and found.cut
        return seen(contracts.file_told(str(path), told, cut=cut))

    def _list(self, given: Mapping[str, Any], _marked: str) -> Observation:
        path = given.get("path")
        if not _is_path(path):
            raise BadActionError("`path` must be a text, not empty")
        return seen(contracts.entries_told(str(path), self.desk.entries(str(path))))

    def _log(self, given: Mapping[str, Any], _marked: str) -> Observation:
        name = contracts.noted(str(given.get("tool")), given)
        found = self.desk.log(name)
        return seen(contracts.logged(*found) if found else contracts.not_logged())

    def _wait(self, _given: Mapping[str, Any], _marked: str) -> Observation:
        if self.desk.screen is not None:
            self.desk.screen.rest()
        self._did.append(WAIT)
        return seen(contracts.done(WAIT))

    def _finish(self, given: Mapping[str, Any], _marked: str) -> Observation:
        status = given.get("status")
        if status not in ENDS:
            raise BadActionError(f"`status` is one of {', '.join(ENDS)}, not {status!r}")
        self._did.append(str(status))
        return seen(contracts.done(str(status)))

    def _computer(self, given: Mapping[str, Any], marked: str) -> Observation:
        return self._act(contracts.COMPUTER, given, marked)

    def _pyautogui(self, given: Mapping[str, Any], marked: str) -> Observation:
        return self._act(contracts.PYAUTOGUI, given, marked)

    def _act(self, tool: str, given: Mapping[str, Any], marked: str) -> Observation:
        action, screen = _action(tool, given), self._screen()
        name = contracts.noted(tool, given)
        done = screen.act(name, action.code, self._timeout_s, marked)
        self._did.append(tool)
        return _ran(done, self.desk.home)

    def _acts(self, tool: str, given: Mapping[str, Any]) -> bool:
        return not _action(tool, given).looks

    def _screen(self) -> Screen:
        if self.desk.screen is None:
            raise BadActionError("this desk has no screen: work by commands and files")
        return self.desk.screen


def seen(body: str) -> Observation:
    """An answer."""
    return Observation(answered=True, status=200, body=body, payload=body)


def refused(why: str) -> Observation:
    """The tool's own refusal: an answer."""
    body = contracts.refusal(why)
    return Observation(answered=True, status=200, body=body, payload=body, domain_error=True)


def quoted(text: str) -> str:
    """A path for a shell: `~` at its beginning is the home folder."""
    if text == "~" or text.startswith("~/"):
        return '"$HOME"' + quoted(text[1:]) if len(text) > 1 else '"$HOME"'
    return "'" + text.replace("'", "'\\''") + "'"


def _action(tool: str, given: Mapping[str, Any]) -> Action:
    """Raises BadActionError."""
    if tool == contracts.COMPUTER:
        return computer_13(given.get("action_type"), given.get("parameters"))
    return pyautogui(given.get("command"))


def _ran(done: Ran, home: str) -> Observation:
    output, error = contracts.outward(done.output, home), contracts.outward(done.error, home)
    code = -1 if done.code is None else done.code
    told = seen(contracts.ran(output, error, done.code))
    return replace(told, exit_code=code, domain_error=code != 0)


def _is_path(path: object) -> bool:
    return isinstance(path, str) and bool(path.strip()) and "\0" not in path and "\n" not in path


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    names = sorted(before.keys() | after.keys())
    return tuple(name for name in names if before.get(name) != after.get(name))


def _digest(files: Mapping[str, str]) -> str:
    """Of all files at home: what is held against a fault-free twin."""
    return digest([[path, row] for path, row in sorted(files.items())])
