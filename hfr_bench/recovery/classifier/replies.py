"""A model's answer, whatever its dialect, and what may be wrong with it (paper §5.4, hook 2)."""

import json
from typing import Any, NamedTuple

from hfr_bench.recovery.classifier.dialects import ANSWERS, FINISH, ORDINARY
from hfr_bench.recovery.classifier.families import T8, V1, Means
from hfr_bench.recovery.classifier.signals import at, plain

_DEPTH = 6
_TEXTS = ("text", "content", "output_text", "outputText", "generated_text")
_CALLS = ("function", "functionCall", "function_call", "toolUse")
_INPUTS = ("arguments", "args", "input", "parameters")


class Reply(NamedTuple):
    """What is in an answer. `broken`: a tool call whose name or arguments cannot be read."""

    text: bool = False
    calls: bool = False
    broken: bool = False
    refused: bool = False
    finish: str | None = None


def reply_of_message(message: Any, finish: str | None) -> Reply:
    """An OpenAI-like message with the reason why it ended."""
    parts = _Parts()
    parts.read(message, 0)
    return Reply(parts.text, parts.calls, parts.broken, parts.refused, finish)


def reply_of_body(data: Any) -> Reply | None:
    """The answer in a parsed body, or None if it has the shape of no known answer."""
    if isinstance(data, list):
        data = data[-1] if data else None
    for shape in ANSWERS:
        if at(data, shape.shape) is None:
            continue
        content = next((c for c in (at(data, path) for path in shape.content) if c), None)
        finish = next((f for f in (at(data, path) for path in shape.finish) if f), None)
        found = reply_of_message(content, finish if isinstance(finish, str) else None)
        stopped = any(at(data, path) for path in shape.policy)
        return found._replace(refused=found.refused or stopped)
    return None


def judge(answer: Reply, *, after_write: bool = False) -> tuple[Means, str] | None:
    """What is wrong with an answer and the rule that says so; None if nothing is.

    `after_write`: ending the turn without a word is fine.
    """
    if answer.refused:
        return Means(T8), "refusal"
    if answer.finish not in ORDINARY:
        ended = plain(answer.finish or "")
        means = FINISH.get(ended)
        if means is not None and not (means.vague and (answer.text or answer.calls)):
            return means, f"ended by {ended}"
    if answer.broken:
        return Means(V1, 0.9, repairable=True), "malformed tool call"
    if answer.text or answer.calls or after_write:
        return None
    return Means(V1, 0.8), "empty answer"


class _Parts:
    """What blocks and messages hold, at any depth."""

    def __init__(self) -> None:
        self.text = self.calls = self.broken = self.refused = False

    def read(self, value: Any, depth: int) -> None:
        if isinstance(value, str):
            self.text = self.text or bool(value.strip())
        elif isinstance(value, list) and depth < _DEPTH:
            for one in value:
                self.read(one, depth + 1)
        elif isinstance(value, dict) and depth < _DEPTH:
            self._block(value, depth)

    def _block(self, block: dict[str, Any], depth: int) -> None:
        kind = block.get("type")
        if block.get("refusal") or kind == "refusal":
            self.refused = True
        elif kind in ("tool_use", "function_call"):
            self._call(block)
        elif isinstance(kind, str) and ("reasoning" in kind or "thinking" in kind):
            return  # thoughts are no answer
        elif block.get("thought") is True and "functionCall" not in block:
            return
        else:
            for key in _CALLS:
                if isinstance(block.get(key), dict):
                    self._call(block[key])
            for key in _TEXTS:
                self.read(block.get(key), depth + 1)
            self.read(block.get("tool_calls"), depth + 1)
            if (
                kind in ("image", "output_image", "audio", "server_tool_use")
                or "inlineData" in block
            ):
                self.text = True

    def _call(self, call: dict[str, Any]) -> None:
        self.calls = True
        given = next((call[key] for key in _INPUTS if key in call), None)
        if isinstance(given, str):
            try:
                given = json.loads(given)
            except (ValueError, RecursionError):
                self.broken = True
        if not (isinstance(given, dict) or given is None) or not call.get("name"):
            self.broken = True
