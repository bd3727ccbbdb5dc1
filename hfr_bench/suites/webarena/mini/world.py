"""One browser before one host: actions, what they change, read-backs, the verdict."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.model.attempt import Observation
from hfr_bench.model.trial import Grade
from hfr_bench.model.web import Route, WebSeen
from hfr_bench.ports.sandbox import ToolHost
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.suites._scripted import ScriptedUser
from hfr_bench.suites.webarena.browse.actions import Action, BadActionError, Verb, action_of
from hfr_bench.suites.webarena.browse.driver import BrowserError, Cookie, Driver, View, find
from hfr_bench.suites.webarena.browse.witness import browsed
from hfr_bench.suites.webarena.mini import content, contracts, effects
from hfr_bench.suites.webarena.mini.catalog import WebTask, tasks
from hfr_bench.suites.webarena.mini.grading import Graded, graded
from hfr_bench.suites.webarena.mini.records import root_of
from hfr_bench.suites.webarena.mini.tunnel import TIMEOUT_S, Tunnel
from hfr_bench.suites.webarena.urls import sites_at

BACK = 3
"""How many pages an action goes back at most, to the page that it is meant for."""

MakeDriver = Callable[[], Driver]


@runtime_checkable
class Quits(Protocol):
    """A driver that keeps something for the thread's next session, until it is let go."""

    def quit(self) -> None: ...


class WebWorld:
    """Implements `ports.suite.World` and `ports.web.Fronted`.

    `sites`: where the sites are, by name. `behind` puts something in front of them, such as a
    proxy that injects faults; `urls` is where the driver goes.
    """

    def __init__(self, host: ToolHost, driver: MakeDriver) -> None:
        self._host = host
        hello = host.request("hello", {}, TIMEOUT_S)
        fields = {"tables": content.filled(hello["tables"]), "sessions": content.sessions()}
        host.request("init", fields, TIMEOUT_S)
        self._first = host.request("state", {}, TIMEOUT_S)["tables"]
        self._cookies = hello["cookies"]
        self._tunnel = Tunnel(host, tuple(content.settings()["addresses"]))
        self._urls: Mapping[str, str] = self.sites
        self._driver = driver()
        self._view = View("about:blank")
        self._asked = 0
        self._task: WebTask | None = None

    @property
    def sites(self) -> Mapping[str, str]:
        return self._tunnel.urls

    @property
    def urls(self) -> Mapping[str, str]:
        return self._urls

    @property
    def routes(self) -> Sequence[Route]:
        return content.routes()

    def browsed(self) -> Sequence[WebSeen]:
        """What the browser says of its requests since this was last asked."""
        found = browsed(self._driver.har(), self._asked)
        self._asked += len(found)
        return found

    def behind(self, addresses: Mapping[str, str]) -> None:
        """Reach these sites at other addresses from now on; {} = all directly again.

        The session begins anew, on the same pages.
        """
        self._urls = {**self.sites, **addresses}
        if self._task is not None:
            self._begin(self._task)

    def reset(self, task_id: str) -> str:
        """The database from its template, a new browser session, the task's first page."""
        self._task = tasks()[task_id]
        state = self._host.request("reset", {}, TIMEOUT_S)["state"]
        self._begin(self._task)
        return str(state)

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        given = dict(arguments)
        try:
            if tool == contracts.READ_BACK:
                return Execution(self._read_back(given))
            on = given.pop("on", None)
            view = self._act(self._action(tool, given), on if isinstance(on, str) else "")
        except BadActionError as error:
            return Execution(_refused(str(error)))
        told = self._host.request("changes", {}, TIMEOUT_S)
        changed = told["changed"]
        names = tuple(f"{one['table']}/{one['key']}" for one in changed)
        key = effects.natural_key(changed, content.settings()["effects"])
        return Execution(self._seen(view, changed=bool(names)), names, told["state"], key)

    def user(self, task_id: str, act: UserAct) -> ScriptedUser:
        """Nobody: it shows the first page, and hears that all is done."""
        opening = f"Here is the page.\n{contracts.answer(self._view, self._text(self._view))}"
        return ScriptedUser(opening, (), act, told="", bye="Thank you.")

    def grade(self, said: Sequence[str]) -> Grade:
        """`said` does not matter; what `stop` was given does."""
        assert self._task is not None
        now = self._host.request("state", {}, TIMEOUT_S)
        episode = Graded(
            answer=self._view.answer,
            view=self._view,
            har=self._driver.har(),
            look=self._driver.look,
            rest=self._rest,
            wrong=effects.as_wanted(
                effects.differences(self._first, now["tables"]), self._task.row.get("state", {})
            ),
            state=now["state"],
        )
        try:
            return graded(self._task, episode, sites_at(self._bases()))
        except BrowserError as error:
            raise InfrastructureError(f"the grader's page did not come: {error}") from error

    def close(self) -> None:
        self._driver.close()
        if isinstance(self._driver, Quits):
            self._driver.quit()
        self._tunnel.close()
        self._host.close()

    def _begin(self, task: WebTask) -> None:
        """A new session, signed in, on the task's first page."""
        self._driver.close()
        start = [self._inward(url) for url in task.verified.problem.start_urls]
        rows = content.sessions()
        cookies = [Cookie(self._cookies[row["site"]], row["token"]) for row in rows]
        self._view = self._driver.open(start, cookies)
        self._asked = 0

    # -- actions ------------------------------------------------------------------------------

    def _action(self, tool: str, arguments: dict[str, Any]) -> Action:
        """Raises BadActionError: it is none, or it would leave the task's sites."""
        arguments = {name: value for name, value in arguments.items() if value is not None}
        action = action_of(tool, arguments)
        if action.verb in (Verb.GOTO, Verb.NEW_TAB) and action.text:
            url = self._inward(action.text)
            if not any(url.startswith(f"{base}/") or url == base for base in self.urls.values()):
                there = ", ".join(content.settings()["addresses"].values())
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
                self._view = self._done(Action(Verb.GO_BACK))
                gone += 1
        if not found:
            for _ in range(gone):
                self._view = self._done(Action(Verb.GO_FORWARD))
        self._view = self._done(action)
        return self._view

    def _read_back(self, arguments: Mapping[str, Any]) -> Observation:
        """The site's page that shows what a button does, in a tab of its own."""
        name, on = arguments.get("name"), arguments.get("on")
        known = content.button(name) if isinstance(name, str) else None
        page = known.read if known is not None else ""
        if page == "$on":
            parts = urlsplit(self._view.url)
            page = f"{parts.scheme}://{parts.netloc}{on}" if isinstance(on, str) and on else ""
        if not page:
            return _refused(f"no page shows what {name!r} does")
        front = self._view.tab
        shown = self._done(Action(Verb.NEW_TAB, text=self._inward(page)))
        self._done(Action(Verb.CLOSE_TAB))
        self._view = self._done(Action(Verb.TAB_FOCUS, tab=front))
        if shown.exception or (shown.status or 0) >= 500:
            return self._seen(shown, changed=False)
        text = contracts.answer(View(shown.url, shown.title), self._text(shown))
        return Observation(answered=True, status=200, body=text, payload=text)

    def _seen(self, view: View, *, changed: bool) -> Observation:
        """What the runtime is told. A page that does not come, or a 5xx, is no answer."""
        if view.exception:
            return Observation(answered=False, exception=view.exception)
        body = contracts.answer(view, self._text(view))
        status = view.status or 200
        if status >= 500:
            return Observation(answered=False, status=status, body=body, headers=view.headers)
        refused = not changed and (bool(view.problem) or status >= 400)
        return Observation(answered=True, status=200, body=body, payload=body, domain_error=refused)

    def _done(self, action: Action) -> View:
        """Raises InfrastructureError: the browser itself is gone, so nothing was measured."""
        try:
            return self._driver.act(action)
        except BrowserError as error:
            raise InfrastructureError(f"the browser is gone: {error}") from error

    # -- addresses ----------------------------------------------------------------------------

    def _bases(self) -> dict[str, str]:
        return {site: url + root_of(site) for site, url in self.urls.items()}

    def _inward(self, text: str) -> str:
        """Placeholders and shown addresses as the ports of the day."""
        for site, address in content.settings()["addresses"].items():
            text = text.replace(f"__{site.upper()}__", self.urls[site] + root_of(site))
            text = text.replace(address, self.urls[site])
        return text

    def _text(self, view: View) -> str:
        """The page as text, with addresses that are the same in every run."""
        text = f"{view.url}\n{view.tree}"
        for site, address in content.settings()["addresses"].items():
            text = text.replace(self.urls[site], address)
        return text

    def _rest(
        self, method: str, url: str, headers: Mapping[str, str], body: str
    ) -> tuple[int, str]:
        """A call of a site's own API by the grader; it does not go into the HAR."""
        for site, base in self.urls.items():
            if url.startswith(f"{base}/"):
                fields = {
                    "site": site,
                    "method": method,
                    "target": url.removeprefix(base),
                    "headers": list(headers.items()),
                    "body": contracts.base64_of(body),
                }
                done = self._host.request("http", fields, TIMEOUT_S)
                return int(done["status"]), str(done["body"])
        raise BadInputError(f"the grader asks {url}, which is none of the sites")


def _refused(why: str) -> Observation:
    body = f"{contracts.REFUSED}{why}"
    return Observation(answered=True, status=200, body=body, payload=body, domain_error=True)
