"""The suite on sites that live on loopback: web_mini's, as small copies of WebArena's own."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websites import serving, write_records

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.webarena.official import WebArenaSuite
from hfr_bench.suites.webarena.official.world import SitesWorld
from hfr_bench.suites.webarena.places import RESET
from hfr_bench.suites.webarena.rows import SITES


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's own records and solutions."""
    return write_records(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="session")
def sites() -> Iterator[Mapping[str, str]]:
    """The environment that names living sites."""
    with serving() as named:
        yield named


@contextmanager
def surrounded(named: Mapping[str, str]) -> Iterator[None]:
    """The process's environment with these sites and no others."""
    names = [*(site.upper() for site in SITES), *(f"WA_{site.upper()}" for site in SITES), RESET]
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ.update(named)
    try:
        yield
    finally:
        for name in named:
            del os.environ[name]
        os.environ.update(before)


@pytest.fixture
def there(sites: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """The living sites, named in the environment."""
    with surrounded(sites):
        yield sites


@pytest.fixture
def nowhere() -> Iterator[None]:
    """An environment that names no site."""
    with surrounded({}):
        yield


def made(data_dir: Path | None, **settings: Any) -> WebArenaSuite:
    """The suite in child processes."""
    sandbox = ProcessSandbox(SandboxContext("webarena", this_process()))
    return WebArenaSuite(sandbox, data_dir, **{"driver": "http", **settings})


@pytest.fixture
def make() -> Any:
    """Makes the suite, outside any fixture of its own."""
    return made


@pytest.fixture(scope="session")
def suite(folder: Path, sites: Mapping[str, str]) -> Iterator[WebArenaSuite]:
    with surrounded(sites):
        found = made(folder)
    yield found
    found.close()


@pytest.fixture(scope="session")
def world(suite: WebArenaSuite) -> Iterator[SitesWorld]:
    found = suite.open()
    yield found
    found.close()
