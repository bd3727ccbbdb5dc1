"""The plain tool-calling agent: ask the model, run what it asks for, talk to the user."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hfr_bench.model.task import TaskSpec
from hfr_bench.ports.agent import Oracle, Runtime, ToolRequest


class ToolCallingAgent:
    """Asks the model, runs the tools it asks for, talks to the user; no recovery of its own."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._pending: list[ToolRequest] = []  # what the model asks for and nobody has answered
        self._resumed = False

    def state(self) -> dict[str, Any]:
        pending = [asdict(request) for request in self._pending]
        return {"messages": list(self._messages), "pending": pending}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._messages = list(state.get("messages", ()))
        self._pending = [ToolRequest(**request) for request in state.get("pending", ())]
        self._resumed = bool(self._messages)

    def run(self, task: TaskSpec, runtime: Runtime, oracle: Oracle) -> None:
        tools = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in task.tools
        ]
        if not self._resumed:
            self._messages, self._pending = [{"role": "system", "content": task.prompt}], []
            turn = runtime.user_opens()
            if turn.over:
                return
            self._messages.append({"role": "user", "content": turn.text})
        self._resumed = False
        while True:
            self._answer(runtime)
            reply = runtime.model(self._messages, tools)
            self._messages.append(dict(reply.message))
            self._pending = list(reply.tool_requests)
            if not self._pending:
                turn = runtime.user_replies(reply.text)
                if turn.over:
                    return
                self._messages.append({"role": "user", "content": turn.text})

    def _answer(self, runtime: Runtime) -> None:
        while self._pending:
            request = self._pending[0]
            content = runtime.tool(request).content
            self._messages.append(
                {"role": "tool", "tool_call_id": request.call_id, "content": content}
            )
            del self._pending[0]
