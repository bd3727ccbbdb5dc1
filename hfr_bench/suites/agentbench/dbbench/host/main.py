"""The protocol loop: one JSON object a line in, one a line out, until stdin ends.

Request  {"id": n, "op": "...", ...}
Answer   {"id": n, "ok": true, ...}  or  {"id": n, "ok": false, "error": {"type", "message"}}

Ops: hello; open {tables}; run {sql, values}; dump; commit {answers}; after {tables, sql};
close. `after` tells what a statement makes of other tables, in a database of its own that is
forgotten at once. A bad request is answered and survived. Stdout carries the protocol alone.
"""

import contextlib
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

from .errors import HostError, StatementError
from .sqlite import Database

PROTOCOL = "hfr.toolhost/1"
Answer = dict[str, Any]
Request = dict[str, Any]


class Host:
    """Serves requests on one database. `make`: makes one; by default SQLite's."""

    def __init__(self, make: Callable[[str], Any] = Database) -> None:
        self._make = make
        self._db = make("world")
        self._answers: list[str] | None = None
        self._ops: dict[str, Callable[[Request], Answer]] = {
            "hello": self._hello,
            "open": self._open,
            "run": self._run,
            "dump": self._dump,
            "commit": self._commit,
            "after": self._after,
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
        python = ".".join(str(part) for part in sys.version_info[:3])
        return {"protocol": PROTOCOL, "python": python, "engine": self._db.engine()}

    def _open(self, request: Request) -> Answer:
        self._answers = None
        self._db.fill(_field(request, "tables", list))
        return {}

    def _run(self, request: Request) -> Answer:
        sql, values = _field(request, "sql", str), request.get("values", [])
        try:
            return {"rows": self._db.run(sql, values)}
        except StatementError as error:
            return {"rows": [], "refused": str(error)}

    def _dump(self, _request: Request) -> Answer:
        rows, columns = self._db.dump()
        return {"tables": rows, "columns": columns}

    def _commit(self, request: Request) -> Answer:
        """The first answer stands; `stands` tells whether it is this one."""
        answers = _field(request, "answers", list)
        new = self._answers is None
        if new:
            self._answers = answers
        return {"new": new, "stands": self._answers == answers}

    def _after(self, request: Request) -> Answer:
        other = self._make("gold")
        try:
            other.fill(_field(request, "tables", list))
            with contextlib.suppress(StatementError):  # it has then changed nothing
                other.run(_field(request, "sql", str), [])
            return {"tables": other.dump()[0]}
        finally:
            other.close()

    def _close(self, _request: Request) -> Answer:
        self._db.close()
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
        what = "a string" if kind is str else "a list"
        raise HostError("bad_request", f"`{key}` must be {what}")
    return value


def _refusal(number: Any, kind: str, message: str) -> Answer:
    return {"id": number, "ok": False, "error": {"type": kind, "message": message}}


def serve(requests: TextIO, answers: TextIO, host: Host) -> None:
    """Answer until the requests end."""
    for line in requests:
        if line.strip():
            answers.write(json.dumps(host.answer(line)) + "\n")
            answers.flush()


def main(make: Callable[[str], Any] = Database) -> int:
    """Take stdout for the protocol alone; anything else that prints goes to stderr.

    `make`: makes a database by name.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    requests = os.fdopen(0, encoding="utf-8", errors="replace", closefd=False)
    try:
        serve(requests, answers, Host(make))
    except (BrokenPipeError, KeyboardInterrupt):
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
