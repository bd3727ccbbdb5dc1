"""The sites' end of a world: a loopback port before each, where all that reaches a site is seen.

    browser ──→ (fault proxy) ──→ relay ──→ site
                                    └─ exchanges, as the site got and answered them

A browser does not know whether a form was carried out whose answer it never saw; a HAR taken here
does. The relay injects nothing and sends nothing twice: one connection a request, ended by it.
"""

import contextlib
from collections.abc import Mapping, Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from hfr_bench.errors import InfrastructureError
from hfr_bench.loopback import Handler, LoopThread, listen
from hfr_bench.passing import ERRORS, UnderWay, ask, hang_up, passable, site_client
from hfr_bench.suites.webarena.episode import DROPPED, Exchange

SETTLE_S = 5.0
"""How long a request that is under way is waited for, behind an action."""

_START_S = 60.0
_TEXTS = ("text/", "application/javascript", "application/json", "application/xhtml")
_KEPT = 1024 * 1024


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
        self._flight = UnderWay()
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
            self._thread.call(self._flight.ended(SETTLE_S))

    def close(self) -> None:
        """Stop listening. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is not None:
            with contextlib.suppress(TimeoutError):
                thread.call(self._stop(), _START_S)
            thread.close()

    async def _start(self) -> None:
        self._client = site_client()
        for site in self._origins:
            runner, port = await listen(self._handler(site))
            self._runners.append(runner)
            self.urls[site] = f"http://127.0.0.1:{port}"

    async def _stop(self) -> None:
        for runner in self._runners:
            await runner.cleanup()
        if self._client is not None:
            await self._client.close()

    def _handler(self, site: str) -> Handler:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            with self._flight.one():
                return await self._pass(site, request)

        return handle

    async def _pass(self, site: str, request: web.BaseRequest) -> web.StreamResponse:
        origin, ours = self._origins[site], self.urls[site]
        body = await request.read()
        headers = passable(request.headers)
        assert self._client is not None
        try:
            said = await ask(self._client, request, body, headers, origin=origin, ours=ours)
        except ERRORS:
            self._note(site, request, body, None)
            return hang_up(request)  # the site gave no answer, so none is given
        answer = _Answer(said.status, passable(said.headers), said.body).told_of(origin, ours)
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
