"""What of a guest in an episode may be broken, and what each task says of its own program."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hfr_bench.lab.injecting import exposed
from hfr_bench.model.breakage import DESKTOP, Breakage
from hfr_bench.ports.exposure import Bearing, Exposed, mark
from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.suites.osworld.adapter import OsworldSuite
from hfr_bench.suites.osworld.exposed import (
    NO_PROGRAM,
    GuestWorld,
    exposure_of,
    suite_exposure,
)
from hfr_bench.suites.osworld.guest_desk import marked_as
from hfr_bench.suites.osworld.halves import DeskTask, desk_task
from hfr_bench.suites.osworld.image import Profile
from hfr_bench.suites.osworld.mini import DeskMiniSuite
from hfr_bench.suites.osworld.mini.catalog import tasks

NEVER = {Breakage.PARTITION, Breakage.OOM, Breakage.INDEX_LOCK}
TASK = "sheet-total"


def made(*steps: dict[str, Any], apps: tuple[str, ...] = ()) -> DeskTask:
    row = {"id": "t", "instruction": "do", "config": list(steps), "related_apps": list(apps)}
    return desk_task(
        {**row, "evaluator": {"func": "infeasible"}},
        suite="desk_mini",
        domain="t",
        tools=(),
        deadline_s=1,
    )


def step(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": parameters}


def test_a_suite_says_what_its_guests_bear(here: Sandbox) -> None:
    guest = DeskMiniSuite(here, profile="guest")
    assert isinstance(guest, Bearing)
    assert guest.exposure.bears == frozenset(Breakage) - NEVER - DESKTOP | {Breakage.READ_ONLY}
    assert suite_exposure(Profile.GUI).bears == frozenset(Breakage) - NEVER
    assert OsworldSuite(here, profile="guest").exposure == guest.exposure


def test_a_task_names_its_program_and_its_folder() -> None:
    """From the steps before it; all tasks of a profile bear the same."""
    screen = {name: exposure_of(task, Profile.GUI) for name, task in tasks(True).items()}
    assert screen["screen-type-line"].app == "mousepad"
    assert screen["screen-terminal-note"].app == "xterm"
    assert screen["files-backup-copy"].app == NO_PROGRAM
    assert screen[TASK].folder == "/home/user/sheets"
    assert {one.bears for one in screen.values()} == {suite_exposure(Profile.GUI).bears}


@pytest.mark.parametrize(
    ("task", "app"),
    [
        (made(step("launch", command=["google-chrome", "--remote-debugging-port=1"])), "chromium"),
        (made(step("launch", command="socat tcp:1 tcp:2"), apps=("chrome",)), "chromium"),
        (made(step("open", path="/home/user/Book.XLSX")), "soffice.bin"),
        (made(apps=("os", "libreoffice_writer")), "soffice.bin"),
        (made(step("launch", command=["/usr/bin/gedit", "a"])), "gedit"),
        (made(step("open", path="/home/user/film.mkv"), apps=("vlc",)), NO_PROGRAM),
        (made(step("launch", command=[])), NO_PROGRAM),
    ],
)
def test_programs_are_known_by_their_command_lines(task: DeskTask, app: str) -> None:
    assert exposure_of(task, Profile.GUI).app == app


def test_a_task_without_files_is_worked_on_on_the_desktop() -> None:
    assert exposure_of(made(), Profile.SHELL).folder == "/home/user/Desktop"
    fetched = step("download", files=[{"url": "https://x/", "path": "/home/user/in/a.csv"}])
    assert exposure_of(made(fetched), Profile.SHELL).folder == "/home/user/in"


@pytest.fixture(scope="module")
def world(here: Sandbox) -> Iterator[GuestWorld]:
    made = DeskMiniSuite(here, profile="guest").open()
    assert isinstance(made, GuestWorld)
    yield made
    made.close()


def test_the_world_gives_the_guest_of_this_trial(world: GuestWorld) -> None:
    world.reset(TASK)
    first = world.host
    assert isinstance(world, Exposed)
    assert exposed(world) is None  # a child process cannot be broken
    world.reset(TASK)
    assert world.host is not first


def test_a_calls_processes_are_known_by_its_mark(world: GuestWorld) -> None:
    """The command's own shell, too: who strikes at the mark leaves none of them at work."""
    world.reset(TASK)
    command = "tr '\\0' ' ' </proc/$$/cmdline; tr '\\0' ' ' </proc/$PPID/cmdline"
    done = world.execute("execute", {"command": command}, actor="agent", operation_id="a.1")
    said = json.loads(done.observation.body)["output"]
    assert said.count("hfr-call;") == 2  # as an agent sees it
    assert marked_as(mark("a.1")) == "a.1"
    assert marked_as("") == ""


def test_a_command_that_is_killed_from_outside_says_so(world: GuestWorld) -> None:
    world.reset(TASK)
    command = 'kill -9 $(grep -lz "hfr-call=[a]\\.2" /proc/[0-9]*/cmdline | cut -d/ -f3)'
    done = world.execute("execute", {"command": command}, actor="agent", operation_id="a.2")
    assert done.observation.exit_code == 137
