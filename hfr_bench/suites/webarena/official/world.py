"""One browser before the official sites: what it does there, what the sites got, the verdict."""

from collections.abc import Mapping, Sequence
from threading import RLock
from typing import NamedTuple

import httpx

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.model.attempt import Observation
from hfr_bench.model.record import digest
from hfr_bench.model.trial import Grade
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.suites._scripted import ScriptedUser
from hfr_bench.suites.webarena.acting.browsing import Browsing, MakeDriver
from hfr_bench.suites.webarena.browse.actions import Action, Verb
from hfr_bench.suites.webarena.browse.driver import BrowserError, Cookie, View
from hfr_bench.suites.webarena.control import Control
from hfr_bench.suites.webarena.login import log_in
from hfr_bench.suites.webarena.official.catalog import Catalog, SiteTask
from hfr_bench.suites.webarena.official.content import settings
from hfr_bench.suites.webarena.official.effects import Write, gravest, writes
from hfr_bench.suites.webarena.official.grading import Left, graded
from hfr_bench.suites.webarena.official.relay import Relay, origin_of
from hfr_bench.suites.webarena.original import Words
from hfr_bench.suites.webarena.urls import Sites, sites_at

NOWHERE = "about:blank"
_ANSWER_S = 60.0


class Shared(NamedTuple):
    """What the worlds of a suite share: the sites, of which there is one set, and who uses it.

    `lock`: held by a world from the reset of a trial to its verdict. `touched`: the sites that
    something was written to since they were restored; at first all, since nobody knows.
    """

    catalog: Catalog
    control: Control
    lock: RLock
    touched: set[str]


class SitesWorld(Browsing):
    """Implements `ports.suite.World` and `ports.web.Fronted`.

    The sites have one state for all: whoever runs a trial keeps the others waiting. They are
    restored before a trial if anything was written to them since they were. What a browser did is
    told by a relay at the sites' end.
    """

    def __init__(self, shared: Shared, driver: MakeDriver) -> None:
        self._shared = shared
        found = shared.catalog.places.sites.urls
        self._relay = Relay({site: origin_of(urls[0])[0] for site, urls in found.items()})
        super().__init__(driver, shared.catalog.offer, self.sites)
        self._client = httpx.Client(timeout=_ANSWER_S, follow_redirects=False)
        self._task: SiteTask | None = None
        self._cookies: tuple[Cookie, ...] = ()
        self._held = False

    @property
    def sites(self) -> Mapping[str, str]:
        return self._relay.urls

    def behind(self, addresses: Mapping[str, str]) -> None:
        """Reach these sites at other addresses from now on; {} = all directly again."""
        self._urls = {**self.sites, **addresses}
        if self._task is not None:
            self._begin(self._task)

    def reset(self, task_id: str) -> str:
        """The sites restored, logged in to anew, the task's first page. Raises BadInputError."""
        self._hold()
        task = self._task = self._shared.catalog.task(task_id)
        here = self._here(task)
        if self._shared.touched & here:
            self._shared.control.reset(sorted(here))
            self._shared.touched.difference_update(here)
        self._relay.recording = False
        self._cookies = ()
        if here == set(task.record.problem.sites):
            found = log_in(task.record.problem, self._at(self.sites), self._client)
            self._cookies = tuple(Cookie(c.name, c.value, c.domain, c.path) for c in found)
        self._begin(task)
        return self._state(())

    def execute(
        self, tool: str, arguments: Mapping[str, object], *, actor: str, operation_id: str
    ) -> Execution:
        before = len(self._done())
        view = self._did(tool, arguments)
        if not isinstance(view, Observation):
            view = self._brought_back(view)
        self._relay.settle()
        done = self._done()
        fresh = done[before:]
        self._shared.touched.update(one.site for one in fresh)
        if isinstance(view, Observation):
            return Execution(view)
        names = tuple(f"{one.site}/{one.name}#{before + n}" for n, one in enumerate(fresh, 1))
        named = gravest(fresh)
        seen = self._seen(view, changed=bool(names))
        return Execution(seen, names, self._state(done), named.key if named else "")

    def user(self, task_id: str, act: UserAct) -> ScriptedUser:
        """Nobody: it shows the first page, and hears that all is done."""
        return ScriptedUser(self._opening(), (), act, told="", bye="Thank you.")

    def grade(self, said: Sequence[str]) -> Grade:
        """`said` does not matter; what `stop` was given does."""
        assert self._task is not None
        self._relay.settle()
        self._relay.recording = False
        done = self._done()
        left = Left(
            view=self._view,
            har=self._driver.har(),
            exchanges=[one for _, one in self._relay.exchanges],
            done=done,
            look=self._driver.look,
            rest=self._rest,
            state=self._state(done),
        )
        accepted = Words(accepted=self._shared.catalog.accepted)
        at_browser, at_sites = self._at(self.urls, shown=True), self._at(self.sites, shown=True)
        try:
            return graded(self._task.record, left, at_browser, at_sites, accepted)
        except BrowserError as error:
            raise InfrastructureError(f"the grader's page did not come: {error}") from error
        finally:
            self._release()

    def close(self) -> None:
        try:
            self._let_go()
            self._client.close()
            self._relay.close()
        finally:
            self._release()

    # -- the sites ----------------------------------------------------------------------------

    def _hold(self) -> None:
        """Wait for the sites; a thread that has them goes on at once."""
        if not self._held:
            self._shared.lock.acquire()
            self._held = True

    def _release(self) -> None:
        if self._held:
            self._held = False
            self._shared.lock.release()

    def _here(self, task: SiteTask) -> set[str]:
        """Those of a task's sites that there are."""
        return set(task.record.problem.sites) & set(self.sites)

    def _begin(self, task: SiteTask) -> None:
        """A new session on the task's first pages; from now on, what reaches the sites is seen."""
        self._relay.recording = False
        here = self._here(task)
        named = {f"__{site.upper()}__" for site in task.record.problem.sites if site not in here}
        start = [u for u in task.record.problem.start_urls if not any(n in u for n in named)]
        self._open(start or [NOWHERE], self._cookies)
        self._relay.settle()
        self._relay.clear()
        self._relay.recording = True

    def _done(self) -> tuple[Write, ...]:
        return writes(self._relay.exchanges, self.routes, settings()["volatile"])

    def _state(self, done: Sequence[Write]) -> str:
        """What was done to the sites since they were restored, as a digest."""
        return digest([one.key for one in done])

    def _brought_back(self, view: View) -> View:
        """An agent that a link has led off the sites is led back."""
        if not view.url.startswith(("http://", "https://")) or self._is_ours(view.url):
            return view
        where = view.url
        self._view = self._carried(Action(Verb.GO_BACK))
        if not self._is_ours(self._view.url):
            self._view = self._carried(Action(Verb.GOTO, text=next(iter(self.urls.values()))))
        told = f"{where} is none of the sites; gone back"
        return View(
            self._view.url, self._view.title, self._view.nodes, problem=told,
            tabs=self._view.tabs, tab=self._view.tab,
        )  # fmt: skip

    def _is_ours(self, url: str) -> bool:
        return any(url == base or url.startswith(f"{base}/") for base in self.urls.values())

    def _at(self, urls: Mapping[str, str], *, shown: bool = False) -> Sites:
        """The sites at these addresses; `shown`: also at those that answers show."""
        offer = self._offer
        found = {}
        for site, url in urls.items():
            root = offer.root(site)
            more = (offer.addresses[site] + root,) if shown else ()
            found[site] = (url + root, *more)
        return sites_at(found)

    def _rest(
        self, method: str, url: str, headers: Mapping[str, str], body: str
    ) -> tuple[int, str]:
        """A call of a site's own API by the grader; it does not go into the HAR."""
        for site, base in self.urls.items():
            if url.startswith(f"{base}/"):
                there = self.sites[site] + url.removeprefix(base)
                try:
                    done = self._client.request(method, there, headers=headers, content=body)
                except httpx.HTTPError as error:
                    raise InfrastructureError(f"{method} {url}: {error}") from error
                return done.status_code, done.text
        raise BadInputError(f"the grader asks {url}, which is none of the sites")
