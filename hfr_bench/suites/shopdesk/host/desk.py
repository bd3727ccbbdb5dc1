"""The order desk: one open task, its database, and the tools by name."""

import json
from collections.abc import Callable
from typing import Any

from .database import Database, Row
from .errors import HostError, ToolError
from .grading import grade
from .reads import READS
from .writes import USER_TOOLS, WRITES

Tool = Callable[..., dict[str, Any]]

TOOLS: dict[str, dict[str, Tool]] = {
    "agent": {**READS, **WRITES},
    "strategy": {**READS, **WRITES},
    "user": {**USER_TOOLS},
}
"""The tools by who may use them."""


class Desk:
    """Kept alive across tasks and filled anew in place for each."""

    def __init__(self) -> None:
        self._db = Database()
        self._first: dict[str, str] = {}
        self._initial: dict[str, list[Row]] = {}
        self._task = ""

    def open(self, task_id: str, tables: dict[str, list[Row]]) -> str:
        """The task's world; its digest. Raises HostError (reset_failed) if it is not as before."""
        self.close()
        state = self._db.fill(tables)
        if state != self._first.setdefault(task_id, state):
            message = f"task {task_id}: state differs from that of its first opening"
            raise HostError("reset_failed", message)
        self._task, self._initial = task_id, tables
        return state

    def close(self) -> None:
        """No task is open."""
        self._task, self._initial = "", {}

    def call(self, name: str, arguments: dict[str, Any], requestor: str) -> dict[str, Any]:
        """Run a tool in a transaction; a domain error is an answer and changes nothing."""
        self._require()
        error = True
        try:
            tool = TOOLS[requestor].get(name)
            if tool is None:
                raise ToolError(f"no tool {name}")
            content = json.dumps(tool(self._db, **fitting(tool, arguments)))
            error = False
        except ToolError as refused:
            self._db.undo()
            content = f"Error: {refused}"
        except Exception:
            self._db.undo()
            raise
        changed = self._db.settle()
        return {
            "content": content,
            "error": error,
            "changed": changed,
            "state": self._db.digest(),
        }

    def state(self) -> str:
        """The digest of the open task's world."""
        self._require()
        return self._db.digest()

    def grade(self, wanted: dict[str, Any], say: list[str], said: list[str]) -> dict[str, Any]:
        """The verdict on the living world."""
        self._require()
        components = grade(self._db, self._initial, wanted, say, said)
        official = float(all(components.values()))
        return {"official": official, "components": components, "state": self._db.digest()}

    def _require(self) -> None:
        if not self._task:
            raise HostError("no_task", "no task is open; send the op `open` first")


def fitting(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, if they fit the tool's own; an optional one may be null.

    Raises ToolError that names the first one that is missing, unknown or of the wrong type.
    """
    code = tool.__code__
    names = code.co_varnames[1 : code.co_argcount]
    required = names[: len(names) - len(tool.__defaults__ or ())]
    for name in arguments:
        if name not in names:
            raise ToolError(f"unknown argument {name}; there are: {', '.join(names)}")
    fit = {}
    for name in names:
        value = arguments.get(name)
        if value is None:
            if name in required:
                raise ToolError(f"the argument {name} is missing")
            continue
        wanted = int if tool.__annotations__[name] is int else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ToolError(f"{name} must be {'an integer' if wanted is int else 'a string'}")
        if isinstance(value, int) and abs(value) >= 1 << 53:
            raise ToolError(f"{name} is out of range")
        if isinstance(value, str) and not value.isprintable() and not _storable(value):
            raise ToolError(f"{name} is not valid text")
        fit[name] = value
    return fit


def _storable(text: str) -> bool:
    """Half a surrogate pair is legal in JSON, and no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
