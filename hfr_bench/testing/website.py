"""A small site of real HTTP on loopback: lists, forms, log-in, tabs, files, and pages that fail."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

FORM = """<h1>New item</h1><form method="post" action="/items">
<input type="hidden" name="token" value="t-1">
<label for="title">Title</label> <input id="title" name="title" required>
<label>Text <textarea name="text"></textarea></label>
<label for="sort">Sort</label>
<select id="sort" name="sort"><option value="a">Apples<option value="p" selected>Pears</select>
<label><input type="checkbox" name="public" value="yes"> Public</label>
<label><input type="radio" name="size" value="s" checked> Small</label>
<label><input type="radio" name="size" value="l"> Large</label>
<button name="go" value="save">Save</button> <button name="go" value="draft">Draft</button>
</form>"""


@dataclass
class State:
    """What the site knows, and every request that reached it."""

    items: list[dict[str, str]] = field(default_factory=list)
    seen: list[tuple[str, str]] = field(default_factory=list)
    keeps_connections: bool = False


class _Handler(BaseHTTPRequestHandler):
    state: ClassVar[State]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.state.seen.append(("GET", parts.path))
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        name = parts.path.strip("/").replace("/", "_") or "home"
        if parts.path.startswith("/items/"):
            item = self.state.items[int(parts.path.rpartition("/")[2]) - 1]
            told = "".join(f"<li>{escape(k)}: {escape(v)}</li>" for k, v in item.items())
            self.page(f"<h1>Item</h1><ul id='item'>{told}</ul>")
        elif (made := getattr(self, f"on_{name}", None)) is not None:
            made(query)
        else:
            self.page("<h1>Not found</h1>", status=404)

    def do_POST(self) -> None:
        self.state.seen.append(("POST", self.path))
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        if self.path == "/login":
            self.go("/account", f"who={form['name']}; Path=/; HttpOnly")
        elif self.path == "/items":
            self.state.items.append(form)
            self.go(f"/items/{len(self.state.items)}")
        elif self.path == "/items-dropped":
            self.state.items.append(form)
            self.close_connection = True
        else:
            self.state.items.append(form)
            self.page("<h1>Unavailable</h1>", status=503)

    def on_home(self, _: dict[str, str]) -> None:
        self.page(
            "<h1>Home</h1><nav><ul><li><a href='/new'>New <b>item</b></a><li>"
            "<a href='/login' title='in'>Log in</a><li><a href='/file'>File</a>"
            "<li><a href='/account' target='_blank'>My account</a></ul></nav>"
            "<form action='/search'><input name='q' aria-label='Search'><button>Find</button>"
            "</form><p>Hello &amp; welcome</p><img src='/x.png' alt='A logo'>"
            "<a href='/new'>Again</a><a href='/new'>Again</a><div hidden>secret</div>"
        )

    def on_new(self, _: dict[str, str]) -> None:
        self.page(FORM)

    def on_fails(self, _: dict[str, str]) -> None:
        self.page(
            "<form method=post action='/items-503'><button>Fail</button></form>"
            "<form method=post action='/items-dropped'><button>Drop</button></form>"
        )

    def on_search(self, query: dict[str, str]) -> None:
        self.page(f"<h1>Found</h1><p class='q'>{escape(query['q'])}</p>")

    def on_login(self, _: dict[str, str]) -> None:
        self.page(
            "<form method=post><label for=n>Name</label><input id=n name=name>"
            "<input type=submit value='Sign in'></form>"
        )

    def on_account(self, _: dict[str, str]) -> None:
        cookies = dict(
            one.split("=", 1) for one in (self.headers["cookie"] or "").split("; ") if one
        )
        if "who" not in cookies:
            self.go("/login")
        else:
            self.page(f"<h1>Account</h1><p id='who'>{escape(cookies['who'])}</p>")

    def on_whoami(self, _: dict[str, str]) -> None:
        self.page(f"<p>{escape(self.headers['cookie'] or 'nobody')}</p>")

    def on_file(self, _: dict[str, str]) -> None:
        self.page(
            "a,b\n",
            kind="text/csv",
            headers={"content-disposition": 'attachment; filename="r.csv"'},
        )

    def on_drop(self, _: dict[str, str]) -> None:
        self.close_connection = True

    def on_half(self, _: dict[str, str]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b"<h1>Half</h1>")
        self.close_connection = True

    def on_never(self, _: dict[str, str]) -> None:
        threading.Event().wait(2)
        self.close_connection = True

    def on_busy(self, _: dict[str, str]) -> None:
        self.page("<h1>Busy</h1>", status=429, headers={"retry-after": "7"})

    def on_scripts(self, _: dict[str, str]) -> None:
        self.page(
            "<button onclick=\"alert('Sure?')\">Warn</button>"
            "<button onclick=\"window.open('/new')\">Pop</button>"
            "<button onclick=\"setTimeout(() => document.querySelector('p').textContent='Done')\">"
            "Work</button><p>Waiting</p>"
        )

    def go(self, where: str, cookie: str = "") -> None:
        headers = {"location": where} | ({"set-cookie": cookie} if cookie else {})
        self.page("", status=302, headers=headers)

    def page(
        self,
        body: str,
        *,
        status: int = 200,
        kind: str = "text/html",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        html = kind == "text/html"
        text = f"<!doctype html><title>Site</title><body>{body}" if html else body
        self.send_response(status)
        self.send_header("content-type", f"{kind}; charset=utf-8")
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(text.encode())))
        if not self.state.keeps_connections:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(text.encode())


@contextmanager
def serving() -> Iterator[tuple[str, State]]:
    """The site's base URL and its state."""
    state = State()
    handler = type("Handler", (_Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
