"""Faults between a browser and its sites: points, coordinates, and the audit of their delivery.

A point is `web:<METHOD> <route>`, its n-th occurrence the n-th request there that the agent's calls
lead to; requests of calls that are made for the strategy have points of their own
(`web:<purpose>:<METHOD> <route>`), so that its reads never shift the agent's faults.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hfr_bench.faults.agenda import Agenda, Delivery
from hfr_bench.faults.expect import Place, expected
from hfr_bench.faults.match import Terms
from hfr_bench.faults.reading import Attempt
from hfr_bench.faults.shape import CLOSED, REFUSED, TIMEOUT, wire
from hfr_bench.model.effects import Stale
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import (
    Close,
    Cut,
    FaultEvent,
    KindSpec,
    Respond,
    Rewrite,
    Stall,
)
from hfr_bench.model.task import FaultPoint
from hfr_bench.model.terms import Layer, SideEffect
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.web import (
    DIALECT,
    PREFIX,
    SITE,
    Cookieless,
    Discard,
    Meddle,
    Refuse,
    Route,
    WebHit,
    WebSeen,
)

LAYERS = (Layer.TOOL, Layer.SEMANTIC)
AGENT = "agent"
EDITS = ("half_page", "rename_button", "change_ids", "instruction")
"""Edits of a page that the proxy knows."""

LOST = frozenset({CLOSED, "BrokenAnswer"})
"""What a browser says of an answer that did not come, or broke off."""

_BY_METHOD = {
    "GET": SideEffect.READ,
    "HEAD": SideEffect.READ,
    "OPTIONS": SideEffect.READ,
    "PUT": SideEffect.IDEMPOTENT,
    "DELETE": SideEffect.IRREVERSIBLE,
}

Effect = Respond | Discard | Close | Stall | Cut | Rewrite | Stale | Cookieless | Refuse | Meddle


def point(method: str, route: str, purpose: str = AGENT) -> str:
    """The point of a route's requests."""
    whose = "" if purpose == AGENT else f"{purpose}:"
    return f"{PREFIX}{whose}{method} {route}"


def site_point(site: str, purpose: str = AGENT) -> str:
    """The point of calls that need a site; its n-th occurrence is the n-th call of all."""
    whose = "" if purpose == AGENT else f"{purpose}:"
    return f"{SITE}{whose}{site}"


def fits(pattern: str, path: str) -> bool:
    """Whether a path is of a route's pattern, in which `{}` is any one part of it."""
    expression = "[^/]+".join(re.escape(part) for part in pattern.split("{}"))
    return re.fullmatch(expression, path) is not None


def route_of(site: str, method: str, path: str, routes: Iterable[Route]) -> Route | None:
    """The first route that a request is of; None for one that no fault can hit."""
    for one in routes:
        if (one.site, one.method) == (site, method) and fits(one.path, path):
            return one
    return None


def level_of(site: str, method: str, path: str, routes: Iterable[Route]) -> SideEffect:
    """What a request does to the world: as its route says, else by its method alone."""
    route = route_of(site, method, path, routes)
    return _BY_METHOD.get(method, SideEffect.QUERYABLE) if route is None else route.level


def fault_points(routes: Iterable[Route]) -> tuple[FaultPoint, ...]:
    """A point for each method and name, of the gravest level of those that share it; one a site."""
    found: dict[str, FaultPoint] = {}
    routes = tuple(routes)
    for one in routes:
        at = point(one.method, one.name)
        before = found[at].level if at in found else SideEffect.READ
        level = max(before, one.level, key=list(SideEffect).index)
        found[at] = FaultPoint(point=at, layer=Layer.TOOL, target=one.site, level=level)
    sites = [
        FaultPoint(point=site_point(site), layer=Layer.TOOL, target=site)
        for site in dict.fromkeys(one.site for one in routes)
    ]
    return (*found.values(), *sites)


def why_not(spec: KindSpec) -> str:
    """Why the web proxy cannot play a kind; "" if it can."""
    effect = spec.wire.get(DIALECT)
    if effect is None:
        return f"it is no fault of a web request (it has: {', '.join(spec.wire) or 'no wire'})"
    if not isinstance(effect, Effect):
        return f"{effect.type!r} is no effect between a browser and a site"
    edits = effect.edits if isinstance(effect, Rewrite) else ()
    if unknown := sorted(set(edits) - set(EDITS)):
        return f"no edit {unknown[0]!r} of a page; there are: {', '.join(EDITS)}"
    return ""


def effect_of(event: FaultEvent, kind: KindSpec) -> Effect:
    """What an event does, with its parameters filled in. Raises ValueError if it is no web kind."""
    if why := why_not(kind):
        raise ValueError(f"the fault kind {kind.kind!r}: {why}")
    found = wire(event, kind, DIALECT)
    assert isinstance(found, Effect)
    return found


# -- coordinates -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Walk:
    """Where in its trial a request is, for callers that say which call of a tool is under way.

    The k-th request at a point within a step is the same logical request at each of the step's
    attempts: the next attempt of it, not the next occurrence.
    """

    _occurrences: dict[str, int] = field(default_factory=dict)
    _known: dict[tuple[str, int, str, int], int] = field(default_factory=dict)
    _tries: dict[tuple[str, int], int] = field(default_factory=dict)
    _step: tuple[str, int] = ("", 0)
    _within: dict[str, int] = field(default_factory=dict)
    purpose: str = AGENT

    def begin(self, point: str, occurrence: int, purpose: str) -> None:
        """An attempt of a step begins."""
        self._step, self.purpose = (point, occurrence), purpose
        self._within = {}

    def next(self, at: str) -> tuple[int, int]:
        """Occurrence and attempt of the next request at a point."""
        number = self._within[at] = self._within.get(at, 0) + 1
        key = (*self._step, at, number)
        if key not in self._known:
            self._occurrences[at] = self._known[key] = self._occurrences.get(at, 0) + 1
        occurrence = self._known[key]
        attempt = self._tries[at, occurrence] = self._tries.get((at, occurrence), 0) + 1
        return occurrence, attempt


# -- the audit -------------------------------------------------------------------------------------


class Met(NamedTuple):
    """An event that a request met, the line of its hit, and what speaks against delivery."""

    event: FaultEvent
    line: int
    problem: str


class Found(NamedTuple):
    """What the web part of a trace comes to.

    `untrue`: at requests without an event, what was seen is not what the site said.
    """

    met: tuple[Met, ...] = ()
    untrue: tuple[str, ...] = ()

    @property
    def deliveries(self) -> dict[str, Delivery]:
        """By event; delivered is what every request that met it says so of."""
        found: dict[str, Delivery] = {}
        for one in self.met:
            before = found.get(one.event.injection_id)
            if before is None or not before.mismatch:
                found[one.event.injection_id] = Delivery(one.event, one.problem)
        return found

    def but_for(
        self, attempts: Iterable[tuple[Attempt, FaultEvent | None]]
    ) -> Iterator[tuple[Attempt, FaultEvent | None]]:
        """All but the calls whose fault was met on the way to a site: that has its own truths."""
        for attempt, live in attempts:
            if live is not None or not self._within(attempt.line, attempt.last):
                yield attempt, live

    def _within(self, first: int, last: int | None) -> bool:
        """Whether a request met an event between two lines."""
        return any(first < one.line and (last is None or one.line < last) for one in self.met)


def found_in(events: Sequence[TraceEvent], agenda: Agenda, terms: Terms) -> Found:
    """The web part of a trial's trace, where its schedule has one and its injectors were in."""
    if not (terms.injected and agenda.of_the_web):
        return Found()
    return audit_web(events, agenda, terms.kinds, virtual=terms.virtual)


def audit_web(
    events: Sequence[TraceEvent],
    agenda: Agenda,
    kinds: Mapping[str, KindSpec],
    *,
    virtual: bool = False,
) -> Found:
    """Hold each request to its plan: what the browser says, and what the site got and answered.

    The proxy's word is taken for what reached the site, and for nothing that went out: that is the
    browser's to say. A browser that sends a request again by itself is found, since then the two
    counts differ.
    """
    hits = [(n, e.body) for n, e in enumerate(events) if e.body.type == "web_hit"]
    if not hits:
        return Found()
    places = [Place(h.point, h.occurrence, h.attempt, h.site, h.at_us) for _, h in hits]
    planned = [event for layer in LAYERS for event in agenda.within(layer, places)]
    live = expected(planned, places) if planned else [None] * len(hits)
    told, uneven = _paired([hit for _, hit in hits], events)
    met: list[Met] = []
    untrue = list(uneven)
    pages: dict[tuple[str, str], list[str]] = {}
    for (line, hit), seen, event in zip(hits, told, live, strict=True):
        earlier = pages.get((hit.method, hit.url), [])
        effect = effect_of(event, kinds[event.kind]) if event and event.kind in kinds else None
        where = f"{hit.point} #{hit.occurrence} attempt {hit.attempt}"
        if event is not None and (effect is None or _takes(effect, hit, earlier)):
            case = _Case(hit, seen, earlier, virtual)
            problem = "unknown kind" if effect is None else case.problem(effect)
            name = f"{event.injection_id} {event.kind} at {where}"
            met.append(Met(event, line, f"{name}: {problem}" if problem else ""))
        elif problem := _untrue(hit, seen):
            untrue.append(f"{where}: {problem}")
        if hit.page:
            pages.setdefault((hit.method, hit.url), []).append(hit.upstream_digest)
    return Found(tuple(met), tuple(untrue))


def _paired(
    hits: Sequence[WebHit], events: Iterable[TraceEvent]
) -> tuple[list[WebSeen | None], list[str]]:
    """Each hit with the browser's word: the k-th request of a method and URL is the k-th there.

    Those that were refused are counted for themselves: they never came to the proxy.
    """
    said: dict[tuple[bool, str, str], list[WebSeen]] = {}
    for event in events:
        body = event.body
        if body.type == "web_seen":
            key = (body.exception == REFUSED, body.method, body.url)
            said.setdefault(key, []).append(body)
    taken: dict[tuple[bool, str, str], int] = {}
    found: list[WebSeen | None] = []
    for hit in hits:
        key = (hit.point.startswith(SITE), hit.method, hit.url)
        number = taken.get(key, 0)
        taken[key] = number + 1
        own = said.get(key, [])
        found.append(own[number] if number < len(own) else None)
    uneven = [
        f"{method} {url}: {count} requests reached the proxy, the browser tells of {len(there)}"
        for (refused, method, url), count in taken.items()
        if len(there := said.get((refused, method, url), [])) != count
    ]
    return found, uneven


def _takes(effect: Effect, hit: WebHit, earlier: Sequence[str]) -> bool:
    """Whether an event could take effect at all, by what the site answered."""
    if isinstance(effect, Cookieless):
        return hit.cookies > 0
    if isinstance(effect, Meddle):
        return bool(hit.meddled)
    if isinstance(effect, Stale):
        return hit.page and _old(hit, earlier) is not None
    if isinstance(effect, Rewrite):
        return hit.page
    return True


def _old(hit: WebHit, earlier: Sequence[str]) -> str | None:
    """The last earlier page at this address that was another."""
    return next((one for one in reversed(earlier) if one != hit.upstream_digest), None)


class _Case(NamedTuple):
    """A request that met an event."""

    hit: WebHit
    seen: WebSeen | None
    earlier: Sequence[str]
    virtual: bool

    def problem(self, effect: Effect) -> str:
        """What speaks against delivery; "" if nothing does."""
        hit, seen = self.hit, self.seen
        if seen is None:
            return "the browser does not know of it"
        if effect_lands(effect) and not hit.forwarded:
            return "should have reached the site, but did not"
        if hit.forwarded and not effect_lands(effect):
            return "should have been kept back, but the site got it"
        match effect:
            case Respond() | Discard():
                return _answered(effect, seen)
            case Close() | Cut() | Refuse():
                wanted = {REFUSED} if isinstance(effect, Refuse) else LOST
                return "" if seen.exception in wanted else f"declared no answer, {_told(seen)}"
            case Stall():
                return self._stalled(effect, seen)
            case Rewrite():
                return self._altered(seen)
            case Stale():
                old = _old(hit, self.earlier)
                same = seen.exception is None and seen.response_digest == old
                return "" if same else f"declared an older page, {_told(seen)}"
            case Cookieless() | Meddle():
                if hit.passed_cookies and isinstance(effect, Cookieless):
                    return "should have lost its cookies, but the site got some"
                return _untrue(hit, seen)

    def _stalled(self, effect: Stall, seen: WebSeen) -> str:
        if seen.exception not in (*LOST, TIMEOUT):
            return f"declared no answer, {_told(seen)}"
        wanted_us = round(effect.stall_s * 1_000_000)
        if self.virtual and self.hit.stall_us != wanted_us:
            return f"declared {wanted_us} µs of silence, it was {self.hit.stall_us} µs"
        return ""

    def _altered(self, seen: WebSeen) -> str:
        good = seen.exception is None and seen.status == self.hit.upstream_status
        digest = seen.response_digest
        if not good or not digest or digest == self.hit.upstream_digest:
            return f"declared an altered page, {_told(seen)}"
        return ""


def effect_lands(effect: Effect) -> bool:
    """Whether the site gets the request."""
    return not isinstance(effect, Respond) and effect.forward


def _answered(effect: Respond | Discard, seen: WebSeen) -> str:
    headers = {name.lower(): value for name, value in effect.headers.items()}
    wanted = (effect.status, None, text_digest(effect.body), headers.get("retry-after"))
    found = (seen.status, seen.exception, seen.response_digest, seen.retry_after)
    return "" if wanted == found else f"declared status {effect.status}, {_told(seen)}"


def _untrue(hit: WebHit, seen: WebSeen | None) -> str:
    """Where a request saw something else than the site's own answer."""
    if seen is None:
        return "the browser does not know of it"
    if not hit.forwarded:
        return "the site did not get it"
    if seen.exception is not None or seen.status != hit.upstream_status:
        return f"the site's status is {hit.upstream_status}, {_told(seen)}"
    if seen.response_digest not in ("", hit.upstream_digest):
        return f"the site's answer is {hit.upstream_digest[:8]}, {_told(seen)}"
    return ""


def _told(seen: WebSeen) -> str:
    return f"seen {seen.exception or f'status {seen.status} body {seen.response_digest[:8]}'}"
