"""A browser without scripts: any page that a server renders, in a millisecond or two each.

It fetches pages, not what decorates them. A page that does not come is an empty page, as in any
browser. Going back shows the page as it was left, without asking for it again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from hfr_bench.suites.webarena.browse import forms
from hfr_bench.suites.webarena.browse.actions import Action, Verb
from hfr_bench.suites.webarena.browse.css import locate
from hfr_bench.suites.webarena.browse.dom import Element, parse
from hfr_bench.suites.webarena.browse.driver import (
    TIMEOUT_S,
    BrowserError,
    CannotError,
    Cookie,
    Node,
    View,
    find,
    squeezed,
)
from hfr_bench.suites.webarena.browse.fetching import Asked, Fetcher
from hfr_bench.suites.webarena.browse.har import Entry, har, header
from hfr_bench.suites.webarena.browse.outline import outline

BLANK = "about:blank"
_PAGES = ("text/html", "application/xhtml")
_TYPED = frozenset({"textbox", "searchbox", "spinbutton"})


@dataclass(slots=True)
class _Page:
    url: str = BLANK
    root: Element = field(default_factory=lambda: parse(""))
    focus: Element | None = None

    def elements(self) -> dict[int, Element]:
        return {node.id: element for node, element in outline(self.root)}

    def nodes(self) -> tuple[Node, ...]:
        return tuple(node for node, _ in outline(self.root, self.focus))


@dataclass(slots=True)
class _Tab:
    pages: list[_Page] = field(default_factory=lambda: [_Page()])
    at: int = 0

    @property
    def page(self) -> _Page:
        return self.pages[self.at]

    def show(self, page: _Page) -> None:
        blank = self.pages == [self.page] and self.page.url == BLANK
        self.pages[self.at + (not blank) :] = [page]
        self.at = len(self.pages) - 1


class HttpDriver:
    """Implements `driver.Driver` without a browser. Only one thread uses it."""

    def __init__(self) -> None:
        self._fetcher = Fetcher()
        self._tabs: list[_Tab] = []
        self._now = 0
        self._last: Entry | None = None
        self._downloads: list[str] = []
        self._answer: str | None = None

    def open(self, start_urls: Sequence[str], cookies: Iterable[Cookie] = ()) -> View:
        """A new session: a tab for each URL, the first one in front."""
        self._fetcher, self._answer = Fetcher(), None
        hosts = dict.fromkeys(urlsplit(url).hostname or "" for url in start_urls)
        for cookie in cookies:
            for host in hosts:
                self._fetcher.jar.put(cookie, host)
        self._tabs, self._downloads, self._last = [], [], None
        for url in start_urls or (BLANK,):
            self._new_tab(url, TIMEOUT_S)
        self._now = 0
        return self._view()

    def act(self, action: Action, timeout_s: float = TIMEOUT_S) -> View:
        """Carry one action out; see `driver.Driver`."""
        if not self._tabs:
            raise BrowserError("no session is open; call open() first")
        self._last, self._downloads = None, []
        try:
            self._do(action, timeout_s)
        except CannotError as error:
            return self._view(str(error))
        return self._view()

    def look(self, url: str | None, locator: str) -> str:
        """What an evaluator finds. Raises BrowserError if the page does not come at all."""
        if url is None:
            return locate(self._tab.page.root, locator)
        entry = self._fetcher.page(Asked(url), TIMEOUT_S, told=False)
        if entry.failure:
            raise BrowserError(f"{url}: {entry.failure}")
        return locate(parse(entry.content.decode(errors="replace")), locator)

    def har(self) -> dict[str, Any]:
        """All requests so far."""
        return har(self._fetcher.entries)

    def close(self) -> None:
        """Forget everything but the HAR."""
        self._tabs = []

    # -- actions ------------------------------------------------------------------------------

    @property
    def _tab(self) -> _Tab:
        return self._tabs[self._now]

    def _do(self, action: Action, timeout_s: float) -> None:
        simple: dict[Verb, Callable[[], None]] = {
            Verb.GOTO: lambda: self._fetch(Asked(action.text), timeout_s),
            Verb.NEW_TAB: lambda: self._new_tab(action.text or BLANK, timeout_s),
            Verb.TAB_FOCUS: lambda: self._focus(action.tab),
            Verb.CLOSE_TAB: self._close_tab,
            Verb.GO_BACK: lambda: self._go(-1),
            Verb.GO_FORWARD: lambda: self._go(1),
            Verb.SCROLL: lambda: None,
            Verb.HOVER: lambda: self._hover(action),
            Verb.STOP: lambda: self._stop(action.text),
        }
        if action.verb in simple:
            simple[action.verb]()
        elif action.verb is Verb.PRESS:
            self._press(action.text, timeout_s)
        else:
            element = self._aim(action)
            if "disabled" in element.attrs:
                raise CannotError(f"{action.aim} is disabled")
            if action.verb is Verb.CLICK:
                self._click(element, timeout_s)
            elif action.verb is Verb.TYPE:
                self._type(element, action, timeout_s)
            else:
                _choose(element, action)

    def _aim(self, action: Action) -> Element:
        page = self._tab.page
        node = find(page.nodes(), action)
        if node is None:
            raise CannotError(f"no element {action.aim} on this page")
        return page.elements()[node.id]

    def _hover(self, action: Action) -> None:
        self._aim(action)

    def _click(self, element: Element, timeout_s: float) -> None:
        page = self._tab.page
        link = element if element.tag == "a" else element.above("a")
        if link is not None and "href" in link.attrs:
            self._follow(link, timeout_s)
            return
        if element.tag == "label":
            element = _labelled(element, page.root) or element
        kind = element.get("type").lower()
        form = forms.form_of(element, page.root)
        if kind == "checkbox":
            element.checked = not element.checked
        elif kind == "radio":
            for one in page.root.walk():
                same = one.get("type").lower() == "radio" and one.get("name") == element.get("name")
                if same and forms.form_of(one, page.root) is form:
                    one.checked = one is element
        elif form is not None and forms.submits(element):
            self._submit(form, element, timeout_s)
        page.focus = element

    def _follow(self, link: Element, timeout_s: float) -> None:
        page, href = self._tab.page, link.get("href").strip()
        if href.startswith("#") or href.lower().startswith(("javascript:", "mailto:")):
            return
        asked = Asked(urljoin(page.url, href), referer=page.url)
        if link.get("target") == "_blank":
            self._new_tab(BLANK, timeout_s)
        self._fetch(asked, timeout_s)

    def _type(self, element: Element, action: Action, timeout_s: float) -> None:
        kind = element.get("type").lower()
        fields = ("input", "textarea")
        if element.tag not in fields or kind in ("checkbox", "radio", "submit", "file"):
            raise CannotError(f"nothing can be typed into {action.aim}")
        element.value = action.text
        self._tab.page.focus = element
        if action.enter:
            self._press("Enter", timeout_s)

    def _press(self, key: str, timeout_s: float) -> None:
        page = self._tab.page
        focus = page.focus
        if key.lower() not in ("enter", "return") or focus is None:
            return
        if focus.tag in ("a", "button"):
            self._click(focus, timeout_s)
            return
        form = forms.form_of(focus, page.root) if focus.tag == "input" else None
        if form is not None:
            own = (one for one in page.root.walk() if forms.submits(one))
            button = next((one for one in own if forms.form_of(one, page.root) is form), None)
            self._submit(form, button, timeout_s)

    def _submit(self, form: Element, pressed: Element | None, timeout_s: float) -> None:
        page = self._tab.page
        skips = pressed is not None and "formnovalidate" in pressed.attrs
        if not skips and (field := forms.lacking(form, page.root)) is not None:
            page.focus = field
            raise CannotError(f"the field {field.get('name')!r} must be filled in")
        asked = forms.asked(form, page.root, pressed, page.url)
        if form.get("target") == "_blank":
            self._new_tab(BLANK, timeout_s)
        self._fetch(asked, timeout_s)

    def _stop(self, answer: str) -> None:
        self._answer = answer

    # -- tabs and pages -----------------------------------------------------------------------

    def _fetch(self, asked: Asked, timeout_s: float) -> None:
        """Ask for a page and show it; a file is downloaded instead, and the page stays."""
        if asked.url == BLANK:
            self._tab.show(_Page())
            return
        entry = self._last = self._fetcher.page(asked, timeout_s)
        kind = header(entry.answer, "content-type").lower()
        kept = header(entry.answer, "content-disposition")
        if not entry.failure and kept.startswith("attachment"):
            name = kept.partition("filename=")[2].split(";")[0].strip('" ')
            self._downloads.append(name or entry.url.rpartition("/")[2] or "download")
            return
        if entry.status == 204 and not entry.failure:
            return
        text = entry.content.decode(errors="replace")  # what came, however little
        if text and kind and not kind.startswith(_PAGES):
            text = f"<pre>{text.replace('&', '&amp;').replace('<', '&lt;')}</pre>"
        self._tab.show(_Page(entry.url, parse(text)))

    def _new_tab(self, url: str, timeout_s: float) -> None:
        self._tabs.append(_Tab())
        self._now = len(self._tabs) - 1
        if url != BLANK:
            self._fetch(Asked(url), timeout_s)

    def _focus(self, number: int) -> None:
        if number >= len(self._tabs):
            raise CannotError(f"no tab {number}; there are {len(self._tabs)}, counted from 0")
        self._now = number

    def _close_tab(self) -> None:
        del self._tabs[self._now]
        self._tabs = self._tabs or [_Tab()]
        self._now = min(self._now, len(self._tabs) - 1)

    def _go(self, by: int) -> None:
        tab = self._tab
        if 0 <= tab.at + by < len(tab.pages):
            tab.at += by

    def _view(self, problem: str = "") -> View:
        page, last = self._tab.page, self._last
        nodes = page.nodes()
        came = last is not None and last.status > 0
        return View(
            url=page.url,
            title=nodes[0].name,
            nodes=nodes,
            status=last.status if last is not None and came and not last.failure else None,
            headers={k.lower(): v for k, v in last.answer} if last is not None else {},
            exception=last.failure if last is not None else "",
            problem=problem,
            downloads=tuple(self._downloads),
            tabs=tuple(tab.page.url for tab in self._tabs),
            tab=self._now,
            answer=self._answer,
        )


def _choose(element: Element, action: Action) -> None:
    """The option of a select by its words, or else its value."""
    if element.tag == "option":
        element = element.above("select") or element
    options = [one for one in element.walk() if one.tag == "option"]
    wanted = squeezed(action.text)
    found = next((one for one in options if squeezed(one.text) == wanted), None)
    found = found or next((one for one in options if one.get("value") == wanted), None)
    if element.tag != "select" or found is None:
        there = ", ".join(squeezed(one.text) for one in options) or "none"
        raise CannotError(f"{action.aim} has no option {wanted!r}; there are: {there}")
    if "multiple" not in element.attrs:
        for one in options:
            one.checked = False
    found.checked = True


def _labelled(label: Element, root: Element) -> Element | None:
    if name := label.get("for"):
        return next((one for one in root.walk() if one.get("id") == name), None)
    return label.first("input", "select", "textarea")
