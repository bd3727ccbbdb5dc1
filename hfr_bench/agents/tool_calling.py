"""The plain tool-calling agent: ask the model, run what it asks for, talk to the user."""

from typing import Any

from hfr_bench.model.task import TaskSpec
from hfr_bench.ports.agent import Oracle, Runtime


class ToolCallingAgent:
    """Asks the model, runs the tools it asks for, talks to the user; no recovery of its own."""

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
        messages: list[dict[str, Any]] = [{"role": "system", "content": task.prompt}]
        turn = runtime.user_opens()
        while not turn.over:
            messages.append({"role": "user", "content": turn.text})
            while True:
                reply = runtime.model(messages, tools)
                messages.append(dict(reply.message))
                if not reply.tool_requests:
                    break
                for request in reply.tool_requests:
                    answer = runtime.tool(request)
                    messages.append(
                        {
                            "role": "tool",
                            "tool_call_id": request.call_id,
                            "content": answer.content,
                        }
                    )
            turn = runtime.user_replies(reply.text)
