"""An agent with one tool, a shell: after mini-swe-agent's, whose conventions it follows.

Every command has a shell of its own. What a command says is shown with its middle left out beyond
10,000 characters. It hands its work in by a command that says so in its first line.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hfr_bench.model.task import TaskSpec
from hfr_bench.ports.agent import Oracle, Runtime, ToolRequest

TOOL = "bash"
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
MOST_SHOWN = 10_000
MOST_UNUSABLE = 3
"""Turns in a row without a command, after which it takes its work for done."""

REMINDER = (
    f"Your answer holds no call of the tool {TOOL}. Every answer must make at least one; when all "
    f"is done, run: echo {SUBMIT}"
)
_SUBMITTED = re.compile(rf"<returncode>0</returncode>\n<output>\n\s*{SUBMIT}\b")


class BashAgent:
    """Asks the model for shell commands and runs them; no recovery of its own.

    A call that the runtime gave up on is shown as an exception with the return code -1: what is
    made of it is the model's affair.
    """

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._pending: list[ToolRequest] = []  # what the model asks for and nobody has answered
        self._unusable = 0
        self._over = False
        self._resumed = False

    def state(self) -> dict[str, Any]:
        return {
            "messages": list(self._messages),
            "pending": [asdict(request) for request in self._pending],
            "unusable": self._unusable,
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        self._messages = list(state.get("messages", ()))
        self._pending = [ToolRequest(**request) for request in state.get("pending", ())]
        self._unusable = state.get("unusable", 0)
        self._resumed = bool(self._messages)

    def run(self, task: TaskSpec, runtime: Runtime, oracle: Oracle) -> None:
        tools = [_offer(task)]
        if not self._resumed:
            self._pending, self._unusable = [], 0
            self._messages = [
                {"role": "system", "content": "You are a programmer who works by a shell."},
                {"role": "user", "content": task.prompt},
            ]
        self._resumed = False
        self._over = False
        while True:
            self._answer(runtime)
            if self._over:
                return
            reply = runtime.model(self._messages, tools)
            self._messages.append(dict(reply.message))
            self._pending = list(reply.tool_requests)
            self._unusable = 0 if self._pending else self._unusable + 1
            if self._unusable >= MOST_UNUSABLE:
                return
            if not self._pending:
                self._messages.append({"role": "user", "content": REMINDER})

    def _answer(self, runtime: Runtime) -> None:
        while self._pending:
            request = self._pending[0]
            reply = runtime.tool(request)
            content = exception(reply.content) if reply.failed else elided(reply.content)
            self._messages.append(
                {"role": "tool", "tool_call_id": request.call_id, "content": content}
            )
            del self._pending[0]
            if not reply.failed and submitted(reply.content):
                self._over, self._pending = True, []


def elided(text: str, most: int = MOST_SHOWN) -> str:
    """The two ends of a text that is longer than `most` characters, and how much lies between."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def submitted(answer: str) -> bool:
    """Whether a command's answer hands the work in.

    Also where a runtime tells of it itself, because the command's own answer was lost.
    """
    if _SUBMITTED.match(answer):
        return True
    try:
        read = json.loads(json.loads(answer)["read_back"])["last"]
    except (ValueError, LookupError, TypeError):
        return False
    return isinstance(read, str) and _SUBMITTED.match(read) is not None


def exception(content: str) -> str:
    """What the model is shown of a call that failed, as JSON that says so."""
    try:
        error = json.loads(content)["error"]
    except (ValueError, LookupError, TypeError):
        error = {"message": content}
    return json.dumps({"error": error, "returncode": -1, "output": ""})


def _offer(task: TaskSpec) -> dict[str, Any]:
    """Raises ValueError for a task without a shell."""
    spec = task.tool(TOOL)
    if spec is None:
        offered = ", ".join(tool.name for tool in task.tools) or "none"
        raise ValueError(f"agent bash: task {task.task_id} offers no {TOOL}; there are: {offered}")
    parts = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": parts}
