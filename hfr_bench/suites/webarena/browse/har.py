"""Requests as a driver's HAR tells them (version 1.2), as Playwright writes one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hfr_bench import __version__

Headers = Sequence[tuple[str, str]]

NO_ANSWER = -1
"""The status of a request that got none."""


@dataclass(slots=True)
class Entry:
    """One request and what came back. `failure`: why nothing (whole) did, as a driver calls it."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""
    started_s: float = 0.0
    took_s: float = 0.0
    status: int = NO_ANSWER
    answer: Headers = ()
    content: bytes = b""
    failure: str = ""


def har(entries: Iterable[Entry]) -> dict[str, Any]:
    """A HAR document of these requests, in their order."""
    creator = {"name": "hfr-bench", "version": __version__}
    told = [_entry(one) for one in entries]
    return {"log": {"version": "1.2", "creator": creator, "pages": [], "entries": told}}


def _entry(one: Entry) -> dict[str, Any]:
    began = datetime.fromtimestamp(one.started_s, UTC).isoformat(timespec="milliseconds")
    took_ms = round(one.took_s * 1000, 3)
    found: dict[str, Any] = {
        "startedDateTime": began.replace("+00:00", "Z"),
        "time": took_ms,
        "request": _request(one),
        "response": _response(one),
        "cache": {},
        "timings": {"send": -1, "wait": took_ms, "receive": -1},
    }
    if one.failure:
        found["_failureText"] = one.failure
    return found


def _request(one: Entry) -> dict[str, Any]:
    query = parse_qsl(urlsplit(one.url).query, keep_blank_values=True)
    made: dict[str, Any] = {
        "method": one.method,
        "url": one.url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _named(one.headers),
        "queryString": _named(query),
        "headersSize": -1,
        "bodySize": len(one.body),
    }
    if one.body:
        text, kind = one.body.decode(errors="replace"), header(one.headers, "content-type")
        post: dict[str, Any] = {"mimeType": kind, "text": text, "params": []}
        if kind.startswith("application/x-www-form-urlencoded"):
            post["params"] = _named(parse_qsl(text, keep_blank_values=True))
        made["postData"] = post
    return made


def _response(one: Entry) -> dict[str, Any]:
    phrase = HTTPStatus(one.status).phrase if one.status in set(HTTPStatus) else ""
    content = {
        "size": len(one.content),
        "mimeType": header(one.answer, "content-type") or "x-unknown",
        "text": one.content.decode(errors="replace"),
    }
    return {
        "status": one.status,
        "statusText": phrase,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _named(one.answer),
        "content": content,
        "redirectURL": header(one.answer, "location"),
        "headersSize": -1,
        "bodySize": len(one.content),
    }


def _named(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def header(headers: Headers, name: str) -> str:
    """The first value of a header, by its name in any case; "" if there is none."""
    return next((value for key, value in headers if key.lower() == name.lower()), "")
