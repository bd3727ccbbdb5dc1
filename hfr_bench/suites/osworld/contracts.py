"""What the tools answer, and what can be read from it: pure.

Answers are JSON, so that half an answer is told from a whole one. What differs from run to run is
masked: where the home folder lies on this machine, and the numbers of processes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.shell import ran as log
from hfr_bench.suites.osworld.actions import BadActionError, computer_13, pyautogui
from hfr_bench.suites.osworld.levels import action_level, command_level

EXECUTE, APPEND, WRITE = "execute", "append_text", "write_text"
READ, LIST, TERMINAL, LOG = "read_file", "list_directory", "terminal", "operation_log"
WAIT, FINISH = "wait", "finish"
COMPUTER, PYAUTOGUI = "computer_13", "pyautogui"
SCREENSHOT, TREE = "screenshot", "accessibility_tree"
ON_SCREEN = frozenset({COMPUTER, PYAUTOGUI})

GROWN_BY, HOLDS = "grown_by", "holds"
LOOKS = frozenset({READ, LIST, TERMINAL, LOG, SCREENSHOT, TREE})
"""Tools that cannot change anything."""
PREDICATES = (log.RAN_SINCE, GROWN_BY, HOLDS)
HOME = "/home/user"
"""What the home folder is called in tasks and answers, as on OSWorld's guest."""

_KILLED = re.compile(r"^(\S*bash: line \d+: +)\d+ (?=[A-Z])", re.MULTILINE)
_CALL = re.compile(r"hfr-call=[^;]*;")


def outward(text: str, home: str) -> str:
    """A text of the desk's as an agent sees it. `home`: where the home folder really is."""
    return _CALL.sub("hfr-call;", _KILLED.sub(r"\g<1>0 ", text.replace(home, HOME)))


def inward(text: str, home: str) -> str:
    """A text of an agent's or a task's as the desk needs it."""
    return re.sub(rf"{re.escape(HOME)}(?![\w-])", lambda _: home, text)


def ran(output: str, error: str, code: int | None) -> str:
    """What `execute` and the actions on the screen answer. `code` None: ended at its timeout."""
    if code is None:
        error += "The command was ended at its timeout.\n"
    told = {
        "status": "error" if code is None else "success",
        "output": output,
        "error": error,
        "returncode": -1 if code is None else code,
    }
    return json.dumps(told, ensure_ascii=False)


def logged(started: int, ended: int) -> str:
    """What `operation_log` answers."""
    return json.dumps({"started": started, "ended": ended})


def not_logged() -> str:
    """What it answers where no log is kept: nothing follows from that."""
    return json.dumps({"log": "none is kept on this machine"})


def file_told(path: str, text: str | None, *, cut: bool = False) -> str:
    """What `read_file` answers; None: it is not there. `cut`: it is longer than that."""
    held: dict[str, Any] = {"missing": True} if text is None else {"content": text}
    if cut:
        held["cut"] = True
    return json.dumps({"path": path, **held}, ensure_ascii=False)


def entries_told(path: str, names: Sequence[str] | None) -> str:
    """What `list_directory` answers; None: there is no such folder."""
    held: dict[str, Any] = {"missing": True} if names is None else {"entries": list(names)}
    return json.dumps({"path": path, **held}, ensure_ascii=False)


def terminal(text: str) -> str:
    """What `terminal` answers."""
    return json.dumps({"output": text}, ensure_ascii=False)


def done(action: str) -> str:
    """What `wait` and `finish` answer."""
    return json.dumps({"status": "success", "action": action})


def refusal(why: str) -> str:
    """What a tool answers to a call that is none."""
    return json.dumps({"status": "error", "message": why}, ensure_ascii=False)


def noted(tool: str, arguments: Mapping[str, Any]) -> str:
    """What an action is called in the desk's log: the same for `operation_log` as for the action.

    Raises BadActionError: the arguments are none of it.
    """
    if tool in (EXECUTE, PYAUTOGUI):
        command = arguments.get("command")
        if not isinstance(command, str):
            raise BadActionError("`command` must be a text")
        return command if tool == EXECUTE else f"{PYAUTOGUI} {command}"
    if tool == COMPUTER:
        said = [arguments.get("action_type"), arguments.get("parameters") or {}]
        return f"{COMPUTER} {json.dumps(said, sort_keys=True)}"
    if tool in (APPEND, WRITE):
        return f"{tool} {json.dumps([arguments.get('path'), arguments.get('text')])}"
    raise BadActionError(f"no log of {tool!r}; there is: {EXECUTE}, {COMPUTER}, {PYAUTOGUI}")


def level_of(tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
    """The level of this very action, by its text; None where the tool's own stands."""
    try:
        if tool == EXECUTE and isinstance(arguments.get("command"), str):
            return command_level(arguments["command"])
        if tool == COMPUTER:
            action = computer_13(arguments.get("action_type"), arguments.get("parameters"))
            return action_level(action)
        if tool == PYAUTOGUI:
            return action_level(pyautogui(arguments.get("command")))
    except BadActionError:
        return None
    return None


def landed(
    predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
) -> Landed:
    """Whether a write has landed, from the reads before and after it. Raises ValueError."""
    if predicate not in PREDICATES:
        raise ValueError(f"no predicate {predicate!r}; there are: {', '.join(PREDICATES)}")
    then, now = read_answer(before), read_answer(after)
    if now is None:
        return Landed.UNKNOWN
    if predicate == log.RAN_SINCE:
        return log.landed(predicate, before, after, arguments)
    text = arguments.get("text")
    here = _content(now)
    if not isinstance(text, str) or here is None:
        return Landed.UNKNOWN
    if predicate == HOLDS:
        return Landed.COMMITTED if here == text else Landed.ABSENT
    return _grown(_content(then), here, text)


def read_answer(body: str | None) -> dict[str, Any] | None:
    """A tool's answer as an object; None if it is not whole."""
    try:
        told = json.loads(body or "")
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _grown(then: str | None, now: str, text: str) -> Landed:
    """A file that has grown by the text since. Without a read before, only its lack is sure."""
    if then is None:
        return Landed.UNKNOWN if now.endswith(text) else Landed.ABSENT
    if now == then + text:
        return Landed.COMMITTED
    return Landed.ABSENT if now == then else Landed.UNKNOWN


def _content(told: Mapping[str, Any] | None) -> str | None:
    """A whole file's text; of the beginning of one nothing follows."""
    if told is None:
        return None
    if told.get("missing") is True:
        return ""
    found = None if told.get("cut") else told.get("content")
    return found if isinstance(found, str) else None
