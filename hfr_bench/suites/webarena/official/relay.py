"""The sites' end of a world: a loopback port before each, where all that reaches a site is seen.

    browser ──→ (fault proxy) ──→ relay ──→ site
                                    └─ exchanges, as the site got and answered them

A browser does not know whether a form was carried out whose answer it never saw; a HAR taken here
does. The relay injects nothing and sends nothing twice: one connection a request, ended by it.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from hfr_bench.errors import InfrastructureError
from hfr_bench.loopback import Handler, LoopThread, listen
from hfr_bench.suites.webarena.episode import DROPPED, Exchange

SETTLE_S = 5.0
"""How long a request that is under way is waited for, behind an action."""

_START_S = 10.0
_ERRORS = (aiohttp.ClientError, TimeoutError, OSError)
_TEXTS = ("text/", "application/javascript", "application/json", "application/xhtml")
_KEPT = 1024 * 1024
_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("te", "trailer", "transfer-encoding", "upgrade", "host", "content-length"),
        *("content-encoding", "server", "date", "proxy-connection"),
    }
)


class Relay:
    """Stands before sites. `origins`: scheme, host and port of each, by site.

    `urls`: the loopback addresses that take their places. `exchanges`: what has reached which site
    since `clear`, in the order in which it was answered, while `recording`. Raises
    InfrastructureError if it cannot listen.
    """

    def __init__(self, origins: Mapping[str, str]) -> None:
        self._origins = dict(origins)
        self.recording = False
        self.urls: dict[str, str] = {}
        self._seen: list[tuple[str, Exchange]] = []
        self._runners: list[web.ServerRunner] = []
        self._tasks: set[asyncio.Task[object]] = set()
        self._client: aiohttp.ClientSession | None = None
        self._thread: LoopThread | None = LoopThread("webarena-relay")
        try:
            self._thread.call(self._start(), _START_S)
        except (OSError, TimeoutError) as error:
            self.close()
            raise InfrastructureError(
                f"the relay before the sites cannot listen: {error}"
            ) from error

    @property
    def exchanges(self) -> Sequence[tuple[str, Exchange]]:
        return tuple(self._seen)

    def clear(self) -> None:
        """Forget what was seen."""
        self._seen = []

    def settle(self) -> None:
        """Wait for what is under way, so that it belongs to the action that sent it."""
        if self._thread is not None:
            self._thread.call(self._idle())

    def close(self) -> None:
        """Stop listening. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is not None:
            with contextlib.suppress(TimeoutError):
                thread.call(self._stop(), _START_S)
            thread.close()

    async def _start(self) -> None:
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_START_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("user-agent", "accept", "content-type", "accept-encoding"),
        )
        for site in self._origins:
            runner, port = await listen(self._handler(site))
            self._runners.append(runner)
            self.urls[site] = f"http://127.0.0.1:{port}"

    async def _stop(self) -> None:
        for runner in self._runners:
            await runner.cleanup()
        if self._client is not None:
            await self._client.close()

    async def _idle(self) -> None:
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=SETTLE_S)

    def _handler(self, site: str) -> Handler:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            with self._under_way():
                return await self._pass(site, request)

        return handle

    @contextlib.contextmanager
    def _under_way(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    async def _pass(self, site: str, request: web.BaseRequest) -> web.StreamResponse:
        origin, ours = self._origins[site], self.urls[site]
        body = await request.read()
        headers = _passed(request.headers)
        for name in ("referer", "origin"):
            if name in headers:
                headers[name] = headers[name].replace(ours, origin, 1)
        headers["accept-encoding"] = "identity"
        assert self._client is not None
        url = URL(f"{origin}{request.raw_path}", encoded=True)
        try:
            async with self._client.request(
                request.method, url, data=body or None, headers=headers, allow_redirects=False
            ) as found:
                answer = _Answer(found.status, _passed(found.headers), await found.read())
        except _ERRORS:
            self._note(site, request, body, None)
            return _gone(request)
        answer = answer.told_of(origin, ours)
        self._note(site, request, body, answer)
        response = web.Response(status=answer.status, headers=answer.headers, body=answer.body)
        response.force_close()
        return response

    def _note(
        self, site: str, request: web.BaseRequest, body: bytes, answer: "_Answer | None"
    ) -> None:
        if self.recording:
            url = f"{self.urls[site]}{request.raw_path}"
            self._seen.append((site, _exchange(url, request, body, answer)))


class _Answer:
    """A site's answer."""

    def __init__(self, status: int, headers: CIMultiDict[str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").lower()

    def told_of(self, origin: str, ours: str) -> "_Answer":
        """The same with our address for the site's own, in redirects, cookies and texts."""
        headers, body = self.headers.copy(), self.body
        if where := headers.get("location"):
            headers["location"] = where.replace(origin, ours, 1)
        cookies = headers.popall("set-cookie", [])
        for cookie in cookies:
            headers.add("set-cookie", _for_here(cookie))
        if self.kind.startswith(_TEXTS):
            body = body.replace(origin.encode(), ours.encode())
            body = body.replace(_escaped(origin), _escaped(ours))
        return _Answer(self.status, headers, body)


def _escaped(url: str) -> bytes:
    """As scripts and JSON may spell an address."""
    return url.replace("/", "\\/").encode()


def _for_here(cookie: str) -> str:
    """A cookie for the host that it came from, over plain HTTP."""
    parts = [part for part in cookie.split(";") if not _elsewhere(part)]
    return ";".join(parts)


def _elsewhere(part: str) -> bool:
    name = part.strip().lower()
    return name.startswith("domain=") or name in ("secure", "samesite=none")


def _passed(headers: Mapping[str, str]) -> CIMultiDict[str]:
    kept = [(name, value) for name, value in headers.items() if name.lower() not in _HOP]
    return CIMultiDict(kept)


def _gone(request: web.BaseRequest) -> web.Response:
    """The site gave no answer, so none is given."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _exchange(url: str, request: web.BaseRequest, body: bytes, answer: _Answer | None) -> Exchange:
    post = {
        "method": request.method,
        "url": url,
        "request_headers": tuple(request.headers.items()),
        "post_data": body.decode(errors="replace"),
        "post_type": request.headers.get("content-type", ""),
    }
    if answer is None:
        return Exchange(**post, status=DROPPED)  # type: ignore[arg-type]  # of names above
    text = answer.body[:_KEPT].decode(errors="replace") if answer.kind.startswith(_TEXTS) else ""
    return Exchange(
        **post,  # type: ignore[arg-type]  # of names above
        status=answer.status,
        response_headers=tuple(answer.headers.items()),
        body=text,
        body_type=answer.kind,
        cookies=_cookies(answer.headers),
        redirect_url=answer.headers.get("location", ""),
    )


def _cookies(headers: CIMultiDict[str]) -> tuple[tuple[str, str], ...]:
    found = []
    for line in headers.getall("set-cookie", []):
        try:
            read = SimpleCookie(line.partition(";")[0])
        except CookieError:
            continue
        found += [(name, morsel.value) for name, morsel in read.items()]
    return tuple(found)


def origin_of(url: str) -> tuple[str, str]:
    """Scheme, host and port of a site's URL; and what follows, without a slash at its end."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
