"""The proxy itself: guests, routes, and the way to the model server and back.

It holds the only cursor over a trial's model faults and plays the live event on the wire, where
every client, ours or a stranger's, meets it as the real thing. It never retries and never
decides. What it did with a request is told to the trial's writer before the client can know.
"""

import asyncio
from collections.abc import Mapping, Sequence

from multidict import CIMultiDict

from hfr_bench import content
from hfr_bench.errors import InfrastructureError
from hfr_bench.faults import shape
from hfr_bench.faults.dialects import CHAT, MODEL_DIALECTS, effect_in, speaks
from hfr_bench.injectors._wire import BODY_LIMIT, PREFIX, Guest, passable
from hfr_bench.injectors.gateway import play, prefix, routes, sse
from hfr_bench.injectors.gateway.exchange import (
    UPSTREAM_ERRORS,
    Answer,
    Exchange,
    absorbed,
    hang_up,
    refuse,
)
from hfr_bench.injectors.gateway.serving import Reply, Request, Server
from hfr_bench.injectors.gateway.upstream import Response, UnreachedError, Upstream
from hfr_bench.loopback import LoopThread
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import (
    Close,
    Cut,
    Drip,
    FaultEvent,
    KindSpec,
    Respond,
    Rewrite,
    Stall,
)
from hfr_bench.model.terms import ClockKind, Layer
from hfr_bench.ports.injector import Scene

_START_S = 60.0
_STREAM = "text/event-stream"
_WHERE = "the address is /t/<trial_id>/v1/... or /t/<trial_id>/v1beta/..."


class GatewayInjector:
    """Faults on the model's HTTP wire: a reverse proxy for four dialects (`faults.dialects`).

    `forward_coordinates`: the upstream is a rehearsal server, which needs the `x-hfr-*` headers;
    every other upstream never sees one. `kinds`: the fault kinds by name; default the built-in.
    `drain_s`: how long a leaving trial waits for its requests in flight before they are cut off.
    `dialects`: those that trials may speak; a trial with a fault that one of them lacks may not
    enter. Requests in another dialect are served all the same, if their fault speaks it.
    `port`: where to listen on loopback; 0 = a free one.
    """

    def __init__(
        self,
        forward_coordinates: bool = True,
        kinds: Mapping[str, KindSpec] | None = None,
        drain_s: float = 5.0,
        dialects: Sequence[str] = (CHAT,),
        port: int = 0,
    ) -> None:
        if unknown := sorted(set(dialects) - set(MODEL_DIALECTS)):
            raise ValueError(f"no dialect {unknown[0]!r}; there are: {', '.join(MODEL_DIALECTS)}")
        self._coordinates = forward_coordinates
        self._kinds = kinds
        self._drain_s = drain_s
        self._dialects = tuple(dialects)
        self._guests: dict[str, Guest] = {}
        self._loop: LoopThread | None = None
        self._server: Server | None = None
        self._upstream: Upstream | None = None
        self._paths: dict[str, str] = {}
        self._port = port

    def kinds(self) -> frozenset[str]:
        """The kinds that can be played in every one of the dialects."""
        known = content.kinds() if self._kinds is None else self._kinds
        return frozenset(name for name, spec in known.items() if not self._why_not(spec))

    def start(self, upstream: str) -> None:
        """Bind on loopback. Raises InfrastructureError if that fails or it runs already.

        `upstream`: the base URL of the model server; that of another version of its interface
        (`v1beta`) lies beside a `/v1`. ValueError if it is none.
        """
        if self._loop is not None:
            raise InfrastructureError(f"the gateway runs already, on port {self._port}")
        self._upstream = Upstream(upstream)
        path = self._upstream.path
        self._paths = {"v1": path, "v1beta": f"{path.removesuffix('/v1')}/v1beta"}
        self._loop = LoopThread("hfr-gateway")
        try:
            self._loop.call(self._open(), _START_S)
        except (OSError, TimeoutError) as error:
            self.stop()
            raise InfrastructureError(f"the gateway could not bind on loopback: {error}") from error

    def enter(self, scene: Scene) -> str:
        """Register a trial.

        Raises InfrastructureError if it is in there already, or plans a fault that is unknown or
        that one of the dialects has no wire for.
        """
        if self._loop is None:
            raise InfrastructureError("the gateway is not running; call start(upstream) first")
        if scene.trial_id in self._guests:
            raise InfrastructureError(f"trial {scene.trial_id} is in the gateway already")
        for name in {event.kind for event in scene.cursor.events if event.layer is Layer.MODEL}:
            if why := self._why_not(scene.kinds[name]) if name in scene.kinds else "no such kind":
                raise InfrastructureError(f"trial {scene.trial_id}: the fault {name!r}: {why}")
        self._guests[scene.trial_id] = Guest(scene)
        return f"http://127.0.0.1:{self._port}/t/{scene.trial_id}/v1"

    def leave(self, trial_id: str) -> None:
        """Forget a trial; nothing is told of it once this has returned. Idempotent."""
        guest = self._guests.pop(trial_id, None)
        if guest is not None and self._loop is not None:
            self._loop.call(guest.drain(self._drain_s))

    def wake(self, trial_id: str) -> None:
        """End what stalls in a trial, now and from now on; the trial stays."""
        guest = self._guests.get(trial_id)
        if guest is not None and self._loop is not None:
            self._loop.call(guest.wake())

    def stop(self) -> None:
        """Let every trial leave, close the sockets and end the thread. Idempotent."""
        loop, self._loop = self._loop, None
        if loop is not None:
            guests = [self._guests.pop(name) for name in list(self._guests)]
            try:
                loop.call(self._shut(guests))
            finally:
                loop.close()

    def _why_not(self, spec: KindSpec) -> str:
        """Why a kind cannot be played here; "" if it can."""
        for dialect in self._dialects:
            if not speaks(spec, dialect):
                return f"no wire for the dialect {dialect!r}; it has: {', '.join(spec.wire)}"
            effect = effect_in(spec, dialect)
            if not isinstance(effect, Respond | Close | Stall | Drip | Cut | Rewrite):
                return f"{effect.type!r} is an effect of the tool boundary"
            edits = effect.edits if isinstance(effect, Rewrite) else ()
            if unknown := [name for name in edits if not play.known(name)]:
                return f"no edit {unknown[0]!r} of a model's answer"
        return ""

    async def _open(self) -> None:
        self._server = Server(self._handle)
        self._port = await self._server.start(self._port)

    async def _shut(self, guests: list[Guest]) -> None:
        await asyncio.gather(*(guest.drain(self._drain_s) for guest in guests))
        if self._server is not None:
            self._server.stop()
        if self._upstream is not None:
            self._upstream.close()

    async def _handle(self, request: Request) -> Reply | None:
        parts = request.path_qs.split("/", 4)
        if len(parts) < 5 or parts[1] != "t" or parts[3] not in self._paths:
            return refuse(404, "not_found", _WHERE, routes.dialect_of(request.path_qs))
        guest = self._guests.get(parts[2])
        if guest is None:
            dialect = routes.dialect_of(request.path_qs)
            return refuse(404, "unknown_trial", f"no trial {parts[2]!r} is under way here", dialect)
        with guest.under_way():
            return await self._serve(request, guest, parts[3], parts[4])

    async def _serve(self, request: Request, guest: Guest, version: str, tail: str) -> Reply | None:
        """Find the live event and play it; without one, forward."""
        body = request.body
        dialect, point, model = routes.route(request.method, tail.split("?", 1)[0])
        # Other requests are no model calls: passed through and told, at a point no fault names.
        at = guest.coordinate(request.headers if dialect else {}, point)
        target = model or (routes.model_of(body) if dialect and body else "")
        scene = guest.scene
        event, early = None, not scene.cursor.met
        if dialect and body is not None:
            # Without the model's name, so that another model alone makes no request smaller.
            size, now_us = len(body) - len(target.encode()), scene.clock.now_us()
            event = scene.cursor.at(*at[:3], target=target, now_us=now_us, size=size)
        virtual = scene.clock.kind is ClockKind.VIRTUAL
        path = f"{self._paths[version]}/{tail}"
        exchange = Exchange(guest, request, dialect, path, body or b"", target, at, event, virtual)
        if body is None:
            limit = f"limit: {BODY_LIMIT} bytes"
            return exchange.answer(refuse(413, "too_large", limit, dialect))
        if early:
            prefix.seek(exchange)
        try:
            if event is None:
                return await self._forward(exchange)
            return await self._play(exchange, event, scene.kinds[event.kind])
        except asyncio.CancelledError:  # the trial left and would not wait any longer
            exchange.lose()
            raise

    async def _play(self, exchange: Exchange, event: FaultEvent, kind: KindSpec) -> Reply | None:
        """The event's wire effect, exactly as its kind declares it."""
        if not speaks(kind, exchange.dialect):
            exchange.event = None  # nothing was injected, our own side failed: a void
            why = f"the fault {kind.kind!r} has no wire for the dialect {exchange.dialect!r}"
            return exchange.answer(refuse(501, "no_wire", why, exchange.dialect))
        effect = shape.wire(event, kind, exchange.dialect)
        latency_us = kind.latency_ms * 1000
        if isinstance(effect, Respond):
            return await play.respond(exchange, effect, latency_us)
        real = await self._ask_for_all(exchange) if shape.lands(effect) else None
        if isinstance(effect, Close | Stall):
            await play.lose(exchange, effect, latency_us)
            return None
        if real is None or not isinstance(effect, Drip | Cut | Rewrite):
            exchange.event = None
            return exchange.answer(_unreachable(exchange, "no answer"))
        return await play.spoil(exchange, effect, real)

    async def _forward(self, exchange: Exchange) -> Reply | None:
        """Pass the request on and its answer back; a dead upstream is a 502."""
        try:
            async with await self._ask(exchange) as upstream:
                exchange.forwarded = True
                exchange.absorbed = absorbed(upstream.headers)
                headers = passable(upstream.headers, coordinates=exchange.virtual)
                if upstream.content_type == _STREAM:
                    exchange.upstream_status = upstream.status
                    await _stream(exchange, upstream, headers)
                    return None
                body = await exchange.whole(upstream)
        except UPSTREAM_ERRORS as error:
            if exchange.told:  # an answer that had begun is cut off, as upstream cut it off
                hang_up(exchange.request)
                return None
            exchange.forwarded = not isinstance(error, UnreachedError)
            return exchange.answer(_unreachable(exchange, type(error).__name__))
        return exchange.answer(Reply(upstream.status, headers, body))

    async def _ask_for_all(self, exchange: Exchange) -> Answer | None:
        """The upstream's answer to its end; None if there was none."""
        try:
            async with await self._ask(exchange) as upstream:
                exchange.forwarded = True
                exchange.absorbed = absorbed(upstream.headers)
                body = await exchange.whole(upstream)
        except UPSTREAM_ERRORS as error:
            exchange.forwarded = not isinstance(error, UnreachedError)
            return None
        headers = passable(upstream.headers, coordinates=exchange.virtual)
        return Answer(upstream.status, headers, body, upstream.content_type == _STREAM)

    async def _ask(self, exchange: Exchange) -> Response | prefix.Played:
        """The request to the upstream; coordinates only where they belong, never the arm."""
        if (recorded := await prefix.played(exchange)) is not None:
            return recorded
        request, at = exchange.request, exchange.at
        headers = passable(request.headers, coordinates=self._coordinates)
        headers["accept-encoding"] = "identity"  # digests are of the text, not of its compression
        if self._coordinates:
            for name, value in exchange.guest.scene.labels.items():
                headers.setdefault(PREFIX + name, value)
            headers["x-hfr-point"] = at.point
            headers["x-hfr-occurrence"] = str(at.occurrence)
            headers["x-hfr-attempt"] = str(at.attempt)
        assert self._upstream is not None
        return await self._upstream.ask(
            request.method, exchange.path, headers.items(), exchange.body
        )


async def _stream(
    exchange: Exchange, upstream: Response | prefix.Played, headers: CIMultiDict[str]
) -> None:
    """Server-sent events, piece by piece as they come; what ends them waits until the hit is told.

    The head goes out with the first piece, or alone where that is not there yet.
    """
    last = sse.ENDS.get(exchange.dialect, b"\0")
    sending = exchange.request.begin(upstream.status, headers, None)
    sent, held = [], b""
    try:
        async for piece in upstream.pieces(waiting=sending.flush):
            sent.append(piece)
            if held or last in piece:
                held += piece
            else:
                await sending.send(piece)
        exchange.keep(upstream.status, upstream.headers, sent)
        exchange.tell(text_digest(b"".join(sent)), failed=upstream.status >= 400)
        sending.end(held)
    except UPSTREAM_ERRORS:
        if not exchange.told:
            exchange.tell(text_digest(b"".join(sent)), failed=True)
        raise


def _unreachable(exchange: Exchange, name: str) -> Reply:
    return refuse(502, "upstream_unreachable", f"model server: {name}", exchange.dialect)
