"""The suite in child processes, one living world for the session."""

from collections.abc import Iterator

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.swe_bench.mini import SweMiniSuite
from hfr_bench.suites.swe_bench.mini.adapter import MiniWorld


@pytest.fixture(scope="session")
def suite() -> Iterator[SweMiniSuite]:
    made = SweMiniSuite(ProcessSandbox(SandboxContext("swemini", this_process())))
    yield made
    made.close()


@pytest.fixture(scope="session")
def world(suite: SweMiniSuite) -> Iterator[MiniWorld]:
    made = suite.open()
    yield made
    made.close()
