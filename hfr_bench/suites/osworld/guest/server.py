"""The guest's server: OSWorld's HTTP API, for whoever may reach it.

    python server.py --home DIR [--profile shell|gui] --port N   on 127.0.0.1 (0: some free port);
                                                                 prints {"port": N}, one line
    python server.py --home DIR [--profile shell|gui] --stdio    as a tool host: JSON lines

Both serve until stdin ends, and end all that they have started. As a tool host it needs no network:

Request  {"id": n, "op": "...", ...}
Answer   {"id": n, "ok": true, ...}  or  {"id": n, "ok": false, "error": {"type", "message"}}

Ops: hello; http {method, target, headers, body: base64, wait_s}; more {call, wait_s}. One that is
not answered within `wait_s` goes on, and is asked after by `more` with the `call` that was told:
so one request that takes long holds up no other, and ends whoever gives it up.

There is no password: whoever reaches it may do all that the guest's user may. A request that is cut
off or given up goes on; its end is in the log of operations (`operations.py`).
"""

import argparse
import base64
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TextIO

if not __package__:
    # Started by path: become the package `guest`, so that relative imports work (PEP 366).
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as in other hosts
    sys.path[0] = os.path.dirname(here)  # noqa: PTH120
    __import__("guest")
    __package__ = "guest"

from .api import Api
from .commands import Runner, end_all
from .operations import Operations
from .session import start_session
from .wire import Request, Response, as_json

PROTOCOL = "hfr.toolhost/1"
FOLDERS = ("Desktop", "Documents", "Downloads", "Music", "Pictures", "Public", "Videos")
_NO_SCREEN = Path(__file__).resolve().parent / "noscreen"
_LONGEST_WAIT_S = 60.0
_LARGEST = 40 << 20  # of a body: a tool host's line has its end


class Call:
    """A request that is being answered, by a thread of its own."""

    def __init__(self, api: Api, request: Request) -> None:
        self.response: Response | None = None
        self._over = threading.Event()
        threading.Thread(target=self._run, args=(api, request), daemon=True).start()

    def wait(self, wait_s: float) -> Response | None:
        """The answer, once it is there."""
        self._over.wait(min(wait_s, _LONGEST_WAIT_S))
        return self.response

    def _run(self, api: Api, request: Request) -> None:
        self.response = api.answer(request)
        self._over.set()


class Host:
    """The API as ops of a tool host."""

    def __init__(self, api: Api, hello: dict[str, Any]) -> None:
        self._api = api
        self._hello = hello
        self._calls: dict[int, Call] = {}
        self._last = 0

    def answer(self, line: str) -> dict[str, Any]:
        """The answer to one line, whatever the line is."""
        number: Any = None
        try:
            asked = json.loads(line)
            number = asked["id"]
            op = {"hello": lambda _asked: self._hello, "http": self._http, "more": self._more}
            return {"id": number, "ok": True, **op[asked["op"]](asked)}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            told = {"type": "bad_request", "message": f"{type(error).__name__}: {error}"}
            return {"id": number, "ok": False, "error": told}

    def _http(self, asked: dict[str, Any]) -> dict[str, Any]:
        headers = [(str(name), str(value)) for name, value in asked["headers"]]
        body = base64.b64decode(asked["body"])
        request = Request.of(asked["method"], asked["target"], headers, body)
        self._last += 1
        self._calls[self._last] = Call(self._api, request)
        return self._more({"call": self._last, "wait_s": asked["wait_s"]})

    def _more(self, asked: dict[str, Any]) -> dict[str, Any]:
        number = asked["call"]
        response = self._calls[number].wait(float(asked["wait_s"]))
        if response is None:
            return {"done": False, "call": number}
        del self._calls[number]
        if len(response.body) > _LARGEST:
            message = f"{len(response.body)} bytes are more than a tool host answers at once"
            response = as_json({"status": "error", "message": message}, 500)
        headers = [["Content-Type", response.content_type], *map(list, response.headers.items())]
        body = base64.b64encode(response.body).decode()
        return {"done": True, "status": response.status, "headers": headers, "body": body}


def serve_lines(host: Host, requests: TextIO, answers: TextIO) -> None:
    """Answer line by line until the requests end."""
    for line in requests:
        if line.strip():
            answers.write(json.dumps(host.answer(line)) + "\n")
            answers.flush()


def serve_http(api: Api, port: int, stdin: TextIO, told: TextIO) -> None:
    """Serve on a loopback port, told in a JSON line, until stdin ends. Raises OSError."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(api))
    server.daemon_threads = True
    told.write(json.dumps({"port": server.server_port}) + "\n")
    told.flush()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while stdin.read(1 << 16):
        pass
    server.shutdown()
    server.server_close()


def _handler(api: Api) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # a connection a request, as OSWorld's client makes them

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = list(self.headers.items())
            response = api.answer(Request.of(self.command, self.path, headers, body))
            try:
                self.send_response(response.status)
                self.send_header("Content-Type", response.content_type)
                self.send_header("Content-Length", str(len(response.body)))
                for name, value in response.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(response.body)
            except ConnectionError:
                pass  # whoever asked has gone; what was asked for is done

        do_POST = do_GET  # noqa: N815 - the server's own names

        def log_message(self, *_told: object) -> None:
            """Says nothing."""

    return Handler


def main(argv: list[str]) -> int:
    """Take stdout for the protocol alone; anything else that prints goes to stderr."""
    options = argparse.ArgumentParser(description="a guest with OSWorld's API")
    options.add_argument("--home", type=Path, required=True, help="the user's home (made)")
    options.add_argument("--state", type=Path, help="where its log lies (beside the home)")
    options.add_argument("--profile", choices=("shell", "gui"), default="shell")
    way = options.add_mutually_exclusive_group(required=True)
    way.add_argument("--port", type=int, help="serve HTTP on 127.0.0.1; 0: some free port")
    way.add_argument("--stdio", action="store_true", help="serve JSON lines over stdio")
    given = options.parse_args(argv)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), encoding="utf-8", errors="replace")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # nobody that we start shall hold our stdin
    os.close(null)
    try:
        api = _api(given.home.resolve(), given.state, given.profile)
        if given.stdio:
            serve_lines(Host(api, _hello(given.profile)), requests, answers)
        else:
            serve_http(api, given.port, requests, answers)
    except (BrokenPipeError, KeyboardInterrupt):
        return 130
    finally:
        end_all()
    return 0


def _api(home: Path, state: Path | None, profile: str) -> Api:
    for name in FOLDERS:
        (home / name).mkdir(parents=True, exist_ok=True)
    state = state or home.parent / f".{home.name}-guest"
    gui = profile == "gui"
    runner = Runner(home, state, {} if gui else {"PYTHONPATH": str(_NO_SCREEN)})
    return Api(runner, Operations(state), start_session(runner, state) if gui else None)


def _hello(profile: str) -> dict[str, Any]:
    version = ".".join(map(str, sys.version_info[:3]))
    return {"protocol": PROTOCOL, "profile": profile, "python": version, "uid": os.getuid()}


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # threads that still wait for a command need not be waited for
