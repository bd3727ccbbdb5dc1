"""What a source of tau tasks offers the host: its domains, each with a living environment.

Two sources implement it: `source_tau2` (tau2-bench, installed or as a checkout) and
`source_tau_bench` (the older tau-bench, a checkout). All else in this folder knows only this file.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from .states import DatabaseState

Log = Sequence[dict[str, Any]]


class Task(NamedTuple):
    """One task. `data`: all of it as plain data; `upstream`: upstream's own object.

    `gold`: action_id, name, arguments, requestor, kind of each call. `basis`: the parts of the
    official verdict, sorted. `user`: the scenario; its `text` is the whole of it.
    """

    task_id: str
    data: dict[str, Any]
    upstream: Any
    user: dict[str, Any]
    gold: tuple[dict[str, Any], ...]
    communicate: tuple[str, ...]
    basis: tuple[str, ...]
    env_assertions: int = 0


class Domain(Protocol):
    """One upstream domain, kept alive across tasks and taken back in place between them.

    `ungraded`: tasks that are not offered, and why. `tools`: name, description, parameters, kind.
    """

    name: str
    policy: str
    tools: list[dict[str, Any]]
    user_tools: list[dict[str, Any]]
    tasks: dict[str, Task]
    ungraded: dict[str, str]
    database: DatabaseState

    def kind(self, name: str, requestor: str) -> str | None:
        """read, write, think or generic; None if there is no such tool."""

    def prepare(self, task: Task) -> None:
        """From the pristine state to the task's initial one."""

    def respond(self, name: str, arguments: dict[str, Any], requestor: str) -> tuple[str, bool]:
        """Run the true tool: what it answers, and whether that is an error."""

    def judges(
        self, task: Task, log: Log, said: list[str], *, as_gold: bool
    ) -> dict[str, Callable[[], bool]]:
        """How to judge each part of a verdict; `as_gold`: the database is as after gold."""

    def second_opinion(self, task: Task, log: Log, said: list[str]) -> dict[str, Any]:
        """The verdict by upstream's own code, from the executed log: `components`, `db_match`."""

    def hashes(self) -> list[str]:
        """Upstream's own hashes of the whole present state."""


class Source(Protocol):
    """Where the tasks come from."""

    domains: tuple[str, ...]

    def distribution(self) -> dict[str, str]:
        """Its `name` and `version`. Raises HostError if it is not what it should be."""

    def open_domain(self, name: str) -> Domain:
        """A living environment of one of its domains."""


def told(wanted: Sequence[str], said: Sequence[str]) -> bool:
    """Upstream's rule: each string is part of something said; case and commas do not count."""
    spoken = [text.lower().replace(",", "") for text in said if text.strip()]
    return all(any(info.lower() in text for text in spoken) for info in wanted)
