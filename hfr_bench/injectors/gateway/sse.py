"""Server-sent events of the four dialects: what a stream adds up to, and the stream of an answer.

Only what an edit has to look at passes through here; an answer without a fault goes on its way
byte by byte. A stream that is made anew says the same in fewer pieces.
"""

import json
from collections.abc import Iterator
from typing import Any

from hfr_bench.faults.dialects import CHAT, GEMINI, MESSAGES, RESPONSES

Json = dict[str, Any]

ENDS = {
    CHAT: b"[DONE]",
    RESPONSES: b"response.completed",
    MESSAGES: b"message_stop",
    GEMINI: b'"finishReason"',
}
"""What the last event of a stream holds; a client may act on it before the stream ends."""

_PIECE = 12


def events(raw: bytes) -> Iterator[Json]:
    """The JSON objects of a stream's events. Raises ValueError if one is no JSON."""
    for line in raw.split(b"\n"):
        if line.startswith(b"data:") and (data := line[5:].strip()) != b"[DONE]":
            found = json.loads(data)
            if isinstance(found, dict):
                yield found


def assembled(dialect: str, raw: bytes) -> Json:
    """The answer that a stream adds up to, as it would have come without streaming.

    Raises ValueError, LookupError or TypeError if it is not a whole stream of that dialect.
    """
    add_up = {CHAT: _chat, RESPONSES: _response, MESSAGES: _message, GEMINI: _gemini}
    return add_up[dialect](list(events(raw)))


def stream_of(dialect: str, answer: Json) -> bytes:
    """An answer as a stream of its dialect."""
    if dialect == CHAT:
        return b"".join(_data(chunk) for chunk in _chat_chunks(answer)) + b"data: [DONE]\n\n"
    if dialect == GEMINI:
        return _data(answer)
    chunks = _response_events(answer) if dialect == RESPONSES else _message_events(answer)
    return b"".join(f"event: {chunk['type']}\n".encode() + _data(chunk) for chunk in chunks)


def error_stream(dialect: str, body: bytes) -> bytes:
    """A body that is JSON and holds an error, as a stream tells it."""
    if dialect == MESSAGES:
        return b"event: error\ndata: " + body + b"\n\n"
    if dialect == RESPONSES:  # a response is created first, and then fails
        names = ("response.created", "response.failed")
        answer = json.loads(body)
        told = [{"type": name, "sequence_number": n} for n, name in enumerate(names)]
        return b"".join(
            f"event: {one['type']}\n".encode() + _data({**one, "response": answer}) for one in told
        )
    return b"data: " + body + b"\n\n" + (b"data: [DONE]\n\n" if dialect == CHAT else b"")


def _data(value: Json) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode(errors="surrogatepass")


def _pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), _PIECE):
        yield text[at : at + _PIECE]


# -- OpenAI chat completions ----------------------------------------------------------------------


def _chat(chunks: list[Json]) -> Json:
    first = chunks[0]
    message: Json = {"role": "assistant", "content": None}
    calls: dict[int, Json] = {}
    choice: Json = {"index": 0, "message": message, "finish_reason": None}
    answer = {**first, "object": "chat.completion", "choices": [choice]}
    for chunk in chunks:
        answer["usage"] = chunk.get("usage") or answer.get("usage")
        for piece in chunk["choices"][:1]:
            choice["finish_reason"] = piece.get("finish_reason") or choice["finish_reason"]
            delta = piece.get("delta") or {}
            for name in ("content", "refusal"):
                if delta.get(name):
                    message[name] = (message.get(name) or "") + delta[name]
            for part in delta.get("tool_calls") or ():
                _add_call(calls, part)
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return answer


def _add_call(calls: dict[int, Json], part: Json) -> None:
    made = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    call = calls.setdefault(part["index"], made)
    call["id"] = part.get("id") or call["id"]
    for name, text in (part.get("function") or {}).items():
        call["function"][name] += text or ""


def _chat_chunks(answer: Json) -> Iterator[Json]:
    choice = answer["choices"][0]
    message = choice["message"]
    usage = answer.get("usage")
    head = {k: v for k, v in answer.items() if k not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": None})
    for name in ("content", "refusal"):
        for piece in _pieces(message.get(name) or ""):
            yield chunk({name: piece})
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        begun = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield chunk({"tool_calls": [begun]})
        for piece in _pieces(function["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if usage:
        yield {**head, "choices": [], "usage": usage}


# -- OpenAI responses -----------------------------------------------------------------------------


def _response(found: list[Json]) -> Json:
    answer: Json = found[-1]["response"]
    if answer["status"] not in ("completed", "incomplete"):
        raise ValueError("the response is not a whole one")
    return answer


def _response_events(answer: Json) -> Iterator[Json]:
    begun = {**answer, "status": "in_progress", "output": []}
    made: list[Json] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(answer["output"]):
        at = {"output_index": index}
        whole: Json = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
        opened = {**item, "status": "in_progress", **whole}
        made.append({"type": "response.output_item.added", **at, "item": opened})
        made += _item_events(item, {"item_id": item.get("id", ""), **at})
        made.append({"type": "response.output_item.done", **at, "item": item})
    made.append({"type": "response.completed", "response": answer})
    for number, one in enumerate(made):
        yield {**one, "sequence_number": number}


def _item_events(item: Json, at: Json) -> Iterator[Json]:
    if item["type"] == "function_call":
        name, text = "response.function_call_arguments", item["arguments"]
        for piece in _pieces(text):
            yield {"type": f"{name}.delta", **at, "delta": piece}
        yield {"type": f"{name}.done", **at, "name": item["name"], "arguments": text}
    for number, part in enumerate(item.get("content") or ()):
        here = {**at, "content_index": number}
        kind = "refusal" if part["type"] == "refusal" else "text"
        name = "response.refusal" if kind == "refusal" else "response.output_text"
        more: Json = {} if kind == "refusal" else {"logprobs": []}
        yield {"type": "response.content_part.added", **here, "part": {**part, kind: ""}}
        for piece in _pieces(part[kind]):
            yield {"type": f"{name}.delta", **here, "delta": piece, **more}
        yield {"type": f"{name}.done", **here, kind: part[kind], **more}
        yield {"type": "response.content_part.done", **here, "part": part}


# -- Anthropic messages ---------------------------------------------------------------------------


def _message(found: list[Json]) -> Json:
    answer: Json = {}
    for event in found:
        match event["type"]:
            case "message_start":
                answer = {**event["message"], "content": []}
            case "content_block_start":
                answer["content"].append({**event["content_block"], "": ""})
            case "content_block_delta":
                _add_delta(answer["content"][event["index"]], event["delta"])
            case "message_delta":
                answer.update(event["delta"])
                answer["usage"] = {**answer.get("usage", {}), **event.get("usage", {})}
    for block in answer["content"]:
        said = block.pop("")
        if block["type"] == "tool_use":
            block["input"] = json.loads(said or "{}")
    return answer


def _add_delta(block: Json, delta: Json) -> None:
    """`""` holds a tool's input, which is JSON only once it is whole."""
    for name, text in delta.items():
        if name == "partial_json":
            block[""] += text
        elif name != "type" and isinstance(text, str):
            block[name] = block.get(name, "") + text


def _message_events(answer: Json) -> Iterator[Json]:
    start = {**answer, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(answer["content"]):
        at = {"index": index}
        if block["type"] == "tool_use":
            opened, name, key = {**block, "input": {}}, "input_json_delta", "partial_json"
            said = block["input"]
            cut = said.get("INVALID_JSON") if len(said) == 1 else None
            text = cut if isinstance(cut, str) else json.dumps(said, ensure_ascii=False)
        else:
            key = "thinking" if block["type"] == "thinking" else "text"
            opened, name, text = {**block, key: ""}, f"{key}_delta", block.get(key, "")
        yield {"type": "content_block_start", **at, "content_block": opened}
        for piece in _pieces(text):
            yield {"type": "content_block_delta", **at, "delta": {"type": name, key: piece}}
        yield {"type": "content_block_stop", **at}
    ended = {"stop_reason": answer["stop_reason"], "stop_sequence": answer.get("stop_sequence")}
    usage = answer.get("usage") or {}
    yield {"type": "message_delta", "delta": ended, "usage": usage}
    yield {"type": "message_stop"}


# -- Gemini ---------------------------------------------------------------------------------------


def _gemini(chunks: list[Json]) -> Json:
    answer: Json = {}
    parts: list[Json] = []
    first: Json = {}
    for chunk in chunks:
        answer.update(chunk)
        for candidate in chunk.get("candidates", ())[:1]:
            parts += (candidate.get("content") or {}).get("parts") or ()
            first.update(candidate)
    if not first:
        raise ValueError("no candidate")
    first["content"] = {"role": "model", "parts": _joined(parts)}
    answer["candidates"] = [first]
    return answer


def _joined(parts: list[Json]) -> list[Json]:
    """Texts that follow each other are one."""
    made: list[Json] = []
    for part in parts:
        if made and set(part) == set(made[-1]) == {"text"}:
            made[-1] = {"text": made[-1]["text"] + part["text"]}
        else:
            made.append(part)
    return made
