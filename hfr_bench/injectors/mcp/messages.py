"""JSON-RPC as it lies on the wire: what of a message must be read, and nothing that need not be.

Messages pass as the bytes that came. Read are requests that call a tool, answers, and the ids by
which they belong together; what cannot be read passes, too. Pure.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hfr_bench.injectors._trail import Coordinate
from hfr_bench.model.record import json_digest

Json = dict[str, Any]
Id = str | int | float

CALL = "tools/call"
TOLD = "hfr-bench/"
"""Prefix of the keys in `_meta` by which a caller names the coordinate of a call."""

_VERSION = "io.modelcontextprotocol/protocolVersion"  # stamped on every request without sessions
_COUNT_MAX = 10**9
_EVENT_END = re.compile(rb"\r\n\r\n|\n\r\n|\n\n|\r\r")


class ToolRequest(NamedTuple):
    """A request that calls a tool. `raw`: as it came. `args_digest`: what is asked of the tool."""

    id: Id
    tool: str
    arguments: Json
    args_digest: str
    told: Coordinate | None
    modern: bool
    raw: bytes
    message: Json


def parse(raw: bytes) -> Any:
    """The JSON value of some bytes; None where they are none."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def is_id(value: Any) -> bool:
    """Whether a value may be the id of a request."""
    return (_is_text(value) or isinstance(value, int | float)) and not isinstance(value, bool)


def method_of(message: Any) -> str:
    """The method of a request or notification; "" of anything else."""
    method = message.get("method") if isinstance(message, dict) else None
    return method if isinstance(method, str) else ""


def request_id(message: Any) -> Id | None:
    """The id of a request."""
    found = message.get("id") if method_of(message) else None
    return found if is_id(found) else None


def answered_id(message: Any) -> Id | None:
    """The id of the request that this answers; None if it is no answer."""
    if not isinstance(message, dict) or method_of(message):
        return None
    found = message.get("id")
    return found if is_id(found) and ("result" in message or "error" in message) else None


def cancelled_id(message: Any) -> Id | None:
    """The id of the request that is no longer wanted; None if this says no such thing."""
    if method_of(message) != "notifications/cancelled":
        return None
    params = message.get("params")
    found = params.get("requestId") if isinstance(params, dict) else None
    return found if is_id(found) else None


def tool_request(raw: bytes, message: Any) -> ToolRequest | None:
    """A tool's call, or None for anything else.

    A later round of one call (it carries `requestState` or `inputResponses`) is no call of its own.
    """
    number = request_id(message)
    if number is None or message["method"] != CALL:
        return None
    params = message.get("params")
    if not isinstance(params, dict) or not _is_text(params.get("name")):
        return None
    arguments = params.get("arguments")
    arguments = arguments if isinstance(arguments, dict) else {}
    if "requestState" in params or "inputResponses" in params:
        return None
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    tool = params["name"]
    told = _told(meta, f"tool:{tool}")
    if any(str(key).startswith(TOLD) for key in meta):
        raw, message = _untold(message, params, meta)
    try:
        digest = json_digest(arguments)
    except RecursionError:
        return None
    return ToolRequest(number, tool, arguments, digest, told, _VERSION in meta, raw, message)


def _told(meta: Mapping[str, Any], point: str) -> Coordinate | None:
    """The coordinate that a caller names in `_meta`; None where it names none."""
    occurrence, attempt = meta.get(f"{TOLD}occurrence"), meta.get(f"{TOLD}attempt")
    named = meta.get(f"{TOLD}point", point)
    if not _counts(occurrence) or not _counts(attempt) or not _is_text(named):
        return None
    return Coordinate(named, int(occurrence or 0), int(attempt or 0), told=True)


def _is_text(value: Any) -> bool:
    """Whether a value is text that can be written down (half a character cannot)."""
    try:
        return isinstance(value, str) and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _COUNT_MAX


def _untold(message: Json, params: Json, meta: Json) -> tuple[bytes, Json]:
    """The request without what was meant for us; an empty `_meta` goes, too."""
    rest = {key: value for key, value in meta.items() if not key.startswith(TOLD)}
    kept = {key: value for key, value in params.items() if key != "_meta"}
    made = {**message, "params": {**kept, "_meta": rest} if rest else kept}
    return encode(made), made


def encode(message: Mapping[str, Any]) -> bytes:
    """A message as one line of JSON, without its end."""
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
    return text.encode(errors="surrogatepass")


def answer_to(number: Id, message: Mapping[str, Any]) -> bytes:
    """An answer as it is sent: the message with the request's id."""
    said = {key: value for key, value in message.items() if key not in ("jsonrpc", "id")}
    return encode({"jsonrpc": "2.0", "id": number, **said})


# -- server-sent events ---------------------------------------------------------------------------


class Events:
    """A stream of server-sent events, cut into them as its bytes come."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Each event that is whole now, with the empty line behind it."""
        self._rest += piece
        while found := _EVENT_END.search(self._rest):
            event, self._rest = self._rest[: found.end()], self._rest[found.end() :]
            yield event

    def rest(self) -> bytes:
        """What came behind the last whole event."""
        rest, self._rest = self._rest, b""
        return rest


def data_of(event: bytes) -> bytes:
    """The data of an event."""
    lines = event.splitlines()
    found = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    return b"\n".join(found)


def with_data(event: bytes, data: bytes) -> bytes:
    """The event with other data; its name and id stay."""
    kept = [line for line in event.splitlines() if line and not line.startswith(b"data")]
    return b"\r\n".join([*kept, b"data: " + data, b"", b""])
