"""A real browser's requests, as it tells of them: what is under way, and what came of it."""

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hfr_bench.suites.webarena.browse.driver import BROKEN, CLOSED, REFUSED, TIMEOUT
from hfr_bench.suites.webarena.browse.har import Entry

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Request, Response

# Chromium's names (net_error_list.h) for the ways in which no whole answer came.
_FAILURES = {
    "ERR_CONNECTION_REFUSED": REFUSED,
    "ERR_NAME_NOT_RESOLVED": REFUSED,
    "ERR_ADDRESS_UNREACHABLE": REFUSED,
    "ERR_INTERNET_DISCONNECTED": REFUSED,
    "ERR_UNSAFE_PORT": REFUSED,
    "ERR_CONNECTION_TIMED_OUT": TIMEOUT,
    "ERR_TIMED_OUT": TIMEOUT,
    "ERR_EMPTY_RESPONSE": CLOSED,
    "ERR_CONNECTION_CLOSED": CLOSED,
    "ERR_CONNECTION_RESET": CLOSED,
    "ERR_SOCKET_NOT_CONNECTED": CLOSED,
}
_ABORTED = "ERR_ABORTED"


@dataclass  # no slots: Playwright keeps a note of each listener on its owner
class Traffic:
    """Requests of one session. `pending`: pages that were asked for and are not there yet.

    `last`: the last page that was asked for since `begin`, of those that did not lead on.
    `silent`: nothing is written down.
    """

    entries: list[Entry] = field(default_factory=list)
    pending: set["Request"] = field(default_factory=set)
    last: Entry | None = None
    asked: bool = False
    silent: bool = False
    _by_request: dict["Request", Entry] = field(default_factory=dict)
    _unread: list["Request"] = field(default_factory=list)

    def attach(self, context: "BrowserContext") -> None:
        """Listen to a session."""
        context.on("request", self._sent)
        context.on("response", self._headed)
        context.on("requestfinished", self._finished)
        context.on("requestfailed", self._failed)

    def begin(self) -> None:
        """Another action."""
        self.last, self.asked = None, False

    def give_up(self, failure: str) -> None:
        """No page that is still under way is waited for any longer."""
        for request in self.pending:
            self._by_request[request].failure = failure
        self.pending.clear()

    @property
    def failed(self) -> bool:
        """Whether the last page did not come (whole)."""
        return self.last is not None and bool(self.last.failure)

    def read_bodies(self) -> None:
        """Fetch the text of the pages that have come since."""
        unread, self._unread = self._unread, []
        for request in unread:
            entry = self._by_request[request]
            with contextlib.suppress(Exception):  # gone, as of redirects and downloads
                # What it was sent with in truth: graders tell navigations by these.
                entry.headers = tuple(request.all_headers().items())
                response = request.response()
                if response is not None and not 300 <= response.status < 400:
                    entry.content = response.body()

    def _sent(self, request: "Request") -> None:
        if self.silent or not request.url.startswith("http"):
            return
        entry = Entry(
            request.method,
            request.url,
            tuple(request.headers.items()),
            request.post_data_buffer or b"",
            time.time(),
        )
        self.entries.append(entry)
        self._by_request[request] = entry
        if _is_page(request):
            self.last, self.asked = entry, True
            self.pending.add(request)

    def _headed(self, response: "Response") -> None:
        entry = self._by_request.get(response.request)
        if entry is not None:
            entry.status, entry.answer = response.status, tuple(response.headers.items())

    def _finished(self, request: "Request") -> None:
        entry = self._by_request.get(request)
        if entry is None:
            return
        entry.took_s = time.time() - entry.started_s
        self.pending.discard(request)
        if _is_page(request):
            self._unread.append(request)

    def _failed(self, request: "Request") -> None:
        entry = self._by_request.get(request)
        if entry is None or entry.failure:
            return
        entry.took_s = time.time() - entry.started_s
        self.pending.discard(request)
        name = (request.failure or "").removeprefix("net::")
        if name == _ABORTED and entry.status == 204:
            return
        if name == _ABORTED and entry.status > 0:  # a download: the page is not asked for any more
            return
        known = _FAILURES.get(name, BROKEN)
        entry.failure = BROKEN if entry.status > 0 else known


def _is_page(request: "Request") -> bool:
    """Whether it is for a whole page, and not for what is in one."""
    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except Exception:  # noqa: BLE001 - a tab so new that it has no frame yet
        return True
