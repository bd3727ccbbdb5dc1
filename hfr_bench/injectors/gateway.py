"""The model gateway: a reverse proxy that *is* the injector of the model layer.

It holds the only cursor over a trial's model faults and plays the live event on the wire, where
every client, ours or a stranger's, meets it as the real thing. It never retries and never
decides. What it did with a request is told to the trial's writer before the client can know.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from hfr_bench import content
from hfr_bench.errors import InfrastructureError
from hfr_bench.faults import shape
from hfr_bench.injectors._wire import (
    BODY_LIMIT,
    PREFIX,
    Coordinate,
    Guest,
    hang_up,
    passable,
    read_body,
)
from hfr_bench.loopback import LoopThread, listen
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import Close, FaultEvent, KindSpec, Respond, Stall
from hfr_bench.model.terms import ClockKind
from hfr_bench.model.trace import UpstreamHit
from hfr_bench.ports.injector import Scene

DIALECT = "openai_chat"
CHAT = "chat/completions"
_START_S = 10.0
_UPSTREAM = aiohttp.ClientTimeout(total=900, sock_connect=10)
_NOTHING = text_digest("")
_LAST = b"[DONE]"

# Our client writes the model first; reading it there spares a parse of the conversation.
_MODEL_FIRST = re.compile(rb'\s*\{\s*"model"\s*:\s*"([^"\\]*)"')


@dataclass(slots=True)
class _Exchange:
    """One request on its way through; `tell` may be called once."""

    guest: Guest
    request: web.BaseRequest
    tail: str
    body: bytes
    target: str
    at: Coordinate
    event: FaultEvent | None
    virtual: bool
    forwarded: bool = False
    upstream_status: int | None = None
    told: bool = False

    def tell(self, answer_digest: str, *, failed: bool, stall_us: int = 0) -> None:
        """Queue the truth of this request for the trial's writer."""
        assert not self.told, "a request is told exactly once"
        self.told = True
        self.guest.settle(self.at, failed=failed)
        self.guest.scene.tell(
            UpstreamHit(
                point=self.at.point,
                occurrence=self.at.occurrence,
                attempt=self.at.attempt,
                target=self.target,
                told=self.at.told,
                forwarded=self.forwarded,
                upstream_status=self.upstream_status,
                injection_id=self.event.injection_id if self.event else None,
                kind=self.event.kind if self.event else None,
                request_digest=text_digest(self.body) if self.body else _NOTHING,
                response_digest=answer_digest,
                stall_us=stall_us,
            )
        )


class GatewayInjector:
    """Faults on the model's HTTP wire: a reverse proxy for the dialect `openai_chat`.

    `forward_coordinates`: the upstream is a rehearsal server, which needs the `x-hfr-*` headers;
    every other upstream never sees one. `kinds`: the fault kinds by name; default the built-in.
    `drain_s`: how long a leaving trial waits for its requests in flight before they are cut off.
    """

    def __init__(
        self,
        forward_coordinates: bool = True,
        kinds: Mapping[str, KindSpec] | None = None,
        drain_s: float = 5.0,
    ) -> None:
        self._coordinates = forward_coordinates
        self._kinds = kinds
        self._drain_s = drain_s
        self._guests: dict[str, Guest] = {}
        self._loop: LoopThread | None = None
        self._runner: web.ServerRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self._upstream = ""
        self._port = 0

    def kinds(self) -> frozenset[str]:
        """The kinds whose wire speaks this dialect."""
        known = content.kinds() if self._kinds is None else self._kinds
        return frozenset(name for name, spec in known.items() if DIALECT in spec.wire)

    def start(self, upstream: str) -> None:
        """Bind on loopback. Raises InfrastructureError if that fails or it runs already."""
        if self._loop is not None:
            raise InfrastructureError(f"the gateway runs already, on port {self._port}")
        self._upstream = upstream.rstrip("/")
        self._loop = LoopThread("hfr-gateway")
        try:
            self._loop.call(self._open(), _START_S)
        except (OSError, TimeoutError) as error:
            self.stop()
            raise InfrastructureError(f"the gateway could not bind on loopback: {error}") from error

    def enter(self, scene: Scene) -> str:
        """Register a trial. Raises InfrastructureError if it is in there already."""
        if self._loop is None:
            raise InfrastructureError("the gateway is not running; call start(upstream) first")
        if scene.trial_id in self._guests:
            raise InfrastructureError(f"trial {scene.trial_id} is in the gateway already")
        self._guests[scene.trial_id] = Guest(scene)
        return f"http://127.0.0.1:{self._port}/t/{scene.trial_id}/v1"

    def leave(self, trial_id: str) -> None:
        """Forget a trial; nothing is told of it once this has returned. Idempotent."""
        guest = self._guests.pop(trial_id, None)
        if guest is not None and self._loop is not None:
            self._loop.call(guest.drain(self._drain_s))

    def stop(self) -> None:
        """Let every trial leave, close the sockets and end the thread. Idempotent."""
        loop, self._loop = self._loop, None
        if loop is not None:
            guests = [self._guests.pop(name) for name in list(self._guests)]
            try:
                loop.call(self._shut(guests))
            finally:
                loop.close()

    async def _open(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=_UPSTREAM,
            skip_auto_headers=("accept", "user-agent", "content-type"),
        )
        self._runner, self._port = await listen(self._handle)

    async def _shut(self, guests: list[Guest]) -> None:
        await asyncio.gather(*(guest.drain(self._drain_s) for guest in guests))
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        parts = request.path_qs.split("/", 4)
        if len(parts) < 5 or (parts[1], parts[3]) != ("t", "v1"):
            return _refuse(404, "not_found", "the address is /t/<trial_id>/v1/chat/completions")
        guest = self._guests.get(parts[2])
        if guest is None:
            return _refuse(404, "unknown_trial", f"no trial {parts[2]!r} is under way here")
        with guest.under_way():
            return await self._serve(request, guest, parts[4])

    async def _serve(self, request: web.BaseRequest, guest: Guest, tail: str) -> web.StreamResponse:
        """Find the live event and play it; without one, forward."""
        body = await read_body(request)
        chat = request.method == "POST" and tail.split("?", 1)[0] == CHAT
        # Other requests are no model calls: passed through and told, at a point no fault names.
        at = guest.coordinate(request.headers if chat else {}, _point(chat, tail))
        target = _model_of(body) if chat and body else ""
        scene = guest.scene
        event = None
        if chat and body is not None:
            event = scene.cursor.at(*at[:3], target=target, now_us=scene.clock.now_us())
        virtual = scene.clock.kind is ClockKind.VIRTUAL
        exchange = _Exchange(guest, request, tail, body or b"", target, at, event, virtual)
        if body is None:
            return _answer(exchange, _refuse(413, "too_large", f"limit: {BODY_LIMIT} bytes"))
        try:
            if event is None:
                return await self._forward(exchange)
            return await self._play(exchange, event, scene.kinds[event.kind])
        except asyncio.CancelledError:  # the trial left and would not wait any longer
            if not exchange.told:
                exchange.tell("", failed=True)
            hang_up(request)
            raise

    async def _play(
        self, exchange: _Exchange, event: FaultEvent, kind: KindSpec
    ) -> web.StreamResponse:
        """The event's wire effect, exactly as its kind declares it."""
        effect = shape.wire(event, kind, DIALECT)
        latency_us = kind.latency_ms * 1000
        if isinstance(effect, Respond):
            response = web.Response(
                status=effect.status, headers=effect.headers, body=effect.body.encode()
            )
            if exchange.virtual:
                response.headers["x-hfr-latency-us"] = str(latency_us)
            else:
                await exchange.guest.pause(latency_us)
            return _answer(exchange, response)
        if effect.forward:
            await self._send_and_drop(exchange)
        return await _lose(exchange, effect, latency_us)

    async def _forward(self, exchange: _Exchange) -> web.StreamResponse:
        """Pass the request on and its answer back; a dead upstream is a 502."""
        try:
            async with await self._ask(exchange) as upstream:
                exchange.forwarded = True
                headers = passable(upstream.headers, coordinates=exchange.virtual)
                if upstream.content_type == "text/event-stream":
                    exchange.upstream_status = upstream.status
                    return await _stream(exchange, upstream, headers)
                body = await upstream.read()
                exchange.upstream_status = upstream.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if exchange.told:  # an answer that had begun is cut off, as upstream cut it off
                return hang_up(exchange.request)
            exchange.forwarded = not isinstance(error, aiohttp.ClientConnectorError)
            name = type(error).__name__
            return _answer(exchange, _refuse(502, "upstream_unreachable", f"model server: {name}"))
        return _answer(exchange, web.Response(status=upstream.status, headers=headers, body=body))

    async def _send_and_drop(self, exchange: _Exchange) -> None:
        """The upstream gets the request; its answer goes nowhere."""
        try:
            async with await self._ask(exchange) as upstream:
                exchange.forwarded = True
                await upstream.read()
                exchange.upstream_status = upstream.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            exchange.forwarded = not isinstance(error, aiohttp.ClientConnectorError)

    async def _ask(self, exchange: _Exchange) -> aiohttp.ClientResponse:
        """The request to the upstream; coordinates only where they belong, never the arm."""
        request, at = exchange.request, exchange.at
        headers = passable(request.headers, coordinates=self._coordinates)
        headers["accept-encoding"] = "identity"  # digests are of the text, not of its compression
        if self._coordinates:
            for name, value in exchange.guest.scene.labels.items():
                headers.setdefault(PREFIX + name, value)
            headers["x-hfr-point"] = at.point
            headers["x-hfr-occurrence"] = str(at.occurrence)
            headers["x-hfr-attempt"] = str(at.attempt)
        assert self._session is not None
        return await self._session.request(
            request.method,
            f"{self._upstream}/{exchange.tail}",
            data=exchange.body or None,
            headers=headers,
            allow_redirects=False,
        )


async def _lose(exchange: _Exchange, effect: Close | Stall, latency_us: int) -> web.Response:
    """End the connection without an answer; stalls are announced, or really waited for."""
    stall_us = round(effect.stall_s * 1e6) if isinstance(effect, Stall) else latency_us
    exchange.tell("", failed=True, stall_us=stall_us)
    if not exchange.virtual:
        await exchange.guest.pause(stall_us)
    return hang_up(exchange.request)


async def _stream(
    exchange: _Exchange, upstream: aiohttp.ClientResponse, headers: CIMultiDict[str]
) -> web.StreamResponse:
    """Server-sent events, chunk by chunk; what ends them waits until the hit is told."""
    response = web.StreamResponse(status=upstream.status, headers=headers)
    sent = bytearray()
    try:
        await response.prepare(exchange.request)
        held = b""
        async for chunk in upstream.content.iter_any():
            sent += chunk
            if held or _LAST in chunk:
                held += chunk
            else:
                await response.write(chunk)
        exchange.tell(text_digest(bytes(sent)), failed=upstream.status >= 400)
        if held:
            await response.write(held)
        await response.write_eof()
    except (aiohttp.ClientError, TimeoutError, OSError):
        if not exchange.told:
            exchange.tell(text_digest(bytes(sent)), failed=True)
        raise
    return response


def _answer(exchange: _Exchange, response: web.Response) -> web.Response:
    """Tell, then answer."""
    body = response.body
    assert body is None or isinstance(body, bytes)
    exchange.tell(text_digest(body or b""), failed=response.status >= 400)
    return response


def _refuse(status: int, code: str, message: str) -> web.Response:
    """The gateway's own errors, in the provider's shape."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    error = {"message": f"hfr-bench gateway: {message}", "type": kind, "param": None, "code": code}
    return web.json_response({"error": error}, status=status)


def _point(chat: bool, tail: str) -> str:
    return "model:agent" if chat else f"wire:{tail.split('?', 1)[0]}"


def _model_of(body: bytes) -> str:
    """The requested model; empty if there is none to be read."""
    if first := _MODEL_FIRST.match(body):
        return first[1].decode(errors="replace")
    try:
        model = json.loads(body).get("model", "")
    except (ValueError, AttributeError):
        return ""
    return model if isinstance(model, str) else ""
