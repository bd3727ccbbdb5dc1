"""An experiment whose tools run in containers: the same results, and every trace says where."""

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import docker
import pytest

from hfr_bench.testing.runs import (
    at_work,
    begin,
    cli,
    left,
    lose_groups,
    new,
    report,
    unrun,
)

pytestmark = [pytest.mark.docker, pytest.mark.tau2]

WHERE = ("ran_in", "traces_digest", "notes", "deviations")


def started(folder: Path) -> list[dict[str, Any]]:
    """The first line's body of every trial."""
    paths = folder.glob("trials/*/r1/*.jsonl")
    return [json.loads(path.read_bytes().split(b"\n")[0])["body"] for path in paths]


@pytest.fixture(scope="module")
def contained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small experiment, run in containers to its end; never changed by a test."""
    folder = new(tmp_path_factory.mktemp("contained") / "small")
    done = cli("run", folder, "-n", "2")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def frozen(contained: Path, tmp_path: Path) -> Path:
    """The same experiment before its first trial, in a folder (and so a run) of its own."""
    return unrun(Path(shutil.copytree(contained, tmp_path / "frozen")))


def test_every_trace_names_the_sandbox_and_the_image(
    contained: Path, engine: docker.APIClient
) -> None:
    starts = started(contained)
    assert {start["sandbox"] for start in starts} == {"docker"}
    (image,) = {start["image_id"] for start in starts}
    assert engine.inspect_image(image)["Config"]["Labels"]["hfr.image"] == "tau2"
    assert report(contained)["ran_in"] == [f"docker {image}"]
    assert left(engine, contained) == []


@pytest.mark.slow
def test_in_processes_the_results_are_the_same_and_the_report_says_where(
    contained: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(contained, tmp_path / "processes"))
    shutil.rmtree(folder / "trials")
    done = cli("run", folder, "--sandbox", "process")
    assert done.returncode == 0
    assert "sandbox: process (registered: docker)" in done.stderr
    one, other = report(contained), report(folder)
    assert "8 of 8 trials tools ran in sandbox process, while docker" in str(other["notes"])
    for name in WHERE:
        assert one.pop(name) != other.pop(name)
    assert one == other


@pytest.mark.slow
def test_begun_in_containers_it_may_be_finished_in_processes(
    contained: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(contained, tmp_path / "both"))
    for group in sorted((folder / "trials").iterdir())[::2]:
        shutil.rmtree(group)
    assert cli("run", folder, "--sandbox", "process").returncode == 0
    found = report(folder)
    assert found["valid"]
    assert found["complete"]
    assert len(found["ran_in"]) == 2
    assert found["estimates"] == report(contained)["estimates"]


@pytest.mark.slow
def test_without_an_engine_a_run_ends_in_words_and_goes_on_later(
    contained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(contained, tmp_path / "later"))
    (lost,) = lose_groups(folder)
    with monkeypatch.context() as away:
        away.setenv("DOCKER_HOST", "unix:///nowhere.sock")
        told = cli("run", folder)
    assert told.returncode == 3
    assert "--sandbox process" in told.stderr
    assert not list(lost.glob("r1/*"))
    assert cli("run", folder).returncode == 0
    assert len(list(lost.glob("r1/*.jsonl"))) == 3


def started_run(folder: Path) -> "subprocess.Popen[bytes]":
    """A run of which at least one trial is done, and others are at work."""
    child = begin(folder, "-n", "2")
    at_work(child, folder, set())
    return child


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM]
)
def test_told_to_end_it_leaves_no_container_behind(
    frozen: Path, engine: docker.APIClient, number: signal.Signals
) -> None:
    child = started_run(frozen)
    child.send_signal(number)
    assert child.wait(timeout=150) == 130
    assert left(engine, frozen) == []


@pytest.mark.slow
def test_killed_with_hosts_that_hang_it_is_cleaned_by_name(
    frozen: Path, engine: docker.APIClient
) -> None:
    folder, child = frozen, started_run(frozen)
    # A host that is paused does not see its stdin end, as one that hangs does not.
    for container in left(engine, folder):
        engine.pause(container)
    child.kill()
    child.wait()
    hanging = left(engine, folder)
    assert hanging
    told = cli("clean", folder).stdout.split()
    assert told.count("removed") == len(hanging)
    assert left(engine, folder) == []
