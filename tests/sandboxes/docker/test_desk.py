"""Faults of a desktop: made from outside, seen to be there, and undone."""

import contextlib
import time
from collections.abc import Callable, Iterator

import pytest

from hfr_bench.errors import InfrastructureError
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import (
    HostState,
    KillApp,
    Protect,
    SandboxContext,
    ShowModal,
    SkewClock,
    StopApp,
)
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.suites.osworld.desktop import Desktop, exposure
from hfr_bench.suites.osworld.image import Profile

pytestmark = pytest.mark.docker
BEFORE = "import pyautogui; import time; pyautogui.FAILSAFE = False; "
NOTES = "/home/user/Desktop/notes.txt"
# One process: what it forked would bear its command line, too, until it had become another.
BEATS = """\
import os, time  # beats
beat = os.path.expanduser("~/beat")
while time.sleep(0.02) is None:
    with open(f"{beat}.new", "w") as file:
        file.write(str(time.monotonic_ns()))
    os.replace(f"{beat}.new", beat)
"""
EXPOSED = exposure(Profile.GUI, app="mousepad")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[DockerSandbox]:
    made = DockerSandbox(SandboxContext("desk", this_process()), scratch_mib=512)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shell(sandbox: DockerSandbox) -> Iterator[Desktop]:
    made = Desktop.start(sandbox, Profile.SHELL)
    yield made
    made.close()


def look(desktop: Desktop) -> HostState:
    return desktop.host.look(EXPOSED.scratch, "nobody's")


def test_a_folder_that_may_not_be_written_to(shell: Desktop):
    assert not look(shell).protected
    write = "echo x >> ~/Desktop/x"
    shell.host.inflict(Protect(EXPOSED.folder))
    assert look(shell).protected
    failed = shell.guest.execute(write, shell=True)
    assert failed.returncode != 0
    assert "Permission denied" in failed.error
    shell.host.heal(everything=False)
    assert not look(shell).protected
    assert shell.guest.execute(write, shell=True).returncode == 0


def test_its_owner_may_give_the_right_back_and_healing_does_not_mind(shell: Desktop):
    shell.host.inflict(Protect(EXPOSED.folder))
    assert shell.guest.execute("chmod u+w ~/Desktop; rm -rf ~/Desktop", shell=True).returncode == 0
    assert not look(shell).protected
    shell.host.heal()
    shell.guest.execute("mkdir ~/Desktop", shell=True)


def test_no_program_is_hit_where_there_is_none(shell: Desktop):
    for fault in (KillApp("nobody-at-all"), StopApp("nobody-at-all")):
        shell.host.inflict(fault)
        assert (look(shell).app, look(shell).app_stopped) == (0, 0)
        shell.host.heal()
        assert look(shell).app is None


def test_a_program_is_halted_and_goes_on(shell: Desktop):
    shell.guest.launch(["python3", "-c", BEATS])
    _until(lambda: shell.guest.file("/home/user/beat"))
    shell.host.inflict(StopApp("# beats"))
    halted = look(shell)
    assert (halted.app, halted.app_stopped) == (1, 1)
    first = shell.guest.file("/home/user/beat")
    assert shell.guest.execute("sleep 0.2; cat ~/beat", shell=True).output.encode() == first
    shell.host.heal(everything=False)
    assert (look(shell).app, look(shell).app_stopped) == (None, 0)
    _until(lambda: shell.guest.file("/home/user/beat") != first)
    shell.host.inflict(KillApp("# beats"))
    assert look(shell).app >= 1
    shell.host.heal()
    last = shell.guest.file("/home/user/beat")
    assert shell.guest.execute("sleep 0.2; cat ~/beat", shell=True).output.encode() == last


def test_a_clock_that_cannot_be_skewed_says_so(shell: Desktop):
    with pytest.raises(InfrastructureError, match="exit code 9"):
        shell.host.inflict(SkewClock(EXPOSED.clock, 60))
    with pytest.raises(InfrastructureError, match="exit code"):
        shell.host.inflict(ShowModal())
    shell.host.heal()


@pytest.fixture(scope="module")
def gui(sandbox: DockerSandbox) -> Iterator[Desktop]:
    made = Desktop.start(sandbox, Profile.GUI)
    made.guest.upload(NOTES, b"")
    yield made
    made.close()


def typed(desktop: Desktop, text: str) -> None:
    code = f"{BEFORE}pyautogui.typewrite({text!r}); pyautogui.hotkey('ctrl', 's')"
    assert desktop.guest.execute(["python", "-c", code]).returncode == 0


@contextlib.contextmanager
def open_notes(desktop: Desktop) -> Iterator[None]:
    desktop.guest.upload(NOTES, b"")
    desktop.guest.open(NOTES)
    try:
        yield
    finally:
        desktop.host.heal()
        desktop.guest.execute(["pkill", "-9", "mousepad"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_what_a_frozen_program_is_sent_lands_once_it_goes_on(gui: Desktop):
    with open_notes(gui):
        gui.host.inflict(StopApp(EXPOSED.app))
        assert look(gui).app_stopped >= 1
        typed(gui, "late")
        assert gui.guest.execute("sleep 0.5", shell=True).returncode == 0
        assert gui.guest.file(NOTES) == b""
        assert "desktop-frame" in gui.guest.accessibility()  # the others are still told of
        gui.host.heal(everything=False)
        assert look(gui).app_stopped == 0
        _until(lambda: gui.guest.file(NOTES) == b"late")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_what_was_not_saved_goes_with_a_killed_program(gui: Desktop):
    with open_notes(gui):
        gui.host.inflict(KillApp(EXPOSED.app))
        assert look(gui).app >= 1
        typed(gui, "gone")
        _until(lambda: "notes" not in gui.guest.execute(["wmctrl", "-l"]).output)
        assert gui.guest.file(NOTES) == b""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_dialog_has_the_focus_until_it_is_dismissed(gui: Desktop):
    with open_notes(gui):
        gui.host.inflict(ShowModal())
        assert look(gui).modal
        assert not gui.host.standing  # it stays by itself
        typed(gui, "lost")
        gui.host.heal(everything=False)
        assert look(gui).modal
        assert gui.guest.file(NOTES) == b""
        gui.guest.call("POST", "/setup/close_window", json={"window_name": "Software Updater"})
        _until(lambda: not look(gui).modal)
        gui.guest.call("POST", "/setup/activate_window", json={"window_name": "notes"})
        typed(gui, "kept")
        _until(lambda: gui.guest.file(NOTES) == b"kept")
        gui.host.inflict(ShowModal())
        assert look(gui).modal
        gui.host.heal()
        assert not look(gui).modal


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("offset_s", [86_400, -3600])
def test_commands_are_told_another_time(gui: Desktop, offset_s: int):
    def off() -> tuple[float, float]:
        told = int(gui.guest.execute(["date", "+%s"]).output) - time.time()
        warm = gui.guest.execute(["python", "-c", f"{BEFORE}print(int(time.time()))"]).output
        return told, int(warm) - time.time()

    gui.host.inflict(SkewClock(EXPOSED.clock, offset_s))
    assert abs(look(gui).skew_s - offset_s) <= 30
    assert off() == pytest.approx((offset_s, offset_s), abs=60)
    gui.host.heal(everything=False)
    assert look(gui).skew_s == 0
    assert off() == pytest.approx((0, 0), abs=60)


def _until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
