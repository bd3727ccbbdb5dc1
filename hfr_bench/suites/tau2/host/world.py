"""The living world of one domain: the domain, one open task, what was executed."""

from typing import Any

from .domain import Domain, Task
from .errors import HostError

REQUESTORS = ("assistant", "user")


class World:
    """One domain, kept alive across tasks and taken back in place between them."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.database = domain.database
        self._first_state: dict[str, str] = {}
        self._gold_state: dict[str, str] = {}
        self.task: Task | None = None
        self.executed: list[dict[str, Any]] = []

    def open(self, task_id: str) -> str:
        """Pristine and task-initial state, in place; the state's digest.

        The first opening also plays the gold calls once, to know the gold state, and resets again.
        Raises HostError: unknown_task; unsupported; reset_failed if the state is not that of the
        first opening.
        """
        name = self.domain.name
        if task_id in self.domain.ungraded:
            message = f"{name} task {task_id} {self.domain.ungraded[task_id]}"
            raise HostError("unsupported", message)
        if task_id not in self.domain.tasks:
            raise HostError("unknown_task", f"no task {task_id!r} in the base split of {name}")
        self.close()
        task = self.domain.tasks[task_id]
        if task_id not in self._gold_state:
            self._first_state[task_id] = self._prepare(task)
            for call in task.gold:
                self._respond(call["name"], call["arguments"], call["requestor"])
            self._gold_state[task_id] = self.database.digest()
        state = self._prepare(task)
        if state != self._first_state[task_id]:
            message = f"{name} task {task_id}: state differs from that of its first opening"
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
        content, error, changed = self._respond(name, arguments, requestor)
        outcome = {
            "content": content,
            "error": error,
            "changed": changed,
            "state": self.database.digest(),
        }
        head = {
            "n": len(self.executed),
            "operation_id": operation_id,
            "name": name,
            "arguments": arguments,
            "requestor": requestor,
            "kind": self.domain.kind(name, requestor),
        }
        self.executed.append(head | outcome)
        return outcome

    def require_task(self) -> Task:
        """The open task, or HostError (no_task)."""
        if self.task is None:
            raise HostError("no_task", "no task is open; send the op `open` first")
        return self.task

    @property
    def gold_state(self) -> str:
        """Digest of the state after the open task's gold calls."""
        return self._gold_state[self.require_task().task_id]

    def _respond(
        self, name: str, arguments: dict[str, Any], requestor: str
    ) -> tuple[str, bool, list[str]]:
        self.database.begin(writing=self.domain.kind(name, requestor) == "write")
        content, error = self.domain.respond(name, arguments, requestor)
        return content, error, self.database.end()

    def _prepare(self, task: Task) -> str:
        """Reset, apply the task's initial state, digest."""
        self.database.reset()
        self.database.begin(writing=True)
        self.domain.prepare(task)
        self.database.end()
        return self.database.digest()
