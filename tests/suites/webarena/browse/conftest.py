"""A small site, and both drivers: the tests of one are the tests of the other."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from hfr_bench.suites.webarena.browse.actions import action_of
from hfr_bench.suites.webarena.browse.driver import Driver, View
from hfr_bench.suites.webarena.browse.http import HttpDriver
from hfr_bench.testing.website import State, serving


class Here(NamedTuple):
    """A driver before the site."""

    driver: Driver
    url: str
    state: State
    bar_s: float = 0.5

    def open(self, *paths: str) -> View:
        return self.driver.open([self.url + path for path in paths])

    def do(self, verb: str, **arguments: Any) -> View:
        return self.driver.act(action_of(verb, arguments))


@pytest.fixture
def website() -> Iterator[tuple[str, State]]:
    with serving() as found:
        yield found


@pytest.fixture(params=["http"])
def here(request: pytest.FixtureRequest, website: tuple[str, State]) -> Iterator[Here]:
    made = Here(HttpDriver(), *website)
    yield made
    made.driver.close()
