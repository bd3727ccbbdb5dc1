"""The suite in child processes, one living world for the session."""

from collections.abc import Iterator

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.osworld.mini import DeskMiniSuite
from hfr_bench.suites.osworld.mini.adapter import MiniWorld


@pytest.fixture(scope="session")
def suite() -> Iterator[DeskMiniSuite]:
    made = DeskMiniSuite(ProcessSandbox(SandboxContext("deskmini", this_process())))
    yield made
    made.close()


@pytest.fixture(scope="session")
def desk(suite: DeskMiniSuite) -> Iterator[MiniWorld]:
    made = suite.open()
    yield made
    made.close()
