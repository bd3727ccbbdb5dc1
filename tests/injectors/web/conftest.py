"""A world with one site and a browser, for the proxy to stand before, and a trial there."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import TrialAudit, audit
from hfr_bench.faults.cursor import Cursor
from hfr_bench.injectors.web import WebInjector
from hfr_bench.lab.clock import VirtualClock
from hfr_bench.lab.recorder import TOOL_LAYERS, Seen, Sums, TruthQueue, WorldTools
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import Channel, SideEffect
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.web import Route, WebHit, WebSeen
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.suite import Execution
from hfr_bench.suites.webarena.browse.actions import action_of
from hfr_bench.suites.webarena.browse.driver import Driver, View
from hfr_bench.suites.webarena.browse.http import HttpDriver
from hfr_bench.suites.webarena.browse.witness import browsed
from hfr_bench.testing.fakes import ListSink
from hfr_bench.testing.results import started
from hfr_bench.testing.walker import TRIAL
from hfr_bench.testing.website import State, serving

SITE = "shop"
TOOL_US = 400_000
TIMEOUT_US = 10_000_000
ROUTES = (
    Route(SITE, "GET", "/", "home"),
    Route(SITE, "GET", "/new", "form"),
    Route(SITE, "GET", "/account", "account"),
    Route(SITE, "GET", "/items/{}", "item"),
    Route(SITE, "POST", "/items", "add", SideEffect.QUERYABLE),
)


class WebShop:
    """Implements `ports.web.Fronted`, and of `ports.suite.World` what it needs."""

    def __init__(self, url: str, state: State, driver: Driver) -> None:
        self.url, self.state, self.driver = url, state, driver
        self.addresses = {SITE: url}
        self.view = View("about:blank")
        self._told = 0

    @property
    def sites(self) -> Mapping[str, str]:
        return {SITE: self.url}

    @property
    def routes(self) -> Sequence[Route]:
        return ROUTES

    def behind(self, addresses: Mapping[str, str]) -> None:
        self.addresses = dict(addresses)
        self.reset("t")

    def browsed(self) -> Sequence[WebSeen]:
        found = browsed(self.driver.har(), self._told)
        self._told += len(found)
        return found

    def meddle(self, what: str) -> str:
        """The first item is another; nothing is, if there is none."""
        if not self.state.items:
            return ""
        self.state.items[0] = {"title": what}
        return "items/1"

    def reset(self, task_id: str) -> str:
        self.state.items.clear()
        self.state.seen.clear()
        self._told = 0
        self.view = self.driver.open([f"{self.addresses[SITE]}/login"])
        return "state"

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        """`add`: fills in the form and sends it; `goto`: a path; `login`: under a name."""
        before, base = len(self.state.items), self.addresses[SITE]
        if tool == "goto":
            self.do("goto", url=base + str(arguments["path"]))
        elif tool == "scroll":
            self.do("scroll", direction="down")
        elif tool == "login":
            self.do("goto", url=f"{base}/login")
            self.do("type", role="textbox", name="Name", text=arguments["name"])
            self.do("click", role="button", name="Sign in")
        else:
            self.do("goto", url=f"{base}/new")
            if not self.view.exception and self.view.status == 200:
                self.do("type", role="textbox", name="Title", text="x")
                self.do("click", role="button", name="Save")
        changed = tuple(f"items/{n}" for n in range(before, len(self.state.items)))
        return Execution(self.observed(base), changed)

    def do(self, verb: str, **arguments: Any) -> None:
        self.view = self.driver.act(action_of(verb, arguments), timeout_s=5)

    def observed(self, base: str) -> Observation:
        view = self.view
        if view.exception:
            return Observation(answered=False, exception=view.exception)
        body = view.tree.replace(base, "http://shop")
        status = view.status or 200
        answered = status < 500 and status != 429
        return Observation(answered=answered, status=status, body=body, headers=view.headers)


class Trial:
    """One trial under some events; its trace is in `events`."""

    def __init__(
        self,
        world: WebShop,
        injector: WebInjector,
        events: Sequence[FaultEvent],
        kinds: Mapping[str, KindSpec] | None = None,
    ) -> None:
        self.world, self.injector = world, injector
        self.kinds = content.kinds() if kinds is None else kinds
        self.clock = VirtualClock()
        self.sink = ListSink(self.clock)
        self.schedule = FaultSchedule(
            schedule_id="s", suite="web", task_id="t", seed=1, profile="p", rate=0.1,
            generator="g", horizon=100, events=tuple(events),
        )  # fmt: skip
        self.truth = TruthQueue({e.injection_id: e for e in events})
        world.reset("t")
        task = TaskSpec(task_id="t", suite="web")
        there: Any = world
        inner = WorldTools(there, task, self.truth, self.clock, TOOL_US)
        cursor = Cursor(events, TOOL_LAYERS)
        scene = Scene("t", cursor, self.kinds, self.clock, self.truth.tell, fronted=world)
        self.port = Seen(injector.wrap(inner, scene), self.sink, self.truth, self.clock, Sums(), 0)
        self.sink.write(started(TRIAL).body)
        self._step, self._operation = count(1), count(1)
        self._occurrences: dict[str, int] = {}

    def call(
        self, tool: str, *, tries: int = 1, purpose: str = "agent", **arguments: Any
    ) -> list[Observation]:
        """One step: the call, as often as it takes or `tries` allow."""
        point = f"{'tool' if purpose == 'agent' else purpose}:{tool}"
        occurrence = self._occurrences[point] = self._occurrences.get(point, 0) + 1
        step, found = next(self._step), list[Observation]()
        while len(found) < tries and not (found and found[-1].answered):
            call = Call(
                step, point, occurrence, len(found) + 1, Channel.TOOL, tool, TIMEOUT_US,
                arguments, purpose, f"o{next(self._operation)}",
            )  # fmt: skip
            found.append(self.port.attempt(call))
        return found

    def end(self) -> TrialAudit:
        """Heal, and audit what was written down."""
        self.injector.heal()
        self.truth.drain(self.sink)
        return audit(self.events, self.schedule, self.kinds, tool_latency_us=TOOL_US)

    @property
    def events(self) -> list[TraceEvent]:
        return self.sink.events

    @property
    def hits(self) -> list[WebHit]:
        return self.sink.of(WebHit)


@pytest.fixture(scope="session")
def make_shop() -> type[WebShop]:
    return WebShop


@pytest.fixture
def shop() -> Iterator[WebShop]:
    with serving() as (url, state):
        driver = HttpDriver()
        yield WebShop(url, state, driver)
        driver.close()


@pytest.fixture(scope="module")
def injector() -> Iterator[WebInjector]:
    made = WebInjector()
    yield made
    made.stop()


@pytest.fixture
def trial(shop: WebShop, injector: WebInjector) -> Any:
    def make(*events: FaultEvent, kinds: Mapping[str, KindSpec] | None = None) -> Trial:
        return Trial(shop, injector, events, kinds)

    return make
