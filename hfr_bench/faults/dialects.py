"""The model dialects, and how each provider says an error: what a kind for one says in another.

A kind states its wire for every dialect in which it matters. Where it states `openai_chat` alone,
the others follow from it: a connection breaks alike everywhere, edits name what they do and not how
a dialect writes it, and an error answer is told again in the provider's own words, by its status.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hfr_bench.model.schedule import KindSpec, Respond, Wire

CHAT, RESPONSES, MESSAGES, GEMINI = "openai_chat", "openai_responses", "anthropic", "gemini"
MODEL_DIALECTS = (CHAT, RESPONSES, MESSAGES, GEMINI)

_JSON = MappingProxyType({"content-type": "application/json"})

# Where a provider has a name of its own for a status; the last row is for all others.
_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_GOOGLE = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
# Google has no 529: its overloaded model is a 503.
_GOOGLE_STATUS = {529: 503}


def effect_in(kind: KindSpec, dialect: str) -> Wire:
    """What a kind does in a dialect: as it states, else as follows from `openai_chat`.

    Raises KeyError that says what there is, if neither is stated, or if a successful answer would
    have to be translated: its content is the dialect's own.
    """
    stated = kind.wire.get(dialect)
    if stated is not None:
        return stated
    model = kind.wire.get(CHAT) if dialect in MODEL_DIALECTS else None
    if model is not None and not isinstance(model, Respond):
        return model
    if model is not None and model.status >= 400:
        return _translated(model, dialect)
    there = ", ".join(kind.wire) or "none"
    raise KeyError(f"the kind {kind.kind!r} has no wire for {dialect!r}; it has: {there}")


def speaks(kind: KindSpec, dialect: str) -> bool:
    """Whether a kind can be played in a dialect."""
    try:
        effect_in(kind, dialect)
    except KeyError:
        return False
    return True


def error_body(dialect: str, status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """An error as the dialect's provider writes it. `code`: OpenAI's, or null."""
    if dialect == MESSAGES:
        kind = _ANTHROPIC.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}
    if dialect == GEMINI:
        status = _GOOGLE_STATUS.get(status, status)
        name = _GOOGLE.get(status, "INTERNAL")
        return {"error": {"code": status, "message": message, "status": name}}
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _translated(stated: Respond, dialect: str) -> Respond:
    """An OpenAI error answer, as another provider sends it."""
    error = _error_of(stated.body)
    if dialect == RESPONSES or error is None:  # the same service, or no JSON: the same answer
        return stated
    body = error_body(dialect, stated.status, str(error.get("message", "")))
    headers = {**_JSON, **_wait(stated.headers, dialect, body)}
    if dialect == MESSAGES:
        headers["request-id"] = body["request_id"] = "{request_id}"
    status = _GOOGLE_STATUS.get(stated.status, stated.status) if dialect == GEMINI else None
    return Respond(status=status or stated.status, headers=headers, body=json.dumps(body))


def _wait(headers: Mapping[str, str], dialect: str, body: dict[str, Any]) -> dict[str, str]:
    """The stated wait: a header, or, at Google, a detail of the error."""
    stated = {name.lower(): value for name, value in headers.items()}
    wait = stated.get("retry-after")
    if wait is None:
        return {}
    if dialect == GEMINI:
        info = "type.googleapis.com/google.rpc.RetryInfo"
        body["error"]["details"] = [{"@type": info, "retryDelay": f"{wait}s"}]
        return {}
    return {"retry-after": wait}


def _error_of(body: str) -> Mapping[str, Any] | None:
    """OpenAI's error object; placeholders (`{s}`) stand in strings or for numbers alike."""
    try:
        found = json.loads(body)
    except ValueError:
        return None
    error = found.get("error") if isinstance(found, dict) else None
    return error if isinstance(error, dict) else None
