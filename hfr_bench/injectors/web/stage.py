"""One trial as the proxy sees it: where its requests are, and what the proxy must remember."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from hfr_bench.faults.web import Effect, Walk, effect_of, point, route_of, site_point
from hfr_bench.injectors._trail import Coordinate
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.terms import ClockKind
from hfr_bench.model.web import Route
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.web import Meddled


@dataclass(slots=True)
class Stage:
    """A trial between a browser and its sites.

    `on`: faults are played, and requests told of. `waited_us`: the silence that was announced.
    Whatever requests touch is touched in the proxy's thread only; `walk` by the trial's, too, while
    no request is under way.
    """

    scene: Scene
    routes: Sequence[Route]
    on: bool = True
    waited_us: int = 0
    walk: Walk = field(default_factory=Walk)
    _pages: dict[str, list[bytes]] = field(default_factory=dict)
    _dead: set[str] = field(default_factory=set)

    @property
    def virtual(self) -> bool:
        return self.scene.clock.kind is ClockKind.VIRTUAL

    def route(self, site: str, method: str, target: str) -> Route | None:
        """The route of a request; None for one that no fault can hit."""
        return route_of(site, method, urlsplit(target).path, self.routes) if self.on else None

    def at(self, route: Route) -> Coordinate:
        """Where in the trial the next request of a route is."""
        name = point(route.method, route.name, self.walk.purpose)
        return Coordinate(name, *self.walk.next(name), told=True)

    def event(self, at: Coordinate, site: str) -> FaultEvent | None:
        """The event that is live there."""
        now_us = self.scene.clock.now_us()
        return self.scene.cursor.at(*at[:3], target=site, now_us=now_us)

    def around(self, site: str) -> tuple[Coordinate, FaultEvent | None]:
        """Where in the trial the call under way is, as a call that needs a site; its event."""
        name = site_point(site, self.walk.purpose)
        at = Coordinate(name, *self.walk.next(name), told=True)
        return at, self.event(at, site)

    def meddle(self, what: str) -> str:
        """Have the world changed; what was, "" if nothing."""
        world = self.scene.fronted
        return world.meddle(what) if isinstance(world, Meddled) else ""

    def effect(self, event: FaultEvent) -> Effect:
        """What it does."""
        return effect_of(event, self.scene.kinds[event.kind])

    # -- pages and cookies --------------------------------------------------------------------

    def remember(self, method: str, url: str, page: bytes) -> None:
        """A good page that a site gave."""
        self._pages.setdefault(f"{method} {url}", []).append(page)

    def older(self, method: str, url: str, page: bytes) -> bytes | None:
        """The last earlier page at this address that was another."""
        earlier = self._pages.get(f"{method} {url}", ())
        return next((one for one in reversed(earlier) if one != page), None)

    def alive(self, cookies: str) -> list[str]:
        """Those of a request's cookies that have not died."""
        parts = [part.strip() for part in cookies.split(";")]
        return [part for part in parts if part and part not in self._dead]

    def bury(self, cookies: Sequence[str]) -> None:
        """These are dead from now on."""
        self._dead.update(cookies)
