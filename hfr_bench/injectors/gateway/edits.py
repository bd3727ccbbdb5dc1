"""Named edits of a model's real answer, the same in every dialect and for every format.

An edit of the answer's content works on its JSON; of a stream, on the answer that the stream adds
up to (`sse`). An edit of its bytes comes last. An answer is always altered by them: where there is
no tool call to spoil, the model has made one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from hfr_bench.faults.dialects import CHAT, GEMINI, MESSAGES, RESPONSES
from hfr_bench.injectors.gateway import sse

Json = dict[str, Any]
Edit = Callable[[Json, str, Sequence[str]], None]

REFUSAL = "I'm sorry, but I can't help with that request."
UNREADABLE = "INVALID_JSON"
"""Where a dialect carries a tool's arguments parsed, what could not be parsed is under this key."""


class _Spot(NamedTuple):
    """One tool call: the object that holds it, and under which keys."""

    holder: Json
    name: str
    arguments: str


def cut_arguments(answer: Json, dialect: str, tools: Sequence[str]) -> None:
    """The arguments of the first tool call break off: they are no JSON any more."""
    spot = _first_call(answer, dialect, tools)
    said = spot.holder[spot.arguments]
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    text = text[: len(text) // 2] or "{"
    if dialect == GEMINI:  # there, the service itself finds that out
        answer["candidates"][0].update(
            content={}, finishReason="MALFORMED_FUNCTION_CALL",
            finishMessage=f"Malformed function call: {spot.holder[spot.name]}({text}",
        )  # fmt: skip
    elif dialect == MESSAGES:
        spot.holder[spot.arguments] = {UNREADABLE: text}
    else:
        spot.holder[spot.arguments] = text


def rename_tool(answer: Json, dialect: str, tools: Sequence[str]) -> None:
    """The first tool call is of a tool that was not offered."""
    spot = _first_call(answer, dialect, tools)
    name = f"{spot.holder[spot.name]}_v2"
    while name in tools:
        name += "_v2"
    spot.holder[spot.name] = name


def refuse(answer: Json, dialect: str, _: Sequence[str]) -> None:
    """The model refuses, as the provider tells it."""
    if dialect == CHAT:
        message = {"role": "assistant", "content": None, "refusal": REFUSAL}
        answer["choices"][0].update(message=message, finish_reason="stop")
    elif dialect == RESPONSES:
        said = {"type": "refusal", "refusal": REFUSAL}
        item = {"type": "message", "id": "msg_0", "role": "assistant", "status": "completed"}
        answer["output"] = [item | {"content": [said]}]
    elif dialect == MESSAGES:
        answer.update(content=[], stop_reason="refusal", stop_sequence=None)
    else:
        category = "HARM_CATEGORY_DANGEROUS_CONTENT"
        rating = {"category": category, "probability": "HIGH", "blocked": True}
        stopped = {"index": 0, "finishReason": "SAFETY", "safetyRatings": [rating]}
        answer["candidates"] = [stopped]


def truncate_body(body: bytes) -> bytes:
    """The first half, as if it were the whole."""
    return body[: len(body) // 2]


OF_CONTENT: Mapping[str, Edit] = MappingProxyType(
    {"cut_arguments": cut_arguments, "rename_tool": rename_tool, "refuse": refuse}
)
OF_BYTES: Mapping[str, Callable[[bytes], bytes]] = MappingProxyType(
    {"truncate_body": truncate_body}
)
NAMES = frozenset(OF_CONTENT) | frozenset(OF_BYTES)


def edited(
    edits: Sequence[str], body: bytes, dialect: str, tools: Sequence[str], *, streamed: bool
) -> bytes | None:
    """The body with the edits made; None if it is not the answer of a model.

    `edits`: names out of NAMES (KeyError for another). `tools`: names of those that were offered.
    """
    if content := [OF_CONTENT[name] for name in edits if name not in OF_BYTES]:
        try:
            answer = sse.assembled(dialect, body) if streamed else json.loads(body)
            for edit in content:
                edit(answer, dialect, tools)
            if streamed:
                body = sse.stream_of(dialect, answer)
            else:
                body = json.dumps(answer, ensure_ascii=False).encode(errors="surrogatepass")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None
    for name in edits:
        if name in OF_BYTES:
            body = OF_BYTES[name](body)
    return body


def _first_call(answer: Json, dialect: str, tools: Sequence[str]) -> _Spot:
    """The first tool call of an answer; one is made where there is none."""
    tool = tools[0] if tools else "tool"
    if dialect == CHAT:
        choice = answer["choices"][0]
        calls = choice["message"].get("tool_calls")
        if not calls:
            function = {"name": tool, "arguments": "{}"}
            calls = [{"id": "call_0", "type": "function", "function": function}]
            choice["message"]["tool_calls"] = calls
            choice["finish_reason"] = "tool_calls"
        return _Spot(calls[0]["function"], "name", "arguments")
    if dialect == RESPONSES:
        found = [item for item in answer["output"] if item["type"] == "function_call"]
        if not found:
            call = {"type": "function_call", "id": "fc_0", "call_id": "call_0", "name": tool}
            found = [call | {"arguments": "{}", "status": "completed"}]
            answer["output"].append(found[0])
        return _Spot(found[0], "name", "arguments")
    if dialect == MESSAGES:
        found = [block for block in answer["content"] if block["type"] == "tool_use"]
        if not found:
            found = [{"type": "tool_use", "id": "toolu_0", "name": tool, "input": {}}]
            answer["content"].append(found[0])
            answer["stop_reason"] = "tool_use"
        return _Spot(found[0], "name", "input")
    parts = answer["candidates"][0].setdefault("content", {"role": "model"}).setdefault("parts", [])
    found = [part["functionCall"] for part in parts if "functionCall" in part]
    if not found:
        found = [{"name": tool, "args": {}}]
        parts.append({"functionCall": found[0]})
    found[0].setdefault("args", {})
    return _Spot(found[0], "name", "args")
