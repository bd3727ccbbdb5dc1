"""The protocol loop: one JSON object a line in, one a line out, until stdin ends.

Request  {"id": n, "op": "...", ...}
Answer   {"id": n, "ok": true, ...}  or  {"id": n, "ok": false, "error": {"type", "message"}}

Ops: hello; catalog {domain}; open {domain, task_id}; call {name, arguments, requestor,
operation_id}; state {full}; grade {said}; grade_official {said}; close. A bad request is answered
and survived. Stdout carries the protocol and nothing else.
"""

import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

if not __package__:
    # Started by path: become the package `host`, so that the siblings' relative imports work and
    # nothing in this folder can shadow a module of tau2's (PEP 366).
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    __import__("host")
    __package__ = "host"

from .catalog import catalog
from .domain import Source
from .errors import HostError
from .grading import grade, grade_official
from .upstream import find_source
from .world import REQUESTORS, World

PROTOCOL = "hfr.toolhost/1"
Answer = dict[str, Any]


class Host:
    """Serves requests; keeps one living world a domain, and knows which task is open."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._worlds: dict[str, World] = {}
        self._current: World | None = None
        self._ops: dict[str, Callable[[dict[str, Any]], Answer]] = {
            "hello": self._hello,
            "catalog": self._catalog,
            "open": self._open,
            "call": self._call,
            "state": self._state,
            "grade": self._grade,
            "grade_official": self._grade_official,
            "close": self._close,
        }

    def answer(self, line: str) -> Answer:
        """The answer to one line, whatever the line is."""
        number: Any = None
        try:
            request = _parse(line)
            number = request.get("id")
            op = self._ops.get(_string(request, "op"))
            if op is None:
                message = f"unknown op {request['op']!r}; there are: {', '.join(self._ops)}"
                raise HostError("unknown_op", message)
            return {"id": number, "ok": True, **op(request)}
        except HostError as error:
            return _refusal(number, error.kind, str(error))
        except Exception as error:  # noqa: BLE001 the host outlives every request
            return _refusal(number, "internal", f"{type(error).__name__}: {error}")

    def _hello(self, _request: dict[str, Any]) -> Answer:
        source = self._found()
        return {
            "protocol": PROTOCOL,
            "suite": "tau2",
            "distribution": source.distribution(),
            "python": platform.python_version(),
            "domains": list(source.domains),
        }

    def _catalog(self, request: dict[str, Any]) -> Answer:
        return catalog(self._world(_string(request, "domain")).domain)

    def _open(self, request: dict[str, Any]) -> Answer:
        world = self._world(_string(request, "domain"))
        task_id = _string(request, "task_id")
        self._close(request)
        state = world.open(task_id)
        self._current = world
        return {"state": state}

    def _call(self, request: dict[str, Any]) -> Answer:
        arguments = request.get("arguments", {})
        requestor = request.get("requestor", "assistant")
        operation_id = request.get("operation_id")
        if not isinstance(arguments, dict):
            raise HostError("bad_request", "`arguments` must be an object")
        if requestor not in REQUESTORS:
            raise HostError("bad_request", f"`requestor` must be one of {', '.join(REQUESTORS)}")
        if operation_id is not None and not isinstance(operation_id, str):
            raise HostError("bad_request", "`operation_id` must be a string or null")
        return self._opened().call(_string(request, "name"), arguments, requestor, operation_id)

    def _state(self, request: dict[str, Any]) -> Answer:
        world = self._opened()
        answer: Answer = {"state": world.database.digest()}
        if request.get("full"):  # upstream's own hashes of everything, for parity tests
            answer["upstream"] = world.domain.hashes()
        return answer

    def _grade(self, request: dict[str, Any]) -> Answer:
        return grade(self._opened(), _said(request))

    def _grade_official(self, request: dict[str, Any]) -> Answer:
        return grade_official(self._opened(), _said(request))

    def _close(self, _request: dict[str, Any]) -> Answer:
        if self._current is not None:
            self._current.close()
        self._current = None
        return {}

    def _world(self, domain: str) -> World:
        if domain not in self._worlds:
            source = self._found()
            if domain not in source.domains:
                message = f"unknown domain {domain!r}; there are: {', '.join(source.domains)}"
                raise HostError("unknown_domain", message)
            self._worlds[domain] = World(source.open_domain(domain))
        return self._worlds[domain]

    def _found(self) -> Source:
        """Where the tasks come from; looked for at the first request that needs it."""
        if self._source is None:
            self._source = find_source(os.environ)
        return self._source

    def _opened(self) -> World:
        if self._current is None:
            raise HostError("no_task", "no task is open; send the op `open` first")
        return self._current


def _parse(line: str) -> dict[str, Any]:
    try:
        request = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise HostError("bad_json", f"not a JSON line: {error}") from None
    if not isinstance(request, dict):
        raise HostError("bad_request", "a request is a JSON object")
    return request


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _string(request: dict[str, Any], key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str):
        raise HostError("bad_request", f"`{key}` must be a string")
    return value


def _said(request: dict[str, Any]) -> list[str]:
    said = request.get("said", [])
    if not isinstance(said, list) or not all(isinstance(text, str) for text in said):
        raise HostError("bad_request", "`said` must be a list of strings")
    return said


def _refusal(number: Any, kind: str, message: str) -> Answer:
    return {"id": number, "ok": False, "error": {"type": kind, "message": message}}


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer until the requests end."""
    host = Host()
    for line in requests:
        if line.strip():
            answers.write(json.dumps(host.answer(line), default=str) + "\n")
            answers.flush()


def main() -> int:
    """Take stdout for the protocol alone; whatever tau2 prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    requests = os.fdopen(0, encoding="utf-8", errors="replace", closefd=False)
    try:
        serve(requests, answers)
    except (BrokenPipeError, KeyboardInterrupt):
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
