"""The ASGI application: finds the session and the route, runs it in one transaction, answers.

`App(store).site(name)` is an ASGI callable; any ASGI server can serve it. Nothing in it waits, so
the host drives it without one, too (`call`). A site's refusal changes nothing.
"""

import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote

from . import admin, forum, shop, tracker
from .errors import HostError, SiteError
from .pages import Request, Response, button, entry, fields, form, hidden, page, redirect, text
from .store import Row, Store

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

SITES = {"reddit": forum, "shopping": shop, "shopping_admin": admin, "gitlab": tracker}
CONTROL = "control"
_ASKED = ("/reset", "GET")
"""How WebArena's reset server is asked."""


class App:
    """All sites over one store, and their control."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._routes = {
            name: [(method, re.compile(pattern), run) for method, pattern, run in module.ROUTES]
            for name, module in SITES.items()
        }

    def site(self, name: str) -> Asgi:
        """The ASGI callable of a site, or of the control."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            body = b""
            more = True
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
            response = self.answer(name, scope, body.decode("utf-8", "replace"))
            data = response.body.encode()
            headers = [
                ("content-type", response.kind),
                ("content-length", str(len(data))),
                ("cache-control", "private"),  # a browser that goes back shows what it had
                *response.headers,
            ]
            raw = [(key.encode(), value.encode()) for key, value in headers]
            await send({"type": "http.response.start", "status": response.status, "headers": raw})
            await send({"type": "http.response.body", "body": data})

        return serve

    def answer(self, name: str, scope: Scope, body: str) -> Response:
        """One request, answered."""
        method, path = scope["method"], scope["path"]
        if name == CONTROL:
            return self._control(method, path)
        kind = _header(scope, "content-type")
        form_fields = fields(body) if "urlencoded" in kind else {}
        query = fields(scope.get("query_string", b"").decode("latin-1"))
        request = Request(self._store, name, method, path, query, form_fields)
        self._session(request, _header(scope, "cookie"))
        module = SITES[name]
        try:
            response = self._routed(request)
        except SiteError as refused:
            self._store.undo()
            words = text(str(refused), name="error")
            response = page(
                request, "Not possible", module.nav(request), words, status=refused.status
            )
        except Exception:
            self._store.undo()
            raise
        self._store.commit()
        return response

    def _routed(self, request: Request) -> Response:
        module = SITES[request.site]
        if request.path.rstrip("/") == module.LOGIN.rstrip("/"):
            return self._login(request)
        found = False
        for method, pattern, run in self._routes[request.site]:
            match = pattern.fullmatch(request.path) or pattern.fullmatch(f"{request.path}/")
            if match is None:
                continue
            found = True
            if method == request.method:
                private = method != "GET" or run in module.PRIVATE
                if private and not request.user and run not in module.PUBLIC:
                    return redirect(module.LOGIN)
                request.parts = match.groupdict()
                made: Response = run(request)
                return made
        if found:
            raise SiteError(405, f"{request.method} is not possible here.")
        raise SiteError(404, "There is no such page.")

    def _login(self, request: Request) -> Response:
        """Sign in by name and password; the session's cookie is new."""
        module, store = SITES[request.site], self._store
        if request.method == "POST":
            name, password = request.asked(module.NAME[1]), request.asked(module.PASSWORD[1])
            if store.row(module.ACCOUNT, name, password) is None:
                raise SiteError(401, "The name or the password is wrong.")
            count = store.rows("SELECT COUNT(*) AS n FROM sessions")[0]["n"]
            token = f"{request.site}-{count + 1}"
            store.run("INSERT INTO sessions VALUES (?, ?, ?, '')", token, request.site, name)
            response = redirect(module.HOME)
            response.headers.append(("set-cookie", f"{cookie(request.site)}={token}; Path=/"))
            return response
        return page(
            request, module.SIGN_IN, module.nav(request),
            form(
                module.LOGIN, entry(module.NAME[0], module.NAME[1]),
                entry(module.PASSWORD[0], module.PASSWORD[1], kind="password"),
                hidden("login", "1"), button(module.SIGN_IN),
            ),
        )  # fmt: skip

    def _session(self, request: Request, cookies: str) -> None:
        wanted = f"{cookie(request.site)}="
        for part in cookies.split(";"):
            if part.strip().startswith(wanted):
                request.token = part.strip()[len(wanted) :]
        sql = "SELECT user FROM sessions WHERE token = ? AND site = ?"
        found = self._store.row(sql, request.token, request.site)
        request.user = found["user"] if found else ""

    def _control(self, method: str, path: str) -> Response:
        """As env-ctrl of WebArena-Verified: /status, /init, /reset; and the state of the world."""
        if path == "/status":
            return _json({"status": "ready" if self._store.ready else "starting"})
        if (path in ("/init", "/reset") and method == "POST") or (path, method) == _ASKED:
            try:
                state = self._store.reset()
            except HostError as error:
                return _json({"success": False, "message": str(error)}, 503)
            return _json({"success": True, "message": "Ready for duty!", "state": state})
        if path == "/__ctrl/state" and method == "GET":
            return _json(self._store.state()[0])
        return _json({"success": False, "message": "no such control"}, 404)


def cookie(site: str) -> str:
    """The name of a site's session cookie; ports do not part cookies, names do."""
    return f"{site}_session"


def call(asgi: Asgi, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> Row:
    """Drive an ASGI callable that never waits: {status, headers, body}."""
    path, _, query = target.partition("?")
    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(),
        "scheme": "http",
        "headers": [(key.lower().encode(), value.encode()) for key, value in headers],
    }  # fmt: skip
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    running = asgi(scope, receive, send).__await__()
    try:
        next(running)
    except StopIteration:
        start, end = sent
        shown = [(key.decode(), value.decode()) for key, value in start["headers"]]
        return {"status": start["status"], "headers": shown, "body": end["body"].decode()}
    raise HostError("internal", "the application waited for something")


def _header(scope: Scope, name: str) -> str:
    found = [value for key, value in scope.get("headers", ()) if key.decode().lower() == name]
    return found[-1].decode("latin-1") if found else ""


def _json(value: Any, status: int = 200) -> Response:
    return Response(status, json.dumps(value), kind="application/json")
