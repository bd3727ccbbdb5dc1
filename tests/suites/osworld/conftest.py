"""Guests without a screen in child processes; a desktop that is a dict; files a metric reads."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Sandbox, SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.osworld.client import Guest
from hfr_bench.suites.osworld.desktop import Desktop
from hfr_bench.suites.osworld.image import Profile
from hfr_bench.suites.osworld.world import PlainWorld
from hfr_bench.testing.desktop import FakeGuest

sys.path.append(str(Path(__file__).parent))  # checkout, corpus: what several test files use


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


@pytest.fixture
def pretended():
    """A desktop that is a dict."""
    return FakeGuest()


@pytest.fixture
def world(pretended, tmp_path):
    """The same as a metric's world; its clock only notes how long it was told to sleep."""
    slept = []
    (tmp_path / "cache").mkdir()
    return PlainWorld(pretended, tmp_path / "cache", slept.append)


@pytest.fixture
def put(tmp_path):
    """Writes a file and gives its path: text, bytes, or what JSON holds."""

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_text(text, "utf-8")
        return str(path)

    return write
