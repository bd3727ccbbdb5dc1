"""A real browser: the system's Chromium, driven by Playwright in the thread that uses it.

One browser a thread (`browser`), however many trials; a session is a context of its own: cookies,
cache, tabs.
"""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hfr_bench.suites.webarena.browse import pointing
from hfr_bench.suites.webarena.browse.actions import Action, Verb
from hfr_bench.suites.webarena.browse.browser import Chromium, playwright
from hfr_bench.suites.webarena.browse.driver import (
    TIMEOUT,
    TIMEOUT_S,
    BrowserError,
    CannotError,
    Cookie,
    Node,
    View,
    find,
)
from hfr_bench.suites.webarena.browse.har import har
from hfr_bench.suites.webarena.browse.traffic import Traffic

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, CDPSession, Dialog, Download, Page

_LOOK_S = 0.01
_BEGINS_S = 0.03


class ChromiumDriver:
    """Implements `driver.Driver` with a real browser. Only one thread uses it.

    `close` ends the session only; `quit` also lets go of the thread's browser.
    """

    def __init__(self) -> None:
        self._api = playwright()
        self._chromium: Chromium | None = Chromium.of_thread()
        self._context: BrowserContext | None = None
        self._traffic = Traffic()
        self._pages: list[Page] = []
        self._page: Page | None = None
        self._tools: dict[Page, CDPSession] = {}
        self._messages: list[str] = []
        self._downloads: list[str] = []
        self._looking = False
        self._coming = 0
        self._problem = ""
        self._answer: str | None = None

    def open(self, start_urls: Sequence[str], cookies: Iterable[Cookie] = ()) -> View:
        """A new session: a tab for each URL, the first one in front."""
        self.close()
        if self._chromium is None:
            self._chromium = Chromium.of_thread()
        context = self._context = self._chromium.session()
        self._traffic, self._answer = Traffic(), None
        self._traffic.attach(context)
        context.on("page", self._came)
        hosts = list(dict.fromkeys(urlsplit(url).hostname or "" for url in start_urls))
        for cookie in cookies:
            for host in [cookie.domain] if cookie.domain else hosts:
                told: Any = {"name": cookie.name, "value": cookie.value, "path": cookie.path}
                told["domain"] = host
                context.add_cookies([told])
        for url in start_urls or ("about:blank",):
            self._new_tab(url, TIMEOUT_S)
        self._page = self._pages[0]
        return self._view()

    def act(self, action: Action, timeout_s: float = TIMEOUT_S) -> View:
        """Carry one action out; see `driver.Driver`."""
        if self._context is None:
            raise BrowserError("no session is open; call open() first")
        self._messages, self._downloads, self._problem = [], [], ""
        self._coming = 0
        self._traffic.begin()
        try:
            self._do(action, timeout_s)
        except CannotError as error:
            self._problem = str(error)
        except self._api.Error as error:
            self._check_alive(error)
            self._problem = str(error).partition("\n")[0]
        return self._view()

    def look(self, url: str | None, locator: str) -> str:
        """What an evaluator finds. Raises BrowserError if the page does not come at all."""
        if self._context is None:
            raise BrowserError("no session is open; call open() first")
        if url is None:
            return self._found(self._here, locator)
        self._looking, self._traffic.silent = True, True
        page = self._context.new_page()
        try:
            page.goto(url)
            return self._found(page, locator)
        except self._api.Error as error:
            raise BrowserError(f"{url}: {error}") from error
        finally:
            page.close()
            self._looking, self._traffic.silent = False, False

    def har(self) -> dict[str, Any]:
        """All requests so far."""
        return har(self._traffic.entries)

    def close(self) -> None:
        """End the session; the browser stays."""
        context, self._context = self._context, None
        self._pages, self._page, self._tools = [], None, {}
        if context is not None:
            try:
                context.close()
            except self._api.Error:
                return  # the browser has gone, and the session with it

    def quit(self) -> None:
        """End the session and let go of the browser. Idempotent."""
        self.close()
        chromium, self._chromium = self._chromium, None
        if chromium is not None:
            chromium.close()

    # -- actions ------------------------------------------------------------------------------

    @property
    def _here(self) -> "Page":
        assert self._page is not None
        return self._page

    def _do(self, action: Action, timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        verb, page = action.verb, self._here
        if verb is Verb.STOP:
            self._answer = action.text
            return
        if verb is Verb.TAB_FOCUS:
            self._focus(action.tab)
        elif verb is Verb.NEW_TAB:
            self._new_tab(action.text or "about:blank", timeout_s)
            return
        elif verb is Verb.CLOSE_TAB:
            self._close_tab()
        elif verb is Verb.GOTO:
            self._goto(page, action.text, timeout_s)
        elif verb in (Verb.GO_BACK, Verb.GO_FORWARD):
            page.evaluate(f"history.{'back' if verb is Verb.GO_BACK else 'forward'}()")
        elif verb is Verb.SCROLL:
            sign = -1 if action.text == "up" else 1
            page.evaluate("sign => window.scrollBy(0, sign * window.innerHeight)", sign)
        elif verb is Verb.PRESS:
            page.keyboard.press(action.text)
        else:
            self._point(page, action)
        self._settle(deadline_s)

    def _point(self, page: "Page", action: Action) -> None:
        """What is done to an element of the tree as it is now."""
        tools = self._tools_of(page)
        known = pointing.tree(tools)
        node = find([one for one, _ in known], action)
        if node is None:
            raise CannotError(f"no element {action.aim} on this page")
        backend = dict(known)[node]
        if action.verb is Verb.SELECT:
            pointing.choose(tools, backend, action)
        elif action.verb is Verb.TYPE:
            pointing.focus(tools, backend, action)
            if action.text:
                page.keyboard.type(action.text)
            else:
                page.keyboard.press("Delete")
            if action.enter:
                page.keyboard.press("Enter")
        else:
            if dict(node.states).get("disabled") and action.verb is Verb.CLICK:
                raise CannotError(f"{action.aim} is disabled")
            x, y = pointing.middle(tools, backend, action)
            if action.verb is Verb.HOVER:
                page.mouse.move(x, y)
            else:
                page.mouse.click(x, y)

    def _goto(self, page: "Page", url: str, timeout_s: float) -> None:
        try:
            page.goto(url, timeout=timeout_s * 1000, wait_until="commit")
        except self._api.Error as error:
            self._check_alive(error)
            if not self._traffic.asked:  # not even a request: no web address
                raise CannotError(str(error).partition("\n")[0]) from error

    def _settle(self, deadline_s: float) -> None:
        """Wait until what the action has begun is there: new tabs, pages, downloads."""
        self._here.wait_for_timeout(_BEGINS_S * 1000)
        while True:
            page = self._here
            if self._is_quiet(page) and (self._traffic.failed or self._is_still_quiet(page)):
                break
            if time.monotonic() >= deadline_s:
                self._traffic.give_up(TIMEOUT)
                self._tools_of(page).send("Page.stopLoading")
                break
            page.wait_for_timeout(_LOOK_S * 1000)
        self._traffic.read_bodies()

    def _is_quiet(self, page: "Page") -> bool:
        """Whether no page and no tab is under way."""
        if self._traffic.pending or self._coming:
            return False
        ready = self._traffic.failed or self._evaluated(page, "document.readyState") == "complete"
        return bool(ready)

    def _is_still_quiet(self, page: "Page") -> bool:
        """Whether that is so a moment later, by the page's own clock: the machine may be slow."""
        self._evaluated(page, f"new Promise(done => setTimeout(done, {_BEGINS_S * 1000:g}))")
        return self._is_quiet(page)

    def _evaluated(self, page: "Page", code: str) -> Any:
        try:
            return page.evaluate(code)
        except self._api.Error as error:  # it is going elsewhere, or has been closed
            self._check_alive(error)
            return None

    def _found(self, page: "Page", locator: str) -> str:
        if not locator.strip():
            return str(page.content())
        found = self._evaluated(page, f"() => {locator.strip().rstrip(';')}")
        if isinstance(found, bool):
            return str(found).lower()
        return "" if found is None else str(found)

    # -- tabs ---------------------------------------------------------------------------------

    def _came(self, page: "Page") -> None:
        """A tab: ours, or one that a page has opened, which then is in front."""
        if self._looking:
            return
        page.on("dialog", self._asked)
        page.on("download", self._downloaded)
        page.on("close", self._went)
        self._pages.append(page)
        self._page = page
        self._coming = max(0, self._coming - 1)

    def _opens(self, _: Any) -> None:
        self._coming += 1

    def _went(self, page: "Page") -> None:
        if page in self._pages:
            self._pages.remove(page)
            self._tools.pop(page, None)
        if page is self._page and self._pages:
            self._page = self._pages[-1]

    def _asked(self, dialog: "Dialog") -> None:
        self._messages.append(dialog.message)
        dialog.accept()

    def _downloaded(self, download: "Download") -> None:
        self._downloads.append(download.suggested_filename)

    def _new_tab(self, url: str, timeout_s: float) -> None:
        assert self._context is not None
        deadline_s = time.monotonic() + timeout_s
        page = self._context.new_page()
        self._page = page
        if url != "about:blank":
            self._goto(page, url, timeout_s)
            self._settle(deadline_s)

    def _focus(self, number: int) -> None:
        if number >= len(self._pages):
            raise CannotError(f"no tab {number}; there are {len(self._pages)}, counted from 0")
        self._page = self._pages[number]
        self._page.bring_to_front()

    def _close_tab(self) -> None:
        if len(self._pages) == 1:
            self._new_tab("about:blank", TIMEOUT_S)
            gone = self._pages[0]
        else:
            gone = self._here
        at = self._pages.index(gone)
        gone.close()
        self._page = self._pages[min(at, len(self._pages) - 1)]

    # -- what is shown ------------------------------------------------------------------------

    def _tools_of(self, page: "Page") -> "CDPSession":
        if page not in self._tools:
            tools = self._tools[page] = page.context.new_cdp_session(page)
            tools.on("Page.windowOpen", self._opens)  # told long before the new tab is there
            tools.send("Page.enable")
        return self._tools[page]

    def _view(self) -> View:
        page, last = self._here, self._traffic.last
        try:
            nodes: tuple[Node, ...] = tuple(node for node, _ in pointing.tree(self._tools_of(page)))
        except self._api.Error as error:
            self._check_alive(error)
            nodes = ()
        failure = last.failure if last is not None and not self._downloads else ""
        came = last is not None and last.status > 0 and not failure
        return View(
            url=page.url,
            title=nodes[0].name if nodes else "",
            nodes=nodes,
            status=last.status if last is not None and came else None,
            headers={k.lower(): v for k, v in last.answer} if last is not None else {},
            exception=failure,
            problem=self._problem,
            messages=tuple(self._messages),
            downloads=tuple(self._downloads),
            tabs=tuple(one.url for one in self._pages),
            tab=self._pages.index(page),
            answer=self._answer,
        )

    def _check_alive(self, error: Exception) -> None:
        """Raises BrowserError if it is the browser that is gone, and not a page."""
        browser = self._context.browser if self._context is not None else None
        if browser is None or not browser.is_connected() or not self._pages:
            raise BrowserError(f"the browser has gone: {error}") from error
