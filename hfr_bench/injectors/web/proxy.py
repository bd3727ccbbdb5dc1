"""A reverse proxy before the sites of one world: a loopback port for each, faults on the way.

Every answer ends its connection. A browser sends a request again by itself if a connection that it
kept is closed without an answer; over a new one it does not.
"""

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from hfr_bench.faults.web import Effect, effect_lands
from hfr_bench.injectors._trail import Coordinate
from hfr_bench.injectors._wire import BODY_LIMIT, passable, read_body
from hfr_bench.injectors.web.edits import edited
from hfr_bench.injectors.web.stage import Stage
from hfr_bench.loopback import Handler, listen
from hfr_bench.model.effects import Stale
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import Close, Cut, FaultEvent, Respond, Rewrite, Stall
from hfr_bench.model.web import Cookieless, Discard, Meddle, Route, WebHit, address
from hfr_bench.passing import ERRORS, UnderWay, ask, hang_up, site_client

_TEXTS = ("text/html", "text/css", "application/javascript", "application/json")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a site answered, read to its end, in terms of our address."""

    status: int
    headers: CIMultiDict[str]
    body: bytes

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").lower()

    @property
    def page(self) -> bool:
        """Whether it is a good page with something in it."""
        return 200 <= self.status < 300 and self.kind.startswith("text/html") and bool(self.body)


@dataclass(slots=True)
class Passing:
    """A request on its way. `hit`: what is known of it so far; told once, before the answer."""

    request: web.BaseRequest
    body: bytes
    site: str
    url: str
    stage: Stage
    at: Coordinate
    event: FaultEvent | None
    hit: WebHit
    told: bool = False

    def tell(self, sent: Answer | None, *, stall_us: int = 0) -> None:
        """Queue the truth of this request."""
        assert not self.told, "a request is told exactly once"
        self.told = True
        self.stage.waited_us += stall_us
        update: dict[str, object] = {"stall_us": stall_us}
        if sent is not None:
            update |= {"status": sent.status, "response_digest": text_digest(sent.body)}
            update["retry_after"] = sent.headers.get("retry-after")
        self.stage.scene.tell(self.hit.model_copy(update=update))


@dataclass(slots=True)
class Front:
    """The proxy of one world. Its coroutines run in one loop. `stage`: the trial before it."""

    sites: Mapping[str, str]
    stage: Stage | None = None
    addresses: dict[str, str] = field(default_factory=dict)
    _client: aiohttp.ClientSession | None = None
    _runners: list[web.ServerRunner] = field(default_factory=list)
    _flight: UnderWay = field(default_factory=UnderWay)
    _gone: asyncio.Event = field(default_factory=asyncio.Event)
    _held: dict[str, socket.socket] = field(default_factory=dict)

    async def start(self) -> dict[str, str]:
        """Listen; returns the addresses that take the sites' places. Raises OSError."""
        self._client = site_client()
        for site in self.sites:
            runner, port = await listen(self._handler(site))
            self._runners.append(runner)
            self.addresses[site] = f"http://127.0.0.1:{port}"
        return dict(self.addresses)

    async def refuse(self, site: str) -> None:
        """Take no connection for a site, until `admit`. Its port stays ours. Raises OSError."""
        runner = self._runners[list(self.sites).index(site)]
        for listening in tuple(runner.sites):
            await listening.stop()
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", self._port(site)))  # bound, and not listening: refused
        self._held[site] = held

    async def admit(self, site: str) -> None:
        """Take connections for a site again. Raises OSError. Idempotent."""
        held = self._held.pop(site, None)
        if held is not None:
            runner = self._runners[list(self.sites).index(site)]
            await web.TCPSite(runner, "127.0.0.1", self._port(site)).start()
            held.close()

    def _port(self, site: str) -> int:
        return int(self.addresses[site].rpartition(":")[2])

    async def enter(self, stage: Stage) -> None:
        """A trial begins."""
        self._gone.clear()
        self.stage = stage

    async def leave(self, limit_s: float) -> None:
        """No fault any more; what stalls ends, what is under way is waited for. Idempotent."""
        if self.stage is not None:
            self.stage.on = False
        self._gone.set()
        for site in tuple(self._held):
            await self.admit(site)
        for task in (late := await self._flight.ended(limit_s)):
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        self.stage = None

    async def stop(self, limit_s: float) -> None:
        """Leave, and close every socket."""
        await self.leave(limit_s)
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()
        if self._client is not None:
            await self._client.close()

    def _handler(self, site: str) -> Handler:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            with self._flight.one():
                return await self._handle(site, request)

        return handle

    async def _handle(self, site: str, request: web.BaseRequest) -> web.StreamResponse:
        body = await read_body(request)
        if body is None:
            return web.Response(status=413, text=f"limit: {BODY_LIMIT} bytes")
        stage, url = self.stage, address(site, request.raw_path)
        route = None if stage is None else stage.route(site, request.method, request.raw_path)
        if stage is None or route is None:
            came = request.headers.get("cookie", "")
            cookies = came if stage is None else "; ".join(stage.alive(came))
            answer, _ = await self._ask(site, request, body, cookies)
            return _unreachable() if answer is None else _whole(answer)
        passing = _passing(request, body, site, url, stage, route)
        try:
            return await self._play(passing)
        except asyncio.CancelledError:
            if not passing.told:
                passing.tell(None)
            raise

    async def _play(self, passing: Passing) -> web.StreamResponse:
        """The event's effect, or the site's own answer."""
        event = passing.event
        effect = None if event is None else passing.stage.effect(event)
        if isinstance(effect, Respond):
            return await self._answered(passing, effect)
        real = None
        if isinstance(effect, Meddle):
            loop = asyncio.get_running_loop()
            what = await loop.run_in_executor(None, passing.stage.meddle, effect.what)
            passing.hit = passing.hit.model_copy(update={"meddled": what})
        if effect is None or effect_lands(effect):
            real = await self._site(passing, effect)
        if isinstance(effect, Close | Stall):
            stall_s = effect.stall_s if isinstance(effect, Stall) else 0.0
            return await self._silence(passing, stall_s)
        if real is None:
            sent = Answer(502, CIMultiDict({"content-type": "text/plain"}), _GONE)
            passing.tell(sent)
            return _whole(sent)
        if isinstance(effect, Discard):
            return await self._answered(passing, effect)
        if isinstance(effect, Cut):
            passing.tell(None)
            return await _cut(passing.request, real)
        sent = _altered(passing, effect, real)
        passing.tell(sent)
        return _whole(sent)

    async def _site(self, passing: Passing, effect: Effect | None) -> Answer | None:
        """The site's own answer; what it is goes into the hit."""
        stage, hit = passing.stage, passing.hit
        came = passing.request.headers.get("cookie", "")
        alive = stage.alive(came)
        passed = alive
        if isinstance(effect, Cookieless):
            passed = []
            if effect.for_good:
                stage.bury(alive)
        answer, reached = await self._ask(
            passing.site, passing.request, passing.body, "; ".join(passed)
        )
        update: dict[str, object] = {
            "cookies": len(alive),
            "passed_cookies": len(passed),
            "forwarded": reached,
        }
        if answer is not None:
            update |= {
                "upstream_status": answer.status,
                "upstream_digest": text_digest(answer.body),
                "page": answer.page,
            }
        passing.hit = hit.model_copy(update=update)
        return answer

    async def _ask(
        self, site: str, request: web.BaseRequest, body: bytes, cookies: str
    ) -> tuple[Answer | None, bool]:
        """The site's answer, None if there was none; and whether the request may have got there."""
        origin, ours = self.sites[site], f"http://{request.host}"
        headers = passable(request.headers, coordinates=False)
        headers.popall("cookie", None)
        if cookies:
            headers["cookie"] = cookies
        assert self._client is not None
        try:
            said = await ask(self._client, request, body, headers, origin=origin, ours=ours)
        except aiohttp.ClientConnectorError:
            return None, False
        except ERRORS:
            return None, True
        return _ours(Answer(said.status, _passed(said.headers), said.body), origin, ours), True

    async def _answered(self, passing: Passing, effect: Respond | Discard) -> web.Response:
        """An answer that is not the site's."""
        assert passing.event is not None
        kind = passing.stage.scene.kinds[passing.event.kind]
        latency_us = kind.latency_ms * 1000
        if not passing.stage.virtual:
            await self._pause(latency_us / 1e6)
        sent = Answer(effect.status, CIMultiDict(effect.headers), effect.body.encode())
        passing.tell(sent, stall_us=latency_us)
        return _whole(sent)

    async def _silence(self, passing: Passing, stall_s: float) -> web.Response:
        """No answer: at once, or after a silence that a virtual clock is only told of."""
        passing.tell(None, stall_us=round(stall_s * 1_000_000))
        if not passing.stage.virtual:
            await self._pause(stall_s)
        return hang_up(passing.request)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._gone.wait()


_GONE = b"the site cannot be reached"


def _passing(
    request: web.BaseRequest, body: bytes, site: str, url: str, stage: Stage, route: Route
) -> Passing:
    at = stage.at(route)
    event = stage.event(at, site)
    hit = WebHit(
        site=site,
        method=request.method,
        url=url,
        point=at.point,
        occurrence=at.occurrence,
        attempt=at.attempt,
        at_us=stage.scene.clock.now_us(),
        told=at.told,
        level=route.level,
        injection_id=event.injection_id if event else None,
        kind=event.kind if event else None,
    )
    return Passing(request, body, site, url, stage, at, event, hit)


def _altered(passing: Passing, effect: Effect | None, real: Answer) -> Answer:
    """What goes out for the site's answer; where there is nothing to alter, that very answer."""
    stage, method, url = passing.stage, passing.request.method, passing.url
    old = stage.older(method, url, real.body) if isinstance(effect, Stale) else None
    if real.page:
        stage.remember(method, url, real.body)
    if not real.page or passing.event is None:
        return real
    if old is not None:
        return replace(real, body=old)
    if not isinstance(effect, Rewrite):
        return real
    text = real.body.decode(errors="surrogateescape")
    words = str(passing.event.params.get("text", ""))
    made = edited(effect.edits, text, passing.event.injection_id, words)
    return replace(real, body=made.encode(errors="surrogateescape"))


def _ours(answer: Answer, origin: str, ours: str) -> Answer:
    """The site's absolute addresses become ours: in redirects, and in what refers to them."""
    headers = answer.headers
    if where := headers.get("location"):
        headers["location"] = where.replace(origin, ours, 1)
    body = answer.body
    if answer.kind.startswith(_TEXTS):
        body = body.replace(origin.encode(), ours.encode())
    return Answer(answer.status, headers, body)


def _passed(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """A site's headers; cookies for its own host are for ours: both are this machine."""
    kept = passable(headers, coordinates=False)
    cookies = kept.popall("set-cookie", [])
    for cookie in cookies:
        parts = [p for p in cookie.split(";") if not p.strip().lower().startswith("domain=")]
        kept.add("set-cookie", ";".join(parts))
    return kept


def _whole(answer: Answer) -> web.Response:
    response = web.Response(status=answer.status, headers=answer.headers, body=answer.body)
    response.force_close()
    return response


async def _cut(request: web.BaseRequest, real: Answer) -> web.StreamResponse:
    """The first half of the site's answer. A redirect is followed by its head: none of it goes."""
    if len(real.body) < 2 or 300 <= real.status < 400:
        return hang_up(request)
    response = web.StreamResponse(status=real.status, headers=real.headers)
    response.content_length = len(real.body)
    response.force_close()
    with contextlib.suppress(OSError):
        await response.prepare(request)
        await response.write(real.body[: len(real.body) // 2])
    if request.transport is not None:
        request.transport.close()
    return response


def _unreachable() -> web.Response:
    response = web.Response(status=502, body=_GONE)
    response.force_close()
    return response
