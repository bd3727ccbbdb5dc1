"""The suite in child processes, one living world for the session."""

from collections.abc import Iterator

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.webarena.mini import WebMiniSuite
from hfr_bench.suites.webarena.mini.world import WebWorld


@pytest.fixture(scope="session")
def suite() -> Iterator[WebMiniSuite]:
    made = WebMiniSuite(ProcessSandbox(SandboxContext("webmini", this_process())))
    yield made
    made.close()


@pytest.fixture(scope="session")
def world(suite: WebMiniSuite) -> Iterator[WebWorld]:
    made = suite.open()
    yield made
    made.close()
