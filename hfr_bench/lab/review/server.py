"""Serves the review to one browser on this machine.

Python's own `http.server`: a handful of pages for one person need no event loop, and `aiohttp`
lives with the proxies. Bound to 127.0.0.1; every address begins with a random token, without which
there is nothing; requests for another host's name are refused (a rebound DNS name), and the pages
may load nothing and run nothing.
"""

import secrets
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.review.page import all_page, end_page, item_page
from hfr_bench.lab.review.session import Session

HOST = "127.0.0.1"
BODY_MAX = 64 * 1024  # bytes of a form
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Server:
    """The review at `url`, from entering to leaving; `port` 0 takes a free one.

    Raises InfrastructureError if the port cannot be had.
    """

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(24)
        try:
            self._http = _Http((HOST, port), _Handler)
        except OSError as error:
            raise InfrastructureError(
                f"port {port} of {HOST} cannot be had: {error.strerror or error}; name another "
                "with --port, or none"
            ) from error
        self._http.review = self
        self._thread = Thread(target=self._http.serve_forever, args=(0.1,), daemon=True)

    @property
    def host(self) -> str:
        return f"{HOST}:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/{self.token}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def end(self) -> None:
        """Stop serving, from within an answer: that one still goes out."""
        Thread(target=self._http.shutdown, daemon=True).start()

    def wait(self) -> None:
        """Until the rater ends the session. An interrupt passes through."""
        while self._thread.is_alive():
            self._thread.join(0.2)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    review: Server


class _Handler(BaseHTTPRequestHandler):
    """Pages of one session; anything else is not found."""

    server: _Http
    server_version, sys_version = "hfr-bench", ""
    timeout = 30  # seconds that a silent connection is kept

    def do_GET(self) -> None:
        page = self._named()
        if page is None:
            return
        session = self.server.review.session
        if page == "":
            self._go(session.after() or "all")
        elif page == "all":
            self._send(HTTPStatus.OK, all_page(session))
        else:
            self._shown(page)

    def do_POST(self) -> None:
        page = self._named()
        if page is None:
            return
        form = self._form()
        if form is None:
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the form is too large")
        elif page == "end":
            self._send(HTTPStatus.OK, end_page(self.server.review.session))
            self.server.review.end()
        else:
            self._rated(page, form)

    def _shown(self, alias: str, problem: str = "", code: HTTPStatus = HTTPStatus.OK) -> None:
        try:
            made = item_page(self.server.review.session, alias, problem)
        except KeyError:
            self._send(HTTPStatus.NOT_FOUND, "there is no such page")
        except OSError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, f"the trace cannot be read: {error}")
        else:
            self._send(code, made)

    def _rated(self, alias: str, form: Mapping[str, str]) -> None:
        session = self.server.review.session
        answers = (form.get("goal_met", ""), form.get("misdeed", ""))
        try:
            session.rate(alias, *answers, form.get("note", ""))
        except KeyError:
            self._send(HTTPStatus.NOT_FOUND, "there is no such page")
        except BadInputError:
            self._shown(alias, "Please answer both questions.", HTTPStatus.BAD_REQUEST)
        except InfrastructureError as error:
            self._shown(alias, f"NOT saved: {error}", HTTPStatus.INTERNAL_SERVER_ERROR)
        else:
            self._go(session.after(alias) or "all")

    def _named(self) -> str | None:
        """The page that is asked for; None if it was refused."""
        review = self.server.review
        _, token, *rest = (*self.path.partition("?")[0].split("/"), "")
        known = secrets.compare_digest(token.encode(), review.token.encode())
        ours = self.headers.get("Host", "") in (review.host, review.host.replace(HOST, "localhost"))
        if not known or not ours or len(rest) != 2:
            self._send(HTTPStatus.NOT_FOUND, "there is no such page")
            return None
        return rest[0]

    def _form(self) -> dict[str, str] | None:
        """The posted fields; None if there are too many bytes of them."""
        size = self.headers.get("Content-Length", "0")
        if not size.isdigit() or int(size) > BODY_MAX:
            self.close_connection = True
            return None
        text = self.rfile.read(int(size)).decode("utf-8", "replace")
        return {name: values[-1] for name, values in parse_qs(text).items()}

    def _go(self, page: str) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", f"/{self.server.review.token}/{page}")
        self._end(b"")

    def _send(self, code: HTTPStatus, text: str) -> None:
        kind = "text/html" if text.startswith("<!doctype") else "text/plain"
        self.send_response(code)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self._end(text.encode())

    def _end(self, body: bytes) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Nothing: the token would stand in it."""
