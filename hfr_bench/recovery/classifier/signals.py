"""What a failed attempt said, taken apart: codes, words, numbers (paper §4.2).

Reads whatever came back (JSON of any dialect, JSON in JSON, event streams, HTML, prose) into one
`Signal`; deciding what it means is another place (`classify`). Nothing here raises.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from hfr_bench.model.attempt import Observation
from hfr_bench.model.terms import Channel

_READ = 1_500  # characters of words that are looked at: an error says what it is early
_NODES = 300  # and of a structured error, so many values
_DEPTH = 7

_PLAIN = re.compile(r"[^a-z0-9]")
_URL = re.compile(r"https?://\S+")
_TAGS = re.compile(r"<(title|h1|h2)[^>]{0,80}>([^<]{0,200})", re.I)
_HTML = re.compile(r"\s*(?:<!doctype html|<html|<head|<body|<\?xml)", re.I)
_CLASS = re.compile(r"\b([A-Z][A-Za-z]{2,60}(?:Error|Exception|Timeout|Exceeded))\b")

_QUOTED_CODE = re.compile(r"['\"](?:code|type|status|reason)\\*['\"]: ?\\*['\"]?([\w.-]{2,60})")
_QUOTED_STATUS = re.compile(
    r"(?:error code|status(?: code)?|http(?:/\d\.\d)?)[:= ]{1,3}([45]\d\d)\b", re.I
)


def _keys(names: str) -> frozenset[str]:
    return frozenset(names.split())


_CODE_KEYS = _keys(
    "code type status reason __type errorcode error_code errortype error_type name kind category"
)
_TEXT_KEYS = _keys(
    "message detail details error_description title msg errormessage error_message description"
    " quotaid quotametric raw text cause hint error"
)
_ECHOES = _keys("input ctx request prompt messages body url loc help links")
"""What quotes the request back: its words are not the error's."""
_TOLD = _keys("flagged_input reasons")
"""Keys that say something by being there."""
_CODE_HEADERS = ("x-amzn-errortype", "x-ms-error-code", "x-error-code")
_GUARDED = "amazon-bedrock-guardrailAction"
_ERROR_KEYS = _keys("errors Error fault choices response object result isError " + _GUARDED)
_BARE = _keys("message Message detail __type")
_BESIDE = _keys("message detail error_description msg type code error_type")
"""Of a body that holds an error: what stands beside it and belongs to it."""


class Signal(NamedTuple):
    """A failed attempt as the rules look at it.

    `status`: HTTP-like, or the one that the body names where the transport says none or 200.
    `codes`: normalised, the most specific ones last. `words`: lower case, without addresses.
    `form`: what the body is: `json`, `html`, `text`, `events`, `cut` (broken JSON) or empty.
    `failed`: the body says that it is an error. `data`: the parsed body.
    """

    channel: Channel
    seen: Observation
    status: int | None
    codes: tuple[str, ...]
    words: str
    form: str
    failed: bool
    rpc_code: int | None
    data: Any


def plain(code: str) -> str:
    """A code without case and punctuation: `insufficient_quota` and `InsufficientQuota` alike."""
    short = code.lower().replace("_", "")
    return short if short.isalnum() and short.isascii() else _PLAIN.sub("", short)


def signal(channel: Channel, seen: Observation) -> Signal:
    """Take an observation apart."""
    form, data = parse(seen.body)
    found = _Found()
    if form in ("json", "events"):
        _gather(data, found)
    elif form == "html":
        found.texts.append(" ".join(part[1] for part in _TAGS.findall(seen.body[:5_000])))
    elif form in ("text", "cut"):
        found.texts.append(seen.body[:_READ])
    for name in _CODE_HEADERS:
        if name in seen.headers:
            found.code(str(seen.headers[name]))
    if seen.schema_error and seen.schema_error not in found.texts:
        found.texts.append(seen.schema_error)
    if seen.exception:
        found.code(seen.exception)
    prose = " ".join(found.texts)[: 2 * _READ]
    status = seen.status
    unsure = status is None or 200 <= status < 300
    _quoted_codes(prose, found, numbers=unsure)
    if unsure and found.status is not None:
        status = found.status
    if "://" in prose:
        prose = _URL.sub(" ", prose)
    return Signal(
        channel,
        seen,
        status,
        tuple(dict.fromkeys(found.codes)),
        prose[:_READ].lower().replace("\u2019", "'"),
        form,
        found.failed,
        seen.rpc_code if seen.rpc_code is not None else found.rpc_code,
        data,
    )


def _quoted_codes(prose: str, found: "_Found", *, numbers: bool) -> None:
    """Codes in prose: names of errors, and fields of JSON that somebody quoted."""
    if "Err" in prose or "Exc" in prose or "Timeout" in prose:
        for name in _CLASS.findall(prose):
            found.code(name)
    if '"' in prose or "'" in prose:
        for name in _QUOTED_CODE.findall(prose):
            found.code(name)
    if numbers and prose:
        for number in _QUOTED_STATUS.findall(prose):
            found.number(int(number))


def parse(body: str) -> tuple[str, Any]:
    """(form, data) of a body; of an event stream the event that matters: an error, or the last."""
    start = body if body[:1] == "{" else body[:200].lstrip("\ufeff \t\r\n")
    if not start:
        return "", None
    if start[0] in "{[":
        try:
            return "json", json.loads(body.lstrip("\ufeff"))
        except (ValueError, RecursionError):
            return "cut", None
    if start.startswith(("data:", "event:", ":")):
        return _events(body)
    if _HTML.match(start):
        return "html", None
    if start.rstrip() in ("null", "true", "false"):
        return "json", None
    return _quoted(body) if start[0] == '"' else ("text", None)


def at(data: Any, path: tuple[str | int, ...]) -> Any:
    """What lies at the end of a path of keys and indices, or None."""
    for key in path:
        if isinstance(key, int):
            if not isinstance(data, list) or len(data) <= key:
                return None
            data = data[key]
        elif isinstance(data, dict):
            data = data.get(key)
        else:
            return None
    return data


def is_rpc(data: Any) -> bool:
    """JSON-RPC or an MCP result: what a tool server speaks, and no model does."""
    return isinstance(data, dict) and ("jsonrpc" in data or "isError" in data)


class _Found:
    """What a walk through an error has come upon."""

    __slots__ = ("codes", "failed", "left", "rpc_code", "status", "texts")

    def __init__(self) -> None:
        self.codes: list[str] = []
        self.texts: list[str] = []
        self.status: int | None = None
        self.rpc_code: int | None = None
        self.failed = False
        self.left = _NODES

    def code(self, text: str) -> None:
        """A code; of `ns#Code:url` the middle. A number is a status, or a JSON-RPC code."""
        if "#" in text or ":" in text:
            text = text.rpartition("#")[2].partition(":")[0]
        text = text.strip()[:80]
        if text.lstrip("-").isdigit() and text.isascii():
            self.number(int(text))
        elif text and text != "error":
            self.codes.append(plain(text))

    def number(self, value: int) -> None:
        if 400 <= value <= 599 and self.status is None:
            self.status = value
        elif -32999 <= value <= -32000 and self.rpc_code is None:
            self.rpc_code = value


def _gather(data: Any, found: _Found) -> None:
    """Find the error in a parsed body, and take it apart."""
    if isinstance(data, list):  # Vertex streams an array; take its error, or its first
        data = next((one for one in data if isinstance(one, dict) and "error" in one), None) or (
            data[0] if data else None
        )
    if not isinstance(data, dict):
        return
    errors = _errors(data)
    found.failed = bool(errors)
    if not errors and not _BARE.isdisjoint(data):
        errors = [data]  # the body itself may be the error: the status knows
    for error in errors:
        _walk(error, "error", found, 0)
    if found.failed and data is not errors[0]:
        for key in data.keys() & _BESIDE:
            if isinstance(data[key], str | int):
                _walk(data[key], key, found, 1)


def _errors(data: Mapping[str, Any]) -> list[Any]:
    """The error objects of a body, wherever its dialect keeps them."""
    error = data.get("error")
    found = [error] if error else []
    for key in _ERROR_KEYS & data.keys():
        if key == "choices":
            error = at(data, ("choices", 0, "error"))
        elif key == "response":
            error = at(data, ("response", "error"))
        elif key == "object":
            error = data if data["object"] == "error" else None
        elif key in ("result", "isError"):
            result = data["result"] if key == "result" else data
            failed = isinstance(result, dict) and result.get("isError") is True
            error = (result.get("content") or "isError") if failed else None
        elif key == _GUARDED:
            error = {"code": "guardrail_intervened"} if data[key] == "INTERVENED" else None
        else:
            error = data[key]
        if error:
            found.append(error)
    return found


def _walk(value: Any, key: str, found: _Found, depth: int) -> None:
    """Collect codes by the names of their keys, and words by theirs, also of quoted JSON."""
    found.left -= 1
    if found.left < 0 or depth > _DEPTH:
        return
    if isinstance(value, str):
        _take(value, key, found, depth)
    elif isinstance(value, dict):
        for name, inner in value.items():
            lowered = name.lower()
            if lowered in _TOLD and inner:
                found.code(lowered)
            if inner is not None and lowered not in _ECHOES:
                _walk(inner, lowered, found, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, key, found, depth + 1)
    elif isinstance(value, int) and key in _CODE_KEYS and not isinstance(value, bool):
        found.number(value)


def _take(value: str, key: str, found: _Found, depth: int) -> None:
    """A text in an error: a code, words, or both; JSON that somebody quoted is walked through."""
    if key in _TEXT_KEYS and value[:1] in ("{", "["):
        form, data = parse(value)
        if form == "json":
            _walk(data, key, found, depth + 1)
            return
    if key in _CODE_KEYS or (key == "error" and " " not in value):
        found.code(value)
    if key in _TEXT_KEYS or (key in _CODE_KEYS and " " in value):
        found.texts.append(value[:_READ])


def _quoted(body: str) -> tuple[str, Any]:
    """A JSON string: prose, unless it is cut."""
    try:
        return "text", json.loads(body)
    except (ValueError, RecursionError):
        return "cut", None


def _events(body: str) -> tuple[str, Any]:
    """Of server-sent events: the first that is an error; else the last whole one if all came."""
    last: Any = None
    ended = False
    for line in body.splitlines():
        kind, _, rest = line.partition(":")
        rest = rest.strip()
        if kind != "data" or not rest:
            continue
        if rest == "[DONE]":
            ended = True
            continue
        try:
            data = json.loads(rest)
        except (ValueError, RecursionError):
            return "cut", None
        if isinstance(data, dict):
            if list(_errors(data)):
                return "events", data
            ended = ended or data.get("type") in ("message_stop", "response.completed")
            last = data
    return ("events", last) if ended else ("cut", None)
