"""The living world of one domain: the upstream environment, one open task, what was executed."""

from typing import Any

from .errors import HostError
from .states import DatabaseState, DumpState, TableState
from .upstream import BILL_IDS, DOMAINS, load, load_tasks, new_environment

REQUESTORS = ("assistant", "user")


class World:
    """One domain's environment, kept alive across tasks and taken back in place between them."""

    def __init__(self, domain: str) -> None:
        if domain not in DOMAINS:
            message = f"unknown domain {domain!r}; there are: {', '.join(DOMAINS)}"
            raise HostError("unknown_domain", message)
        self.domain = domain
        self.environment = new_environment(domain)
        self.tasks = load_tasks(domain)
        self._message = load("data_model.message")
        env = self.environment
        self.database: DatabaseState
        if env.user_tools is None:
            self.database = TableState(env.tools)
        else:
            self.database = DumpState(env.tools, env.user_tools, BILL_IDS)
        self._first_state: dict[str, str] = {}
        self._gold_state: dict[str, str] = {}
        self.task: Any = None
        self.executed: list[dict[str, Any]] = []

    def open(self, task_id: str) -> str:
        """Pristine and task-initial state, in place; the state's digest.

        The first opening also plays the gold calls once, to know the gold state, and resets again.
        Raises HostError: unknown_task; reset_failed if the state is not that of the first opening.
        """
        if task_id not in self.tasks:
            message = f"no task {task_id!r} in the base split of {self.domain}"
            raise HostError("unknown_task", message)
        self.close()
        task = self.tasks[task_id]
        if task_id not in self._gold_state:
            self._first_state[task_id] = self._prepare(task)
            for action in task.evaluation_criteria.actions or []:
                self._respond(action.name, action.arguments, action.requestor)
            self._gold_state[task_id] = self.database.digest()
        state = self._prepare(task)
        if state != self._first_state[task_id]:
            message = f"{self.domain} task {task_id}: state differs from that of its first opening"
            raise HostError("reset_failed", message)
        self.task = task
        return state

    def close(self) -> None:
        """No task is open and nothing was executed; the next `open` resets."""
        self.task = None
        self.executed = []

    def call(
        self, name: str, arguments: dict[str, Any], requestor: str, operation_id: str | None
    ) -> dict[str, Any]:
        """Run the true tool and log it. An unknown tool is answered as upstream answers it."""
        self.require_task()
        response, changed = self._respond(name, arguments, requestor)
        outcome = {
            "content": response.content,
            "error": bool(response.error),
            "changed": changed,
            "state": self.database.digest(),
        }
        head = {
            "n": len(self.executed),
            "operation_id": operation_id,
            "name": name,
            "arguments": arguments,
            "requestor": requestor,
            "kind": self.kind(name, requestor),
        }
        self.executed.append(head | outcome)
        return outcome

    def require_task(self) -> Any:
        """The open task, or HostError (no_task)."""
        if self.task is None:
            raise HostError("no_task", "no task is open; send the op `open` first")
        return self.task

    @property
    def gold_state(self) -> str:
        """Digest of the state after the open task's gold calls."""
        return self._gold_state[self.require_task().id]

    def kind(self, name: str, requestor: str) -> str | None:
        """read, write, think or generic; None if there is no such tool."""
        env = self.environment
        kit = env.tools if requestor == "assistant" else env.user_tools
        if kit is None or not kit.has_tool(name):
            return None
        return str(kit.tool_type(name).value)

    def tool_call(self, number: int, entry: dict[str, Any]) -> Any:
        """An executed call as upstream's ToolCall."""
        return self._message.ToolCall(
            id=f"call_{number}",
            name=entry["name"],
            arguments=entry["arguments"],
            requestor=entry["requestor"],
        )

    def _respond(
        self, name: str, arguments: dict[str, Any], requestor: str
    ) -> tuple[Any, list[str]]:
        call = self._message.ToolCall(
            id="call", name=name, arguments=arguments, requestor=requestor
        )
        self.database.begin(writing=self.kind(name, requestor) == "write")
        response = self.environment.get_response(call)
        return response, self.database.end()

    def _prepare(self, task: Any) -> str:
        """Reset, apply the task's initial state, digest."""
        self.database.reset()
        initial = task.initial_state
        data = initial.initialization_data if initial else None
        if initial and initial.message_history:
            raise HostError("unsupported", f"task {task.id} starts from a message history")
        if data is not None and isinstance(self.database, TableState):
            # it would replace the watched tables by new ones
            raise HostError("unsupported", f"task {task.id} starts from other data")
        self.database.begin(writing=True)
        self.environment.set_state(
            initialization_data=data,
            initialization_actions=initial.initialization_actions if initial else None,
            message_history=[],
        )
        self.database.end()
        return self.database.digest()
