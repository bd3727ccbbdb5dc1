"""The person the agent talks to."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the user says. `over`: the conversation ends with it."""

    text: str
    over: bool = False


class User(Protocol):
    """Scripted or simulated. Its own tool calls are never faulted, guarded or counted."""

    def open(self) -> UserTurn: ...

    def reply(self, text: str) -> UserTurn: ...
