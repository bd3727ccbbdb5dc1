"""Where in the suite's own solution a conversation is: read from its messages alone.

The solution is cut into blocks: the agent's calls up to where the user acts, then the user's.
The number of user messages names the block. Inside it the place is told by the ids that the
stand-in gave to its own calls, `call_<index>_<try>`: index in the solution, try from 1.

A task without a user has one block. Whoever writes user messages there is the agent's own program
(which tells a model so that its answer cannot be used), and they move nothing.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from hfr_bench.model.task import OracleStep, SealedTask

MAX_TRIES = 3
_CALL_ID = re.compile(r"call_(\d+)_(\d+)")

Outcome = Literal["good", "domain", "runtime"]


class Block(NamedTuple):
    """The agent's calls (indices into the solution), then what the user is to do."""

    steps: tuple[int, ...] = ()
    then: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """A task's solution, cut into blocks. `alone`: no user takes part in it."""

    suite: str
    task_id: str
    oracle: tuple[OracleStep, ...]
    say: tuple[str, ...]
    blocks: tuple[Block, ...]
    alone: bool = False

    def block(self, number: int) -> Block:
        """The block with this number; past the end nothing is left but to finish."""
        return self.blocks[number] if 0 <= number < len(self.blocks) else Block()


def cut(task: SealedTask) -> Script:
    """Cut a task's solution into blocks; a solution that begins with the user has an empty one."""
    blocks: list[Block] = []
    steps: list[int] = []
    then: list[str] = []
    for index, step in enumerate(task.oracle):
        if step.actor == "user":
            then.append(step.tool)
            continue
        if then:
            blocks.append(Block(tuple(steps), tuple(then)))
            steps, then = [], []
        steps.append(index)
    blocks.append(Block(tuple(steps), tuple(then)))
    if then:
        blocks.append(Block())
    alone = not task.opening and len(blocks) == 1
    return Script(task.suite, task.task_id, task.oracle, task.say, tuple(blocks), alone)


class Made(NamedTuple):
    """The furthest call the stand-in made in this block, and how it came out."""

    step: int
    tried: int
    arguments: dict[str, Any] | None
    outcome: Outcome


def read(messages: Sequence[Mapping[str, Any]], *, alone: bool = False) -> tuple[int, Made | None]:
    """(user messages so far, the furthest call since the last of them).

    `alone`: none of them is a user's but the first.
    """
    users, since = 0, 0
    for at, message in enumerate(messages):
        if message.get("role") == "user" and not (alone and users):
            users, since = users + 1, at + 1
    furthest: tuple[int, int] | None = None
    asked: Mapping[str, Any] = {}
    for message in messages[since:]:
        for call in message.get("tool_calls") or ():
            found = _CALL_ID.fullmatch(str(call.get("id")))
            place = (int(found[1]), int(found[2])) if found else None
            if place is not None and (furthest is None or place > furthest):
                furthest, asked = place, call
    if furthest is None:
        return users, None
    results = [m for m in messages[since:] if m.get("tool_call_id") == asked.get("id")]
    outcome = judge(results[-1].get("content")) if results else "good"
    return users, Made(*furthest, _arguments(asked), outcome)


def judge(content: Any) -> Outcome:
    """What a tool result says.

    `{"error": {...}}` is our runtime handing over a failure; a text that starts with "Error" is
    the tool's own.
    """
    text = content.strip() if isinstance(content, str) else ""
    if text.startswith("Error"):
        return "domain"
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except ValueError:
            return "good"
        if isinstance(value.get("error"), dict):
            return "runtime"
    return "good"


def _arguments(call: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        value = json.loads(call["function"]["arguments"])
    except (ValueError, LookupError, TypeError):
        return None
    return value if isinstance(value, dict) else None
