"""Desktops in containers: from the pool, never used twice, reached by nobody else, and whole."""

import os
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.model.breakage import DESKTOP, Breakage
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Restart, Sandbox, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.suites.osworld.client import GuestError
from hfr_bench.suites.osworld.desktop import Desktop, command, exposure
from hfr_bench.suites.osworld.guest.tree import STATE
from hfr_bench.suites.osworld.image import GUI_PACKAGES, Profile, image_spec
from hfr_bench.suites.osworld.tunnel import Tunnel
from tests.suites.osworld.test_tunnel import check_upstream, upstream

KEPT = "HFR_BENCH_KEPT"
"""Where pictures that a test has taken are to be kept; nowhere by default."""
BEFORE = "import pyautogui; import time; pyautogui.FAILSAFE = False; "


def test_a_screen_needs_a_container(here: Sandbox):
    with pytest.raises(InfrastructureError, match="--sandbox docker"):
        Desktop.start(here, Profile.GUI)


def test_somebodys_own_machine(here: Sandbox, shared: Desktop):
    assert shared.host is not None
    tunnel = Tunnel(shared.host)
    try:
        own = Desktop.at(tunnel.url)
        assert own.host is None
        assert own.guest.execute(["echo", "hi"]).output == "hi\n"
        own.close()
        assert shared.guest.platform() == "Linux"  # it is not ended by us
    finally:
        tunnel.close()
    with pytest.raises(GuestError):
        Desktop.at(tunnel.url, ready_s=0.1)
    with pytest.raises(BadInputError):
        Desktop.at("vm:5000")


def test_images_are_named_by_what_they_are_made_of():
    shell, gui = (image_spec(profile) for profile in Profile)
    assert shell.packages == ()
    assert set(gui.packages) == set(GUI_PACKAGES) >= {"xvfb", "chromium", "libreoffice-calc"}
    assert len(GUI_PACKAGES) == len(set(GUI_PACKAGES))
    assert command(Profile.GUI, contained=True).memory_mib == 3072
    assert command(Profile.SHELL, contained=True).user == "1000:1000"


def test_a_guest_bears_what_its_profile_has():
    shell, gui = exposure(Profile.SHELL, app="mousepad"), exposure(Profile.GUI, app="mousepad")
    assert gui.bears - shell.bears == DESKTOP - {Breakage.READ_ONLY}
    assert exposure(Profile.GUI).bears == gui.bears - {Breakage.APP_KILLED, Breakage.APP_FROZEN}
    never = {Breakage.PARTITION, Breakage.OOM, Breakage.INDEX_LOCK}
    assert gui.bears == frozenset(Breakage) - never


@pytest.fixture(scope="module")
def sandbox() -> Iterator[DockerSandbox]:
    made = DockerSandbox(SandboxContext("osworld", this_process()), warm=1, scratch_mib=512)
    yield made
    made.close()


@pytest.mark.docker
def test_a_desktop_in_a_container(sandbox: DockerSandbox, engine: docker.APIClient):
    desktop = Desktop.start(sandbox, Profile.SHELL)
    try:
        guest = desktop.guest
        assert guest.execute("id -un; pwd", shell=True).output == "user\n/home/user\n"
        assert guest.execute("touch /etc/x; ls -A ~/.hfr* 2>&1", shell=True).returncode != 0
        guest.execute("echo kept > ~/kept", shell=True, operation_id="before")
        seen = engine.inspect_container(desktop.host.container)
        config = seen["HostConfig"]
        assert (config["NetworkMode"], config["Binds"], config["CapDrop"]) == (
            "none",
            None,
            ["ALL"],
        )
        assert config["SecurityOpt"] == ["no-new-privileges:true"]
        assert config["ReadonlyRootfs"]
        assert not config["Privileged"]
        assert not seen["NetworkSettings"]["Ports"]
        assert {mount["Type"] for mount in seen["Mounts"]} == {"volume"}
        # Its home and its log outlive a restart of the container.
        desktop.host.inflict(Restart())
        assert guest.file("/home/user/kept") == b"kept\n"
        assert guest.recall("before") == ("done", 1, 0)
    finally:
        desktop.close()


@pytest.mark.docker
def test_the_pool_hands_out_each_desktop_once(sandbox: DockerSandbox):
    seen = set()
    for number in range(3):
        desktop = Desktop.start(sandbox, Profile.SHELL)
        try:
            assert desktop.guest.file("/home/user/mine") is None
            desktop.guest.upload("/home/user/mine", f"{number}".encode())
            seen.add(desktop.host.container)
        finally:
            desktop.close()
    assert len(seen) == 3


@pytest.fixture(scope="module")
def gui(sandbox: DockerSandbox) -> Iterator[Desktop]:
    made = Desktop.start(sandbox, Profile.GUI)
    yield made
    made.close()


def _kept(name: str, data: bytes, tmp_path: Path) -> None:
    folder = Path(os.environ.get(KEPT) or tmp_path)
    (folder / name).write_bytes(data)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_screen_with_programs(gui: Desktop, tmp_path):
    guest = gui.guest
    guest.upload("/home/user/Desktop/notes.txt", b"hello\n")
    before = guest.screenshot()
    guest.open("/home/user/Desktop/notes.txt")
    act = f"{BEFORE}pyautogui.hotkey('ctrl', 'end'); pyautogui.typewrite('more')"
    assert guest.execute(["python", "-c", act], operation_id="type").returncode == 0
    save = f"{BEFORE}pyautogui.hotkey('ctrl', 's'); time.sleep(0.5)"
    guest.execute(["python", "-c", save])
    assert guest.file("/home/user/Desktop/notes.txt") == b"hello\nmore"
    assert guest.recall("type") == ("done", 1, 0)
    after = guest.screenshot()
    assert after.startswith(b"\x89PNG\r\n\x1a\n")
    assert after != before
    _kept("desktop.png", after, tmp_path)
    tree = ET.fromstring(guest.accessibility())
    (app,) = (node for node in tree if node.get("name") == "mousepad")
    (text,) = (node for node in app.iter("text") if node.get(f"{{{STATE}}}showing"))
    assert text.text == "hello\nmore"
    assert text.get(f"{{{STATE}}}focused") == "true"


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_terminal_a_table_and_a_browser(gui: Desktop, tmp_path):
    guest = gui.guest
    guest.launch(["lxterminal"])
    _until(lambda: (guest.terminal() or "").endswith("$"))
    guest.execute(["python", "-c", f"{BEFORE}pyautogui.typewrite('echo $((6*7))\\n')"])
    _until(lambda: "\n42\n" in (guest.terminal() or ""))
    guest.upload("/home/user/Desktop/table.csv", b"name,amount\nann,12\nbob,7\n")
    guest.launch(["libreoffice", "--calc", "--norestore", "/home/user/Desktop/table.csv"])
    _until(lambda: "Text Import" in guest.execute(["wmctrl", "-l"]).output)
    guest.execute(["python", "-c", f"{BEFORE}pyautogui.press('enter')"])
    _until(lambda: "table.csv" in guest.execute(["wmctrl", "-l"]).output)
    _until(lambda: "ann" in _cells(guest.accessibility()))
    assert _cells(guest.accessibility()) >= {"name", "amount", "ann", "12", "bob", "7"}
    guest.launch(["google-chrome", "data:text/html,<title>page</title><button>Press</button>"])
    _until(lambda: "page - Chromium" in guest.execute(["wmctrl", "-l"]).output)
    _until(lambda: 'name="Press"' in guest.accessibility())
    _kept("programs.png", guest.screenshot(), tmp_path)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_settings_are_kept_for_the_session(gui: Desktop):
    name = "org.gnome.desktop.notifications show-banners"
    assert gui.guest.execute(f"gsettings get {name}").output == "true\n"
    gui.guest.execute(f"gsettings set {name} false")
    assert gui.guest.execute(f"gsettings get {name}").output == "false\n"


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_action_leaves_nothing_in_the_next_ones_interpreter(gui: Desktop):
    def run(code: str) -> tuple[str, str, int]:
        return gui.guest.execute(["python", "-c", BEFORE + code])

    assert run("x = 1; pyautogui.x = 2; print('done')") == ("done\n", "", 0)
    assert run("print('x' in globals(), hasattr(pyautogui, 'x'))").output == "False False\n"
    assert (
        run("pyautogui.moveTo(10, 20); print(tuple(pyautogui.position()))").output == "(10, 20)\n"
    )
    assert run("raise SystemExit(3)") == ("", "", 3)
    failed = run("1/0")
    assert failed.returncode == 1
    assert failed.error.endswith("ZeroDivisionError: division by zero\n")
    gui.guest.execute(["pkill", "-9", "-f", "guest/warm.py"])  # somebody's own clumsiness
    assert run("print('again')").output == "again\n"
    marked = ["python", "-c", "print(open('/proc/self/cmdline').read())"]
    assert "hfr-call=m;" in gui.guest.execute(marked, operation_id="m").output


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_upstreams_client_drives_a_desktop(sandbox: DockerSandbox, tmp_path):
    desktop = Desktop.start(sandbox, Profile.GUI)
    tunnel = Tunnel(desktop.host)
    try:
        found = upstream(tunnel.url, Profile.GUI, tmp_path)
    finally:
        tunnel.close()
        desktop.close()
    check_upstream(found)
    assert found["screenshot"] == b"\x89PNG\r\n\x1a\n".hex()
    assert found["screen"] == {"width": 1920, "height": 1080}
    assert found["window"]["width"] > 100
    assert found["pointer"] == "(100, 120)"
    assert found["notes"] == "hello\ntyped here"
    assert 'application name="mousepad"' in found["accessibility"]


def _cells(tree: str) -> set[str]:
    cells = ET.fromstring(tree).iter("table-cell")
    return {text for cell in cells for text in (cell.text, cell.get("name")) if text}


def _until(is_so) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)
