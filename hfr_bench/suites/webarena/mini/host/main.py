"""The protocol loop: one JSON object a line in, one a line out, until stdin ends.

Request  {"id": n, "op": "...", ...}
Answer   {"id": n, "ok": true, ...}  or  {"id": n, "ok": false, "error": {"type", "message"}}

Ops: hello; init {tables, sessions}; reset; http {site, method, target, headers, body: base64};
changes; state; meddle {what}. The sites' pages travel through `http`: a container without a
network has no port to offer. A bad request is answered and survived. Stdout carries the protocol
alone. With `--serve PORT` and tables in JSON on stdin a small server serves the sites instead
(`serve.py`).
"""

import base64
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

if not __package__:
    # Started by path: become the package `host`, so that relative imports work (PEP 366).
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as in other hosts
    sys.path[0] = os.path.dirname(here)  # noqa: PTH120
    __import__("host")
    __package__ = "host"

from .app import CONTROL, SITES, App, call, cookie
from .errors import HostError
from .serve import serve_sites
from .store import TABLES, Store

PROTOCOL = "hfr.toolhost/1"
Answer = dict[str, Any]
Request = dict[str, Any]


class Host:
    """Serves requests on one store."""

    def __init__(self, folder: Path) -> None:
        self._store = Store(folder)
        app = App(self._store)
        self._sites = {name: app.site(name) for name in (*SITES, CONTROL)}
        self._ops: dict[str, Callable[[Request], Answer]] = {
            "hello": self._hello,
            "init": self._init,
            "reset": lambda _request: {"state": self._store.reset()},
            "http": self._http,
            "changes": self._changes,
            "state": self._state,
            "meddle": self._meddle,
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
        routes = [
            [site, method, pattern, run.__name__]
            for site, module in SITES.items()
            for method, pattern, run in module.ROUTES
        ]
        return {
            "protocol": PROTOCOL,
            "suite": "web_mini",
            "routes": routes,
            "tables": {name: list(columns) for name, columns in TABLES.items()},
            "cookies": {name: cookie(name) for name in SITES},
        }

    def _init(self, request: Request) -> Answer:
        self._store.init(_field(request, "tables", dict), _field(request, "sessions", list))
        return {"state": self._store.reset()}

    def _http(self, request: Request) -> Answer:
        asgi = self._sites.get(_field(request, "site", str))
        if asgi is None:
            raise HostError("bad_request", f"`site` must be one of {', '.join(self._sites)}")
        headers = [(str(key), str(value)) for key, value in _field(request, "headers", list)]
        body = base64.b64decode(_field(request, "body", str))
        return call(
            asgi, _field(request, "method", str), _field(request, "target", str), headers, body
        )

    def _changes(self, _request: Request) -> Answer:
        changed, state = self._store.changes()
        return {"changed": changed, "state": state}

    def _meddle(self, request: Request) -> Answer:
        """Something that nobody at a site asked for."""
        what = _field(request, "what", str)
        if what != "sold_out":
            raise HostError("bad_request", f"`what` must be sold_out, not {what!r}")
        return {"changed": self._store.sell_out()}

    def _state(self, _request: Request) -> Answer:
        tables, state = self._store.state()
        return {"tables": tables, "state": state}


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
        what = {"str": "a string", "dict": "an object", "list": "a list"}[kind.__name__]
        raise HostError("bad_request", f"`{key}` must be {what}")
    return value


def _refusal(number: Any, kind: str, message: str) -> Answer:
    return {"id": number, "ok": False, "error": {"type": kind, "message": message}}


def serve(requests: TextIO, answers: TextIO, folder: Path) -> None:
    """Answer until the requests end."""
    host = Host(folder)
    for line in requests:
        if line.strip():
            answers.write(json.dumps(host.answer(line)) + "\n")
            answers.flush()


def main(argv: list[str]) -> int:
    """Take stdout for the protocol alone; anything else that prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    requests = os.fdopen(0, encoding="utf-8", errors="replace", closefd=False)
    try:
        with tempfile.TemporaryDirectory(prefix="web-mini-") as folder:
            if argv[:1] == ["--serve"]:
                store = Store(Path(folder))
                store.init(**json.load(requests))
                serve_sites(App(store), int(argv[1]), answers)
            else:
                serve(requests, answers, Path(folder))
    except (BrokenPipeError, KeyboardInterrupt):
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
