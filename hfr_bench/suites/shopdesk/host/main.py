"""The protocol loop: one JSON object a line in, one a line out, until stdin ends.

Request  {"id": n, "op": "...", ...}
Answer   {"id": n, "ok": true, ...}  or  {"id": n, "ok": false, "error": {"type", "message"}}

Ops: hello; open {task_id, tables}; call {name, arguments, requestor}; state; grade {wanted, say,
said}; close. A bad request is answered and survived. Stdout carries the protocol alone.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

if not __package__:
    # Started by path: become the package `host`, so that relative imports work (PEP 366).
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow
    sys.path[0] = os.path.dirname(here)  # noqa: PTH120
    __import__("host")
    __package__ = "host"

from .desk import TOOLS, Desk
from .errors import HostError

PROTOCOL = "hfr.toolhost/1"
Answer = dict[str, Any]
Request = dict[str, Any]


class Host:
    """Serves requests on one desk."""

    def __init__(self) -> None:
        self._desk = Desk()
        self._ops: dict[str, Callable[[Request], Answer]] = {
            "hello": self._hello,
            "open": self._open,
            "call": self._call,
            "state": self._state,
            "grade": self._grade,
            "close": self._close,
        }

    def answer(self, line: str) -> Answer:
        """The answer to one line, whatever the line is."""
        number: Any = None
        try:
            request = _parse(line)
            number = request.get("id")
            op = self._ops.get(_field(request, "op", str))
            if op is None:
                message = f"unknown op {request['op']!r}; there are: {', '.join(self._ops)}"
                raise HostError("unknown_op", message)
            return {"id": number, "ok": True, **op(request)}
        except HostError as error:
            return _refusal(number, error.kind, str(error))
        except Exception as error:  # noqa: BLE001 the host outlives every request
            return _refusal(number, "internal", f"{type(error).__name__}: {error}")

    def _hello(self, _request: Request) -> Answer:
        tools = {who: list(tools) for who, tools in TOOLS.items()}
        python = ".".join(str(part) for part in sys.version_info[:3])
        return {"protocol": PROTOCOL, "suite": "shopdesk", "python": python, "tools": tools}

    def _open(self, request: Request) -> Answer:
        tables = _field(request, "tables", dict)
        return {"state": self._desk.open(_field(request, "task_id", str), tables)}

    def _call(self, request: Request) -> Answer:
        requestor = request.get("requestor", "agent")
        if requestor not in TOOLS:
            raise HostError("bad_request", f"`requestor` must be one of {', '.join(TOOLS)}")
        name, arguments = _field(request, "name", str), _field(request, "arguments", dict)
        return self._desk.call(name, arguments, requestor)

    def _state(self, _request: Request) -> Answer:
        return {"state": self._desk.state()}

    def _grade(self, request: Request) -> Answer:
        wanted = _field(request, "wanted", dict)
        return self._desk.grade(wanted, _texts(request, "say"), _texts(request, "said"))

    def _close(self, _request: Request) -> Answer:
        self._desk.close()
        return {}


def _parse(line: str) -> Request:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise HostError("bad_json", f"not a JSON line: {error}") from None
    if not isinstance(request, dict):
        raise HostError("bad_request", "a request is a JSON object")
    return request


def _field(request: Request, key: str, kind: type) -> Any:
    value = request.get(key)
    if not isinstance(value, kind):
        what = "a string" if kind is str else "an object"
        raise HostError("bad_request", f"`{key}` must be {what}")
    return value


def _texts(request: Request, key: str) -> list[str]:
    texts = request.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise HostError("bad_request", f"`{key}` must be a list of strings")
    return texts


def _refusal(number: Any, kind: str, message: str) -> Answer:
    return {"id": number, "ok": False, "error": {"type": kind, "message": message}}


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer until the requests end."""
    host = Host()
    for line in requests:
        if line.strip():
            answers.write(json.dumps(host.answer(line)) + "\n")
            answers.flush()


def main() -> int:
    """Take stdout for the protocol alone; anything else that prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    requests = os.fdopen(0, encoding="utf-8", errors="replace", closefd=False)
    try:
        serve(requests, answers)
    except (BrokenPipeError, KeyboardInterrupt):
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
