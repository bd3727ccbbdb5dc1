"""Which dialect a request speaks, told by its path; and what of it must be read.

A base URL of a trial is `/t/<trial_id>`; the providers' clients put the rest behind it:
`v1/chat/completions`, `v1/responses`, `v1/messages`, `v1beta/models/<model>:generateContent`.
"""

import json
import re
from typing import Any, NamedTuple

from hfr_bench.faults.dialects import CHAT, GEMINI, MESSAGES, RESPONSES

VERSIONS = ("v1", "v1beta")
POINT = "model:agent"

_PATHS = {"chat/completions": CHAT, "responses": RESPONSES, "messages": MESSAGES}
_GEMINI = re.compile(r"models/([^/:]+):(?:stream)?[gG]enerateContent\Z")

# Our client writes the model first; reading it there spares a parse of the conversation.
_MODEL_FIRST = re.compile(rb'\s*\{\s*"model"\s*:\s*"([^"\\]*)"')


class Route(NamedTuple):
    """Where a request goes. `dialect` is empty for requests that are no model calls.

    `point`: where its faults are planned, unless the caller names another; no fault is ever planned
    for `wire:...`. `model`: where the path names it.
    """

    dialect: str
    point: str
    model: str = ""


_CALLS = {path: Route(dialect, POINT) for path, dialect in _PATHS.items()}


def route(method: str, path: str) -> Route:
    """The route of a path without its version and query (`chat/completions`)."""
    if method == "POST":
        if (known := _CALLS.get(path)) is not None:
            return known
        if found := _GEMINI.match(path):
            return Route(GEMINI, POINT, found[1])
    return Route("", f"wire:{path}")


def dialect_of(path: str) -> str:
    """The dialect in which a path that leads nowhere is best refused."""
    name = path.split("?", 1)[0]
    if name.endswith("/messages"):
        return MESSAGES
    return GEMINI if "/v1beta/" in name else CHAT


def model_of(body: bytes) -> str:
    """The requested model; empty if there is none to be read."""
    if first := _MODEL_FIRST.match(body):
        return first[1].decode(errors="replace")
    model = parsed(body).get("model", "")
    return model if isinstance(model, str) else ""


def streams(body: bytes, path_qs: str) -> bool:
    """Whether the client asks for server-sent events."""
    return "streamGenerateContent" in path_qs or parsed(body).get("stream") is True


def tools_of(body: bytes) -> tuple[str, ...]:
    """The names of the tools that a request offers, in any dialect."""
    names: list[str] = []
    tools = parsed(body).get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        inner = tool.get("functionDeclarations") or [tool.get("function") or tool]
        for one in inner if isinstance(inner, list) else ():
            name = one.get("name") if isinstance(one, dict) else None
            if isinstance(name, str):
                names.append(name)
    return tuple(names)


def parsed(body: bytes) -> dict[str, Any]:
    """A JSON object; empty if it is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
