"""The engine goes away under a run and comes back: voids are run again, nothing else is lost."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench.testing.runs import CONTAINED, begin, cli, new, report

pytestmark = [pytest.mark.docker, pytest.mark.tau2, pytest.mark.slow]

SCRIPT = str(Path(__file__).parents[2] / ".ci" / "engine")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An engine of this test alone, which may be stopped."""
    if os.geteuid() != 0:
        pytest.skip("only root may start an engine of its own")
    home = Path("/run") / f"hfr-engine-test-{os.getpid()}"
    monkeypatch.setenv("HFR_ENGINE_HOME", str(home))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    said = subprocess.run([SCRIPT, "start"], capture_output=True, text=True, check=True).stdout
    monkeypatch.setenv("DOCKER_HOST", said.strip().removeprefix("export DOCKER_HOST="))
    yield
    monkeypatch.delenv("DOCKER_HOST")
    subprocess.run([SCRIPT, "clean"], check=True)


def restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the engine and start it again; what ran in it ends."""
    address = os.environ["DOCKER_HOST"]
    monkeypatch.delenv("DOCKER_HOST")
    subprocess.run([SCRIPT, "stop"], check=True)
    subprocess.run([SCRIPT, "start"], capture_output=True, check=True)
    monkeypatch.setenv("DOCKER_HOST", address)


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("own")
def test_a_run_outlives_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = CONTAINED.replace("[0, 0.2]", "[0, 0.05, 0.1, 0.2]").replace("[1]", "[1, 2, 3]")
    whole, folder = new(tmp_path / "whole", text), new(tmp_path / "restarted", text)
    assert cli("run", whole).returncode == 0
    child = begin(folder)
    while not list(folder.glob("trials/*/r1/*.jsonl")):
        assert child.poll() is None, "it ended before anything was restarted"
        time.sleep(0.01)
    restart(monkeypatch)
    assert child.wait(timeout=300) == 0
    expected, found = report(whole), report(folder)
    assert found["valid"]
    assert sum(row["voids"] for row in found["voids"]) > 0, "nothing was at work when it went"
    assert found["estimates"] == expected["estimates"]
