"""Agents, and the guarded runtime they are given. An agent does not know the strategy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from hfr_bench.model.task import OracleStep, TaskSpec
from hfr_bench.ports.user import UserTurn

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call the model asks for. `call_id` is the model's own name for it.

    `malformed`: what was wrong with its arguments, if they could not be read.
    """

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    malformed: str | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's turn: the raw assistant message and what it asks for."""

    message: Message
    text: str = ""
    tool_requests: tuple[ToolRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What the agent is given for a tool call. `failed`: the runtime gave up on it (REPLAN)."""

    content: str
    failed: bool = False


class Runtime(Protocol):
    """Guarded model, tools and user. Ends the trial from within (escalate, fail, limit)."""

    def model(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> ModelReply: ...

    def tool(self, request: ToolRequest) -> ToolReply: ...

    def user_opens(self) -> UserTurn: ...

    def user_replies(self, text: str) -> UserTurn: ...


@dataclass(frozen=True, slots=True)
class Oracle:
    """The suite's own solution: calls in order, and what the user must be told."""

    steps: tuple[OracleStep, ...] = ()
    say: tuple[str, ...] = ()


class Agent(Protocol):
    """Works on one task and returns when it believes it is done.

    `oracle` is empty for every agent that does not declare `needs_oracle = True`.
    """

    def run(self, task: TaskSpec, runtime: Runtime, oracle: Oracle) -> None: ...


@runtime_checkable
class Resumable(Protocol):
    """An agent that can go on after a crash of its runtime (paper §5.4).

    An agent without this starts its task over in the living world.
    """

    def state(self) -> dict[str, Any]:
        """A JSON value that says how far it is; asked while it waits for its runtime.

        A call that it waits for is not behind it: it will be asked for once more.
        """
        ...

    def resume(self, state: Mapping[str, Any]) -> None:
        """Be, before `run`, where an agent was whose `state` this is; {} = at the start."""
        ...
