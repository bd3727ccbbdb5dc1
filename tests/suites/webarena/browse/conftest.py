"""A small site, and both drivers: the tests of one are the tests of the other."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from hfr_bench.suites.webarena.browse.actions import action_of
from hfr_bench.suites.webarena.browse.browser import lacking
from hfr_bench.suites.webarena.browse.chromium import ChromiumDriver
from hfr_bench.suites.webarena.browse.driver import Driver, View
from hfr_bench.suites.webarena.browse.http import HttpDriver
from hfr_bench.testing.website import State, serving


class Here(NamedTuple):
    """A driver before the site."""

    driver: Driver
    url: str
    state: State
    bar_s: float = 5.0

    def open(self, *paths: str) -> View:
        return self.driver.open([self.url + path for path in paths])

    def do(self, verb: str, **arguments: Any) -> View:
        return self.driver.act(action_of(verb, arguments))


@pytest.fixture
def website() -> Iterator[tuple[str, State]]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[ChromiumDriver]:
    """The browser of this thread. Tests that run an event loop of their own want its gone."""
    if (why := lacking()) is not None:
        pytest.skip(why)
    driver = ChromiumDriver()
    yield driver
    driver.quit()


@pytest.fixture
def chromium_here(chromium: ChromiumDriver, website: tuple[str, State]) -> Here:
    return Here(chromium, *website, bar_s=60.0)


@pytest.fixture(
    params=["http", pytest.param("chromium", marks=[pytest.mark.browser, pytest.mark.slow])]
)
def here(request: pytest.FixtureRequest, website: tuple[str, State]) -> Iterator[Here]:
    if request.param == "http":
        made = Here(HttpDriver(), *website)
    else:
        made = request.getfixturevalue("chromium_here")
    yield made
    made.driver.close()
