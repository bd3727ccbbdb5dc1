"""Guests without a screen, in child processes."""

from collections.abc import Iterator

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Sandbox, SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.osworld.client import Guest
from hfr_bench.suites.osworld.desktop import Desktop
from hfr_bench.suites.osworld.image import Profile


@pytest.fixture(scope="session")
def here() -> Iterator[Sandbox]:
    """The sandbox that makes child processes."""
    made = ProcessSandbox(SandboxContext("osworld", this_process()))
    yield made
    made.close()


@pytest.fixture(scope="session")
def shared(here: Sandbox) -> Iterator[Desktop]:
    """One for all tests that leave nothing behind that another one looks at."""
    made = Desktop.start(here, Profile.SHELL)
    yield made
    made.close()


@pytest.fixture(scope="session")
def guest(shared: Desktop) -> Guest:
    return shared.guest
