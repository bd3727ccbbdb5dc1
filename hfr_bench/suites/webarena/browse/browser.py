"""The browser's own process: one a thread, the system's Chromium under Playwright.

Playwright's own program holds the browser by a pipe, and we hold that program by another: whichever
of them dies, the rest ends. A kill -9 leaves a folder `hfr-browser-*` in the temporary directory.
"""

import json
import os
import shutil
import threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from hfr_bench.suites.webarena.browse.driver import TIMEOUT_S, BrowserError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
VARIABLE = "HFR_BENCH_CHROMIUM"
_ARGUMENTS = (
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-features=Translate,MediaRouter,OptimizationHints",
    "--no-default-browser-check",
)
# A connection that is opened ahead of its request counts as an old one, over which Chromium sends a
# request again by itself when it got no answer: then a form is sent twice, and nobody can tell.
_SETTINGS = {"net": {"network_prediction_options": 2}}
_SESSION: dict[str, Any] = {
    "viewport": {"width": 1280, "height": 720},
    "locale": "en-US",
    "service_workers": "block",
    "accept_downloads": True,
}
_LOCAL = threading.local()


def program() -> str | None:
    """The browser's program: $HFR_BENCH_CHROMIUM, or the first of PROGRAMS that is installed."""
    named = os.environ.get(VARIABLE)
    return named or next((path for name in PROGRAMS if (path := shutil.which(name))), None)


def lacking() -> str | None:
    """What is missing for a real browser, and what to do; None if nothing is."""
    if find_spec("playwright") is None:
        return "no Playwright: pip install 'hfr-bench[webarena]'"
    return None if program() else f"no browser ({PROGRAMS[0]}, ...): apt install chromium"


def playwright() -> ModuleType:
    """Playwright, which is an extra. Raises BrowserError without it."""
    try:
        return import_module("playwright.sync_api")  # an extra
    except ImportError as error:
        raise BrowserError(
            "the chromium driver needs Playwright: pip install 'hfr-bench[webarena]' (the browser "
            "itself comes from the system), or use the http driver"
        ) from error


class Chromium:
    """This thread's browser, shared by all who open it here; the last one to close ends it.

    Raises BrowserError if there is none to start.
    """

    def __init__(self) -> None:
        self._users = 0
        self._player: Any = None
        self._browser: Browser | None = None
        self._profile: TemporaryDirectory[str] | None = None

    @classmethod
    def of_thread(cls) -> Self:
        """The one of this thread, started if it is not yet. Every call needs its `close`."""
        found = getattr(_LOCAL, "chromium", None)
        if found is None:
            found = _LOCAL.chromium = cls()
            try:
                found.start()
            except BaseException:
                _LOCAL.chromium = None
                raise
        found._users += 1
        made: Self = found
        return made

    def start(self) -> None:
        """Start the browser."""
        path = program()
        if path is None:
            raise BrowserError(
                f"no browser is installed ({', '.join(PROGRAMS)}): apt install chromium, or name "
                f"one in {VARIABLE}, or use the http driver"
            )
        api = playwright()
        arguments = [*_ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        self._profile = TemporaryDirectory(prefix="hfr-browser-", ignore_cleanup_errors=True)
        settings = Path(self._profile.name, "Default", "Preferences")
        settings.parent.mkdir()
        settings.write_text(json.dumps(_SETTINGS))
        self._player = api.sync_playwright().start()
        try:
            first = self._player.chromium.launch_persistent_context(
                self._profile.name, executable_path=path, headless=True, args=arguments
            )
        except api.Error as error:
            self._stop()
            raise BrowserError(f"{path} does not start: {error}") from error
        self._browser = first.browser

    def session(self) -> "BrowserContext":
        """A session of its own. A browser that has died is started anew. Raises BrowserError."""
        if self._browser is None or not self._browser.is_connected():
            self._stop()
            self.start()
        assert self._browser is not None
        context = self._browser.new_context(**_SESSION)
        context.set_default_timeout(TIMEOUT_S * 1000)
        return context

    def close(self) -> None:
        """One user less."""
        self._users -= 1
        if self._users <= 0:
            _LOCAL.chromium = None
            self._stop()

    def _stop(self) -> None:
        browser, self._browser = self._browser, None
        player, self._player = self._player, None
        try:
            if browser is not None and browser.is_connected():
                browser.close()
        finally:
            if player is not None:
                player.stop()
            if self._profile is not None:
                self._profile.cleanup()
