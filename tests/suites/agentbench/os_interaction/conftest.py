"""os_mini in child processes, one living world for the session; a user's checkout."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.agentbench.os_interaction import OsMiniSuite
from hfr_bench.suites.agentbench.os_interaction.world import OsWorld
from hfr_bench.suites.agentbench.source import ROOT


@pytest.fixture(scope="session")
def suite() -> Iterator[OsMiniSuite]:
    made = OsMiniSuite(ProcessSandbox(SandboxContext("osmini", this_process())))
    yield made
    made.close()


@pytest.fixture(scope="session")
def world(suite: OsMiniSuite) -> Iterator[OsWorld]:
    made = suite.open()
    yield made
    made.close()


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout that is named; else the test is skipped."""
    named = os.environ.get(ROOT)
    if not named:
        pytest.skip(f"{ROOT} names no checkout of THUDM/AgentBench: clone it and set it")
    return Path(named)
