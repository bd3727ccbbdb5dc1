"""`hfr-bench clean`: what a killed run has left goes, and nothing else."""

import io
import json
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.register import load_prereg
from hfr_bench.lab.runlock import only_one
from hfr_bench.owner import run_id, this_process

pytestmark = pytest.mark.usefixtures("leaky_docker")

OTHER_RUN = "0123456789abcdef"

# A harness whose tool host is at work; to be killed.
HARNESS = """\
import sys, time
from hfr_bench import plugins
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import HostCommand, SandboxContext
box = plugins.find("sandboxes", "process")(SandboxContext(sys.argv[1], this_process()))
host = box.start(HostCommand(argv=("sleep", "60")))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def name(folder: Path) -> str:
    """How the runs of `folder` are named on labels."""
    return run_id(folder, load_prereg(folder).digest())


def leave_host(name: str) -> None:
    """Kill a harness of that run while its tool host is at work."""
    child = subprocess.Popen(
        [sys.executable, "-c", HARNESS, name], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()


def left_of(name: str) -> list[str]:
    """Folders of the run's tool hosts."""
    return [path.name for path in Path(tempfile.gettempdir()).glob(f"hfr-host-{name}-*")]


def at_work(name: str) -> list[str]:
    """Processes of the run's tool hosts, which bear the name of their folder."""
    mark, found = f"hfr-host-{name}-".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes():
                found.append(path.parent.name)
        except OSError:  # it has ended, or is not ours to read
            continue
    return found


def wait_until(true: Callable[[], bool]) -> None:
    """For what the system does in its own time, soon."""
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline


def cleaned(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert run(["clean", str(folder), "--json"]) == 0
    removed: list[str] = json.loads(capsys.readouterr().out)["removed"]
    return removed


def test_where_nothing_was_left_it_says_so(folder, capsys):
    assert run(["clean", str(folder)]) == 0
    assert "nothing was left\n" in capsys.readouterr().out


def test_an_engine_that_is_not_there_is_told_and_no_error(folder, capsys, no_engine):
    assert run(["clean", str(folder)]) == 0
    said = capsys.readouterr()
    assert said.out == "nothing was left\n"
    assert "not asked: docker: " in said.err
    assert no_engine in said.err


def test_a_folder_in_use_is_refused(folder, capsys):
    with only_one(folder):
        assert run(["clean", str(folder)]) == 2
    assert "at work here" in capsys.readouterr().err


def test_a_folder_that_is_none_is_refused(tmp_path, capsys):
    assert run(["clean", str(tmp_path / "nowhere")]) == 2
    assert "no such directory" in capsys.readouterr().err


def test_the_host_of_a_killed_run_is_ended_and_its_folder_removed(folder, name, capsys):
    leave_host(name)
    left = left_of(name)
    assert len(left) == 1
    wait_until(lambda: bool(at_work(name)))  # its environment is there a moment after it is
    assert run(["clean", str(folder)]) == 0
    assert f"removed {left[0]}\n" in capsys.readouterr().out
    assert not left_of(name)
    wait_until(lambda: not at_work(name))  # a kill takes effect when the system gets to it
    assert cleaned(folder, capsys) == []


def test_the_host_of_another_run_is_left_alone(folder, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    others = run_id(other, load_prereg(other).digest())
    leave_host(others)
    wait_until(lambda: bool(at_work(others)))
    assert cleaned(folder, capsys) == []
    assert at_work(others)
    assert len(cleaned(other, capsys)) == 1


def test_an_edited_registration_does_not_hide_what_its_run_left(folder, name, capsys):
    assert run(["freeze", str(folder)]) == 0
    leave_host(name)
    with (folder / "prereg.yaml").open("a") as file:
        file.write("description: edited after the run was killed\n")
    left = left_of(name)
    assert cleaned(folder, capsys) == left


Make = Callable[[str, str], list[str]]


@pytest.fixture
def make(engine: docker.APIClient) -> Iterator[Make]:
    """Make a container, a network and a volume with the labels of a run and an owner."""
    image = f"hfr-test-clean:{uuid.uuid4().hex}"
    empty = io.BytesIO()
    tarfile.open(fileobj=empty, mode="w").close()
    engine.import_image_from_data(empty.getvalue(), *image.split(":"))
    made: list[str] = []

    def make_for(run_name: str, owner: str) -> list[str]:
        labels = {"hfr.run": run_name, "hfr.owner": owner}
        names = [f"hfr-test-{uuid.uuid4().hex[:12]}" for _ in range(3)]
        made.extend(names)
        engine.create_container(image, ["nothing"], name=names[0], labels=labels)
        engine.create_network(names[1], internal=True, labels=labels)
        engine.create_volume(names[2], labels=labels)
        return names

    yield make_for
    for name in set(made) & present(engine):
        for remove in (engine.remove_container, engine.remove_network, engine.remove_volume):
            try:
                remove(name)
            except docker.errors.NotFound:
                continue
    engine.remove_image(image)


def present(engine: docker.APIClient) -> set[str]:
    """The names of all containers, networks and volumes of the engine."""
    return {
        *(name.lstrip("/") for item in engine.containers(all=True) for name in item["Names"]),
        *(item["Name"] for item in engine.networks()),
        *(item["Name"] for item in engine.volumes()["Volumes"] or ()),
    }


@pytest.mark.docker
def test_containers_networks_and_volumes_of_the_dead_go_and_all_others_stay(
    folder, name, capsys, engine, make
):
    here, boot, pid, _ = this_process().split("/")
    dead = f"{here}/{boot}/{pid}/1"  # a process of that number that started at another time
    ours = make(name, dead)
    others = [*make(OTHER_RUN, dead), *make(name, this_process())]
    assert sorted(cleaned(folder, capsys)) == sorted(ours)
    assert not present(engine) & set(ours)
    assert present(engine) >= set(others)
