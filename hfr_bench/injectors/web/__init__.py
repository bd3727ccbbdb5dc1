"""Faults between a browser and its sites: a proxy before the sites of a suite's world."""

import threading
import weakref
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace

from hfr_bench import content
from hfr_bench.errors import InfrastructureError
from hfr_bench.faults.shape import CLOSED, TIMEOUT
from hfr_bench.faults.web import why_not
from hfr_bench.injectors.web.proxy import Front
from hfr_bench.injectors.web.stage import Stage
from hfr_bench.loopback import LoopThread
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.web import PREFIX, SITE, Refuse, WebHit, WebSeen, address
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.web import Fronted

_START_S = 60.0
_DRAIN_S = 5.0


class WebInjector:
    """Implements `ports.injector.CallInjector` for worlds with sites (`ports.web.Fronted`).

    It never retries and never decides. Trials of several threads share it; each thread has proxies
    of its own, one a world, which stay there from one trial to the next: between trials, and while
    a trial is graded, they only pass on.
    """

    def __init__(self, specs: Mapping[str, KindSpec] | None = None) -> None:
        self._specs = content.kinds() if specs is None else specs
        self._loop: LoopThread | None = None
        self._lock = threading.Lock()
        self._own = threading.local()
        self._all: set[_Held] = set()  # for `stop`, also those of worlds that are gone

    def kinds(self) -> frozenset[str]:
        return frozenset(name for name, spec in self._specs.items() if not why_not(spec))

    def wrap(self, inner: CallPort, scene: Scene) -> CallPort:
        """A boundary before a world with sites; the port itself where no web fault is planned.

        Raises InfrastructureError for a schedule with web faults before a world without sites.
        """
        fronted = scene.fronted
        if not any(event.point.startswith((PREFIX, SITE)) for event in scene.cursor.events):
            return inner
        if fronted is None:
            raise InfrastructureError(
                f"trial {scene.trial_id}: its schedule has faults of web requests, but its world "
                "has no sites that a proxy can stand before (ports/web.py: Fronted)"
            )
        held = self._held(fronted)
        stage = Stage(scene, tuple(fronted.routes))
        if not held.before:
            fronted.behind(held.front.addresses)
            held.before = True
        fronted.browsed()  # the first pages are nobody's call
        held.loop.call(held.front.enter(stage))
        self._standing.append(held)
        return Boundary(inner, stage, fronted, held)

    def heal(self) -> None:
        """No fault of this thread's trials any more: what stalls ends, what is late has ended."""
        while self._standing:
            held = self._standing.pop()
            held.loop.call(held.front.leave(_DRAIN_S))

    def stop(self) -> None:
        """Close every proxy of every thread. Idempotent."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            try:
                for held in tuple(self._all):
                    loop.call(held.front.stop(_DRAIN_S))
            finally:
                loop.close()

    @property
    def _standing(self) -> list["_Held"]:
        found: list[_Held] = self._own.__dict__.setdefault("standing", [])
        return found

    def _held(self, fronted: Fronted) -> "_Held":
        """This thread's proxy before a world."""
        known: weakref.WeakKeyDictionary[Fronted, _Held]
        known = self._own.__dict__.setdefault("fronts", weakref.WeakKeyDictionary())
        found = known.get(fronted)
        if found is None or dict(found.front.sites) != dict(fronted.sites):
            with self._lock:
                self._loop = self._loop or LoopThread("hfr-web-proxy")
                loop = self._loop
            front = Front(dict(fronted.sites))
            try:
                loop.call(front.start(), _START_S)
            except (OSError, TimeoutError) as error:
                raise InfrastructureError(
                    f"the web proxy could not bind on loopback: {error}"
                ) from error
            found = known[fronted] = _Held(front, loop)
            self._all.add(found)
        return found


@dataclass(eq=False)
class _Held:
    """A proxy that listens. `before`: its world has been told of it."""

    front: Front
    loop: LoopThread
    before: bool = False


@dataclass(slots=True)
class Boundary:
    """Around each call: says which it is, passes on what the browser says, and keeps the time."""

    inner: CallPort
    stage: Stage
    fronted: Fronted
    held: _Held

    def attempt(self, call: Call) -> Observation:
        stage, clock = self.stage, self.stage.scene.clock
        stage.walk.begin(call.point, call.occurrence, call.purpose)
        stage.waited_us = 0
        began_us = clock.now_us()
        refused = self._refuse()
        try:
            seen = self.inner.attempt(call)
        finally:
            for hit in refused:
                self._do(self.held.front.admit(hit.site))
        browsed = [self._named(one) for one in self.fronted.browsed()]
        for one in browsed:
            site = next((hit for hit in refused if one.url.startswith(f"{hit.site}:")), None)
            if site is not None:  # what it asked for there never came to the proxy
                stage.scene.tell(site.model_copy(update={"method": one.method, "url": one.url}))
        for one in browsed:
            stage.scene.tell(one)
        if not stage.virtual or not stage.waited_us:
            return seen
        spent_us = clock.now_us() - began_us
        clock.wait(max(0, min(stage.waited_us, call.timeout_us - spent_us)))
        if seen.exception == CLOSED and stage.waited_us >= call.timeout_us:
            return replace(seen, exception=TIMEOUT)
        return seen

    def _refuse(self) -> list[WebHit]:
        """Close the sites that take no connection now; what is known of each request there."""
        stage, found = self.stage, []
        for site in self.held.front.sites:
            at, event = stage.around(site)
            if event is None or not isinstance(stage.effect(event), Refuse):
                continue
            self._do(self.held.front.refuse(site))
            hit = WebHit(
                site=site,
                method="",
                url="",
                point=at.point,
                occurrence=at.occurrence,
                attempt=at.attempt,
                at_us=stage.scene.clock.now_us(),
                told=True,
                injection_id=event.injection_id,
                kind=event.kind,
            )
            found.append(hit)
        return found

    def _do(self, work: Coroutine[object, object, None]) -> None:
        """Something of the proxy's, in its own loop."""
        try:
            self.held.loop.call(work, _START_S)
        except (OSError, TimeoutError) as error:
            raise InfrastructureError(f"the web proxy cannot listen any more: {error}") from error

    def _named(self, seen: WebSeen) -> WebSeen:
        """A request of a site's by the site's name, as the proxy tells of it."""
        for site, base in self.held.front.addresses.items():
            if seen.url.startswith(f"{base}/"):
                return seen.model_copy(update={"url": address(site, seen.url.removeprefix(base))})
        return seen
