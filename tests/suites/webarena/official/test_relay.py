"""What stands at the sites' end: it sees all, alters addresses only, and sends nothing twice."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import httpx
import pytest

from hfr_bench.suites.webarena.episode import DROPPED
from hfr_bench.suites.webarena.official.relay import Relay, origin_of


class Site(BaseHTTPRequestHandler):
    """Tells what it was asked; `/drop` hangs up; `/go` redirects to its own address."""

    asked: ClassVar[list[tuple[str, str, str]]] = []

    def do_GET(self) -> None:
        here = f"http://{self.headers['Host']}"
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.asked.append((self.command, self.path, body))
        if self.path == "/drop":
            self.close_connection = True
            return
        text = f'<a href="{here}/x">x</a> {{"url": "{here}/y"}}'.replace('"/y', '"\\/y')
        text += f" {here.replace('/', chr(92) + '/')} by {self.headers.get('Referer')}"
        self.send_response(302 if self.path == "/go" else 200)
        if self.path == "/go":
            self.send_header("Location", f"{here}/x")
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "a=1; Domain=127.0.0.1; Secure; SameSite=None; Path=/")
        self.send_header("Set-Cookie", "b=2")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET  # noqa: N815 - the library's names

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def relay(origin: str) -> Iterator[Relay]:
    Site.asked.clear()
    made = Relay({"reddit": origin})
    made.recording = True
    yield made
    made.close()
    made.close()


def ask(relay: Relay, path: str, method: str = "GET", **more: Any) -> httpx.Response:
    return httpx.request(method, relay.urls["reddit"] + path, **more)


def test_a_site_is_told_by_the_relays_address(relay: Relay, origin: str) -> None:
    ours = relay.urls["reddit"]
    seen = ask(relay, "/x", headers={"Referer": f"{ours}/before"})
    assert f'href="{ours}/x"' in seen.text
    assert ours.replace("/", "\\/") in seen.text
    assert f"by {origin}/before" in seen.text.replace(ours, origin)
    assert ask(relay, "/go").headers["location"] == f"{ours}/x"
    cookies = seen.headers.get_list("set-cookie")
    assert cookies == ["a=1; Path=/", "b=2"]


def test_what_a_site_got_and_answered_is_written_down(relay: Relay) -> None:
    ask(relay, "/form?q=1", "POST", data={"t": "x"})
    ((site, one),) = relay.exchanges
    assert (site, one.method, one.path, one.status) == ("reddit", "POST", "/form", 200)
    assert (one.posted, one.cookies) == ({"t": "x"}, (("a", "1"), ("b", "2")))
    assert "href" in one.body
    relay.recording = False
    ask(relay, "/x")
    assert len(relay.exchanges) == 1
    relay.clear()
    assert relay.exchanges == ()


def test_a_site_that_hangs_up_is_asked_once_and_so_is_seen(relay: Relay) -> None:
    with pytest.raises(httpx.TransportError):
        ask(relay, "/drop", "POST", data={"t": "x"})
    relay.settle()
    assert [one.status for _, one in relay.exchanges] == [DROPPED]
    assert Site.asked == [("POST", "/drop", "t=x")]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://h:7780/admin/", ("http://h:7780", "/admin")),
        ("https://h", ("https://h", "")),
        ("http://h:1/", ("http://h:1", "")),
    ],
)
def test_an_address_is_an_origin_and_a_root(url: str, found: tuple[str, str]) -> None:
    assert origin_of(url) == found
