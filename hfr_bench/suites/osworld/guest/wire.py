"""Requests and responses of the guest's API, whatever carries them; bodies taken apart."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import parse_qsl, unquote

OPERATION = "X-HFR-Operation"
"""The header that names the operation a request is part of; ours, not OSWorld's."""
CALL = "X-HFR-Call"
"""The header with what the processes of a request are known by, where that is not its operation."""


class ApiError(Exception):
    """What is answered in place of what was asked for. `status`: of HTTP."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(str(body))
        self.response = text(body, status) if isinstance(body, str) else as_json(body, status)


@dataclass(frozen=True)
class Response:
    """`content_type` None: of no particular one."""

    status: int
    body: bytes
    content_type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """`path` is decoded and without a query; `headers` by lower-case name."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @classmethod
    def of(cls, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> "Request":
        path = unquote(target.partition("?")[0])
        return cls(method, path, {name.lower(): value for name, value in headers}, body)

    def json(self) -> dict[str, Any]:
        """The body as a JSON object. Raises ApiError."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ApiError(400, "the body must be a JSON object")
        return found

    def form(self) -> dict[str, bytes]:
        """The fields of a form, urlencoded or multipart; of files, their content."""
        told = Message()
        told["content-type"] = self.headers.get("content-type", "")
        boundary = told.get_param("boundary")
        if told.get_content_type() == "multipart/form-data" and isinstance(boundary, str):
            return _parts(self.body, boundary.encode())
        text = self.body.decode("utf-8", "replace")
        return {name: value.encode() for name, value in parse_qsl(text, keep_blank_values=True)}

    def operation(self) -> str:
        """The id of the operation that it is part of, "" where it is none's."""
        if told := self.headers.get(OPERATION.lower()):
            return told
        if self.headers.get("content-type", "").startswith("application/json"):
            try:
                given = self.json().get("operation_id")
            except ApiError:
                return ""
            return given if isinstance(given, str) else ""
        return ""

    def call(self) -> str:
        """What its processes are known by, "" where nobody has to know them."""
        return self.headers.get(CALL.lower()) or self.operation()


def as_json(value: Any, status: int = 200) -> Response:
    """An answer in JSON."""
    return Response(status, json.dumps(value).encode() + b"\n", "application/json")


def text(value: str, status: int = 200) -> Response:
    """An answer in words."""
    return Response(status, value.encode())


def _parts(body: bytes, boundary: bytes) -> dict[str, bytes]:
    found = {}
    for section in (b"\r\n" + body).split(b"\r\n--" + boundary)[1:]:
        if section.startswith(b"--"):
            break
        head, _, content = section.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        part = Message()
        for line in head.decode("utf-8", "replace").split("\r\n"):
            name, _, value = line.partition(":")
            part[name] = value.strip()
        field_name = part.get_param("name", header="content-disposition")
        if isinstance(field_name, str):
            found[field_name] = content
    return found
