"""Wrong answers in an MCP result: its text and its structured content are wrong in the same way."""

import json
from typing import Any

from hfr_bench.injectors._edits import altered

Json = dict[str, Any]


def alter(edit: str, result: Json, key: str, text: str = "") -> Json:
    """A tool's result after an edit (`injectors._edits`); all else in it stays as it was.

    Never gives back what it was given. Structured content stays an object; where a text says the
    same as it does, it still does afterwards.
    """
    blocks = result.get("content")
    blocks = list(blocks) if isinstance(blocks, list) else []
    at = next((n for n, block in enumerate(blocks) if _is_text(block)), None)
    structured = result.get("structuredContent")
    if isinstance(structured, dict) and structured:
        wrong = _object(edit, structured, key, text)
        made: Json = {**result, "structuredContent": wrong}
        if at is not None:
            blocks[at] = {**blocks[at], "text": _said(blocks[at]["text"], structured, wrong)}
        return {**made, "content": blocks}
    if at is None:
        return {**result, "content": blocks[:-1] or [{"type": "text", "text": text or "null"}]}
    blocks[at] = {**blocks[at], "text": altered(edit, blocks[at]["text"], key, text)}
    return {**result, "content": blocks}


def _is_text(block: Any) -> bool:
    return (
        isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )


def _object(edit: str, value: Json, key: str, text: str) -> Json:
    """An object after an edit; of one that merely wraps a value, the value."""
    if set(value) == {"result"}:
        inner = value["result"]
        if isinstance(inner, str):
            return {"result": altered(edit, inner, key, text)}
    wrong: Json = json.loads(altered(edit, json.dumps(value, ensure_ascii=False), key, text))
    return wrong


def _said(text: str, right: Json, wrong: Json) -> str:
    """The text that said what was right, now saying what is wrong; another text stays."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = text
    wraps = set(right) == {"result"} and set(wrong) == {"result"}
    for was, now in ((right, wrong), *([(right["result"], wrong["result"])] if wraps else [])):
        if said == was or text == was:
            if isinstance(now, str) and text == was:
                return now
            return json.dumps(now, ensure_ascii=False, indent=2 if "\n" in text else None)
    return text
