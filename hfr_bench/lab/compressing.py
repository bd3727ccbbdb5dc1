"""A rolling summary without a model, and one that asks the step's own model (rung L1).

Both keep what a conversation cannot do without: the system message, the user's first words and
the last turns. No tool call is left without its answer, nor an answer without its call: model
services refuse such conversations.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hfr_bench.ports.summarizer import Ask

Message = Mapping[str, Any]

KEEP = 6
"""Messages at the end that are never touched."""

RESULT_CHARS = 200
"""What is left of an older tool result."""

_CUT = " […]"


class RollingSummary:
    """Shortens the older tool results; where all are short already, drops the oldest of them.

    Deterministic. Implements `ports.summarizer.Summarizer`, and asks nobody.
    """

    def __init__(self, keep: int = KEEP, result_chars: int = RESULT_CHARS) -> None:
        self._keep = keep
        self._chars = result_chars

    def compress(self, messages: Sequence[Message], ask: Ask) -> list[Message]:
        """The same messages, the older results shortened; unchanged if nothing can be left out."""
        old, kept = _parted(messages, self._keep)
        shorter = [self._cut(message) for message in old]
        if shorter == old:
            shorter = _without_oldest(old)
        return [*shorter, *kept]

    def _cut(self, message: Message) -> Message:
        text = message.get("content")
        most = self._chars + len(_CUT)
        if message.get("role") != "tool" or not isinstance(text, str) or len(text) <= most:
            return message
        return {**message, "content": text[: self._chars] + _CUT}


class ModelSummary:
    """Has the step's model sum up the older turns. What it does not answer stays as it is."""

    PROMPT = (
        "Sum up the conversation so far: what was asked for, what was found out (with all ids and "
        "amounts), what was done, and what is still open. Leave nothing out that is still needed."
    )

    def __init__(self, keep: int = KEEP) -> None:
        self._keep = keep

    def compress(self, messages: Sequence[Message], ask: Ask) -> list[Message]:
        """System message, summary, last turns; unchanged if there is nothing to sum up."""
        old, kept = _parted(messages, self._keep)
        head = _head(old)
        if len(old) <= head:
            return list(messages)
        seen = ask({"messages": [*old, {"role": "user", "content": self.PROMPT}]})
        message = seen.payload if seen.answered else None
        text = message.get("content") if isinstance(message, Mapping) else None
        if not text:
            return list(messages)
        return [*old[:head], {"role": "user", "content": f"Summary so far: {text}"}, *kept]


def _parted(messages: Sequence[Message], keep: int) -> tuple[list[Message], list[Message]]:
    """Older messages and the kept last ones; a turn is never cut in two."""
    at = max(0, len(messages) - keep)
    while 0 < at < len(messages) and messages[at].get("role") == "tool":
        at -= 1
    return list(messages[:at]), list(messages[at:])


def _head(messages: Sequence[Message]) -> int:
    """How many messages at the start always stay: the system's, and the user's first words."""
    head = 0
    for role in ("system", "user"):
        head += head < len(messages) and messages[head].get("role") == role
    return head


def _without_oldest(old: list[Message]) -> list[Message]:
    """Drop the oldest call of tools with all its answers."""
    start = next((n for n in range(_head(old), len(old)) if old[n].get("tool_calls")), None)
    if start is None:
        return old
    end = start + 1
    while end < len(old) and old[end].get("role") == "tool":
        end += 1
    return old[:start] + old[end:]
