"""A small site with a control and a login form, living on loopback: real HTTP."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

FORM = (
    '<form action="/search"><input name="q"></form>'
    '<form action="login_check" method="post"><input type="hidden" name="_token" value="t7">'
    '<input name="_username"><input type="password" name="_password">'
    '<input type="checkbox" name="remember"><button>Log in</button></form>'
)


class Site:
    """What the site answers and what it was asked."""

    def __init__(self, accounts):
        self.accounts, self.asked, self.statuses, self.health = accounts, [], [], 200

    def answer(self, method, url, form, cookie):
        """(status, headers, body) of a request."""
        path = urlsplit(url).path
        self.asked.append(f"{method} {url}")
        if path == "/status":
            said = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
            return 200, {}, said
        if path in ("/reset", "/start"):
            return 200, {}, "Reset initiated, check status here"
        if path == "/login_check":
            right = self.accounts.get(form.get("_username")) == form.get("_password")
            if right and form.get("_token") == "t7" and "remember" not in form:
                return 302, {"Location": "/", "Set-Cookie": "session=s1; Path=/"}, ""
            return 302, {"Location": "/login"}, ""
        if path == "/login":
            return self.health, {}, FORM if self.health == 200 else "down"
        return 200, {}, "home" if cookie else "no one"


@contextmanager
def living(site):
    """Serve a site; yields its URL."""

    class Handler(BaseHTTPRequestHandler):
        def _any(self):
            length = int(self.headers.get("Content-Length") or 0)
            form = parse_qs(self.rfile.read(length).decode())
            given = {name: values[0] for name, values in form.items()}
            status, headers, body = site.answer(
                self.command, self.path, given, self.headers.get("Cookie")
            )
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_POST = _any  # noqa: N815 - the names that the library calls

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
