"""What a model server of each dialect answers: a tool call, or a text; and how it is asked."""

import json
from typing import Any

from hfr_bench.faults.dialects import CHAT, GEMINI, MESSAGES, RESPONSES
from hfr_bench.injectors.gateway import sse

ARGUMENTS = {"item": "green tea", "count": 2}
TEXT = "All of it is done, as you asked."

SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}}}

PATHS = {
    CHAT: "v1/chat/completions",
    RESPONSES: "v1/responses",
    MESSAGES: "v1/messages",
    GEMINI: "v1beta/models/m:generateContent",
}
STREAMED_PATHS = {**PATHS, GEMINI: "v1beta/models/m:streamGenerateContent?alt=sse"}

_ASK = {"role": "user", "content": "hi"}
_FUNCTION = {"name": "order", "parameters": SCHEMA}
REQUESTS: dict[str, dict[str, Any]] = {
    CHAT: {
        "model": "m",
        "messages": [_ASK],
        "tools": [{"type": "function", "function": _FUNCTION}],
    },
    RESPONSES: {"model": "m", "input": "hi", "tools": [{"type": "function", **_FUNCTION}]},
    MESSAGES: {
        "max_tokens": 9,
        "model": "m",
        "messages": [_ASK],
        "tools": [{"name": "order", "input_schema": SCHEMA}],
    },
    GEMINI: {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [_FUNCTION]}],
    },
}


def request(dialect: str, *, streamed: bool = False) -> dict[str, Any]:
    asked = dict(REQUESTS[dialect])
    return asked | {"stream": True} if streamed and dialect != GEMINI else asked


def answer(dialect: str, *, calls: bool = True) -> dict[str, Any]:
    """A whole answer: with a tool call, or with a text alone."""
    said = json.dumps(ARGUMENTS)
    if dialect == CHAT:
        function = {"name": "order", "arguments": said}
        call = {"id": "call_1", "type": "function", "function": function}
        message: dict[str, Any] = {"role": "assistant", "content": None if calls else TEXT}
        if calls:
            message["tool_calls"] = [call]
        finish = "tool_calls" if calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        return {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-1",
            "choices": [choice], "usage": usage,
        }  # fmt: skip
    if dialect == RESPONSES:
        return _response(said, calls=calls)
    if dialect == MESSAGES:
        block: dict[str, Any] = {"type": "text", "text": TEXT}
        if calls:
            block = {"type": "tool_use", "id": "toolu_1", "name": "order", "input": ARGUMENTS}
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1",
            "content": [block], "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 3},
        }  # fmt: skip
    part: dict[str, Any] = {"text": TEXT}
    if calls:
        part = {"functionCall": {"name": "order", "args": ARGUMENTS}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m-1"}


def _response(said: str, *, calls: bool) -> dict[str, Any]:
    if calls:
        item: dict[str, Any] = {
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "order",
            "arguments": said, "status": "completed",
        }  # fmt: skip
    else:
        part = {"type": "output_text", "text": TEXT, "annotations": []}
        item = {
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [part],
        }  # fmt: skip
    details: dict[str, Any] = {
        "input_tokens": 7, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 10,
    }  # fmt: skip
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
        "error": None, "incomplete_details": None, "instructions": None, "model": "m-1",
        "output": [item], "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto",
        "tools": [], "top_p": 1.0, "usage": details, "metadata": {},
    }  # fmt: skip


def dialect_of(path: str) -> str:
    """Which dialect the model server is asked in."""
    return next((d for d, known in PATHS.items() if path.endswith(known[2:])), GEMINI)


class ModelServer:
    """Answers like the service that is asked: by path, whole or as a stream.

    To be used as `Upstream.answer`. `calls`: with a tool call.
    """

    def __init__(self, upstream: Any, *, calls: bool = True) -> None:
        self._upstream = upstream
        self._calls = calls
        self.sent: list[bytes] = []

    def __call__(self, handler: Any, body: bytes) -> None:
        path, asked = handler.path, json.loads(body)
        dialect = dialect_of(path)
        found = answer(dialect, calls=self._calls)
        if "streamGenerateContent" in path or asked.get("stream"):
            raw, kind = sse.stream_of(dialect, found), "text/event-stream"
        else:
            raw, kind = json.dumps(found).encode(), "application/json"
        self.sent.append(raw)
        self._upstream.send(handler, 200, raw, content_type=kind)
