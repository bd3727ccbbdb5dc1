"""One browser before one host: actions, what they change, read-backs, the verdict."""

from collections.abc import Mapping, Sequence
from typing import Any

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.model.attempt import Observation
from hfr_bench.model.trial import Grade
from hfr_bench.ports.sandbox import ToolHost
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.suites._scripted import ScriptedUser
from hfr_bench.suites.webarena.acting import contracts
from hfr_bench.suites.webarena.acting.browsing import Browsing, MakeDriver
from hfr_bench.suites.webarena.browse.driver import BrowserError, Cookie
from hfr_bench.suites.webarena.mini import content, effects
from hfr_bench.suites.webarena.mini.catalog import WebTask, tasks
from hfr_bench.suites.webarena.mini.grading import Graded, graded
from hfr_bench.suites.webarena.mini.tunnel import TIMEOUT_S, Tunnel
from hfr_bench.suites.webarena.urls import sites_at

SOLD_OUT = "sold_out"


class WebWorld(Browsing):
    """Implements `ports.suite.World`, `ports.web.Fronted` and `ports.web.Meddled`.

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
        super().__init__(driver, content.offer(), self.sites)
        self._task: WebTask | None = None

    @property
    def sites(self) -> Mapping[str, str]:
        return self._tunnel.urls

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
        view = self._did(tool, arguments)
        if isinstance(view, Observation):
            return Execution(view)
        told = self._host.request("changes", {}, TIMEOUT_S)
        changed = told["changed"]
        names = tuple(f"{one['table']}/{one['key']}" for one in changed)
        key = effects.natural_key(changed, content.settings()["effects"])
        return Execution(self._seen(view, changed=bool(names)), names, told["state"], key)

    def meddle(self, what: str) -> str:
        """`sold_out`: what lies in the cart is sold to somebody else."""
        if what != SOLD_OUT:
            raise ValueError(f"nothing called {what!r} can happen here; there is: {SOLD_OUT}")
        return str(self._host.request("meddle", {"what": what}, TIMEOUT_S)["changed"])

    def user(self, task_id: str, act: UserAct) -> ScriptedUser:
        """Nobody: it shows the first page, and hears that all is done."""
        return ScriptedUser(self._opening(), (), act, told="", bye="Thank you.")

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
        self._let_go()
        self._tunnel.close()
        self._host.close()

    def _begin(self, task: WebTask) -> None:
        """A new session, signed in, on the task's first page."""
        cookies = [Cookie(self._cookies[row["site"]], row["token"]) for row in content.sessions()]
        self._open(task.verified.problem.start_urls, cookies)

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
