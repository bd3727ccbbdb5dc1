"""A browser before sites whose addresses differ from run to run: what the worlds here share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.attempt import Observation
from hfr_bench.model.web import Route, WebSeen
from hfr_bench.suites.webarena.acting import contracts
from hfr_bench.suites.webarena.acting.offer import Offer
from hfr_bench.suites.webarena.browse.actions import Action, BadActionError, Verb, action_of
from hfr_bench.suites.webarena.browse.driver import (
    REFUSED,
    BrowserError,
    Cookie,
    Driver,
    View,
    find,
)
from hfr_bench.suites.webarena.browse.witness import browsed

BACK = 3
"""How many pages an action goes back at most, to the page that it is meant for."""

MakeDriver = Callable[[], Driver]


@runtime_checkable
class Quits(Protocol):
    """A driver that keeps something for the thread's next session, until it is let go."""

    def quit(self) -> None: ...


class Browsing:
    """One browser. Answers show the offer's addresses, whatever the sites' own are today.

    `urls`: where the browser goes, by site.
    """

    def __init__(self, driver: MakeDriver, offer: Offer, urls: Mapping[str, str]) -> None:
        self._offer = offer
        self._urls = urls
        self._driver = driver()
        self._view = View("about:blank")
        self._asked = 0
        self._before = 0

    @property
    def urls(self) -> Mapping[str, str]:
        return self._urls

    @property
    def routes(self) -> Sequence[Route]:
        return self._offer.routes

    def browsed(self) -> Sequence[WebSeen]:
        """What the browser says of its requests since this was last asked."""
        found = browsed(self._driver.har(), self._asked)
        self._asked += len(found)
        return found

    def _open(self, start_urls: Iterable[str], cookies: Iterable[Cookie]) -> None:
        """A new session on these pages, which may hold placeholders."""
        self._driver.close()
        self._view = self._driver.open([self._inward(url) for url in start_urls], list(cookies))
        self._asked = 0

    def _let_go(self) -> None:
        """End the session, and the browser if this thread keeps one."""
        self._driver.close()
        if isinstance(self._driver, Quits):
            self._driver.quit()

    def _opening(self) -> str:
        """What the user of a task says first: nobody is there, so it shows the page."""
        return f"Here is the page.\n{contracts.answer(self._view, self._text(self._view))}"

    def _did(self, tool: str, arguments: Mapping[str, Any]) -> View | Observation:
        """Carry a call out: the page that an action led to, or an answer that is none of it."""
        given = dict(arguments)
        self._before = len(self._driver.har()["log"]["entries"])
        try:
            if tool == contracts.READ_BACK:
                return self._read_back(given)
            on = given.pop("on", None)
            return self._act(self._action(tool, given), on if isinstance(on, str) else "")
        except BadActionError as error:
            return refused(str(error))

    def _action(self, tool: str, arguments: dict[str, Any]) -> Action:
        """Raises BadActionError: it is none, or it would leave the task's sites."""
        arguments = {name: value for name, value in arguments.items() if value is not None}
        action = action_of(tool, arguments)
        if action.verb in (Verb.GOTO, Verb.NEW_TAB) and action.text:
            url = self._inward(action.text)
            if not any(url.startswith(f"{base}/") or url == base for base in self.urls.values()):
                there = ", ".join(self._offer.addresses.values())
                raise BadActionError(f"{action.text} is none of the sites: {there}")
            arguments["url"] = url
            return action_of(tool, arguments)
        return action

    def _act(self, action: Action, on: str) -> View:
        """Carry it out, on the page `on` if that is said and can be gone back to."""
        gone, found = 0, not on
        while not found and gone <= BACK:
            here = urlsplit(self._view.url).path == on
            found = here and find(self._view.nodes, action) is not None
            if not found:
                self._view = self._carried(Action(Verb.GO_BACK))
                gone += 1
        if not found:
            for _ in range(gone):
                self._view = self._carried(Action(Verb.GO_FORWARD))
        self._view = self._carried(action)
        return self._view

    def _read_back(self, arguments: Mapping[str, Any]) -> Observation:
        """The site's page that shows what a button does, in a tab of its own."""
        name, on = arguments.get("name"), arguments.get("on")
        known = self._offer.button(name) if isinstance(name, str) else None
        page = known.read if known is not None else ""
        if page == "$on":
            parts = urlsplit(self._view.url)
            page = f"{parts.scheme}://{parts.netloc}{on}" if isinstance(on, str) and on else ""
        if not page:
            return refused(f"no page shows what {name!r} does")
        front = self._view.tab
        shown = self._carried(Action(Verb.NEW_TAB, text=self._inward(page)))
        self._carried(Action(Verb.CLOSE_TAB))
        self._view = self._carried(Action(Verb.TAB_FOCUS, tab=front))
        if shown.exception or (shown.status or 0) >= 500:
            return self._seen(shown, changed=False)
        if (shown.status or 0) >= 400:
            return refused(f"the page that shows what {name!r} does: HTTP {shown.status}")
        text = contracts.answer(View(shown.url, shown.title), self._text(shown))
        return Observation(answered=True, status=200, body=text, payload=text)

    def _seen(self, view: View, *, changed: bool) -> Observation:
        """What the runtime is told. A page that does not come, or a 5xx, is no answer."""
        if view.exception:
            return Observation(answered=False, exception=view.exception, sent=self._sent(view))
        body = contracts.answer(view, self._text(view))
        status = view.status or 200
        if status >= 500:
            return Observation(answered=False, status=status, body=body, headers=view.headers)
        refused = not changed and (bool(view.problem) or status >= 400)
        return Observation(answered=True, status=200, body=body, payload=body, domain_error=refused)

    def _sent(self, view: View) -> bool:
        """Whether anything of the last call may have reached a site: unless all was refused."""
        if view.exception != REFUSED:
            return True
        asked = self._driver.har()["log"]["entries"][self._before :]
        return any(one.get("_failureText") != REFUSED for one in asked)

    def _carried(self, action: Action) -> View:
        """Raises InfrastructureError: the browser itself is gone, so nothing was measured."""
        try:
            return self._driver.act(action)
        except BrowserError as error:
            raise InfrastructureError(f"the browser is gone: {error}") from error

    # -- addresses ----------------------------------------------------------------------------

    def _bases(self) -> dict[str, str]:
        return {site: url + self._offer.root(site) for site, url in self.urls.items()}

    def _inward(self, text: str) -> str:
        """Placeholders and shown addresses as the ports of the day."""
        for site, url in self.urls.items():
            text = text.replace(f"__{site.upper()}__", url + self._offer.root(site))
            text = text.replace(self._offer.addresses[site], url)
        return text

    def _text(self, view: View) -> str:
        """The page as text, with addresses that are the same in every run."""
        text = f"{view.url}\n{view.tree}"
        for site, url in self.urls.items():
            text = text.replace(url, self._offer.addresses[site])
        return text


def refused(why: str) -> Observation:
    """An answer that says why an action was not done."""
    body = f"{contracts.REFUSED}{why}"
    return Observation(answered=True, status=200, body=body, payload=body, domain_error=True)
