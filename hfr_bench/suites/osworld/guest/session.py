"""The session of a guest with a screen: what is started, in which order, and seen to be there."""

import os
import secrets
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from .commands import Runner
from .screen import X11Screen
from .warm import Warm

DISPLAY = ":0"
SIZE = "1920x1080x24"
_READY_S = 30.0
_EVERY_S = 0.02
_BUS_LAUNCHER = "/usr/libexec/at-spi-bus-launcher"


def start_session(runner: Runner, state: Path) -> X11Screen:
    """Start a display, a bus, accessibility, a window manager and the warm interpreter.

    They end with the guest. Raises RuntimeError for what is not there in time, OSError for a
    program that is missing: the image has them all.
    """
    state.mkdir(parents=True, exist_ok=True)
    environment = _environment(runner.home, state)
    os.environ.update(environment)
    runner.environment.update(environment)
    # Without a cookie a library that everybody uses complains on stdout, where answers are read.
    cookie = ["xauth", "-q", "add", DISPLAY, ".", secrets.token_hex(16)]
    Path(environment["XAUTHORITY"]).touch(mode=0o600)
    runner.run(cookie, shell=False, timeout_s=_READY_S)
    screen = ["-screen", "0", SIZE, "-nolisten", "tcp", "-noreset", "-dpi", "96"]
    runner.launch(["Xvfb", DISPLAY, *screen, "-auth", environment["XAUTHORITY"]], shell=False)
    bus = runner.run(
        ["dbus-daemon", "--session", "--fork", "--nopidfile", "--print-address"],
        shell=False,
        timeout_s=_READY_S,
    )
    address = {"DBUS_SESSION_BUS_ADDRESS": bus.output.strip()}
    os.environ.update(address)
    runner.environment.update(address)
    _until("the display", lambda: _ends_well(runner, ["xdpyinfo"]))
    runner.launch([_BUS_LAUNCHER, "--launch-immediately"], shell=False)
    runner.launch(["openbox"], shell=False)
    enable = ["org.gnome.desktop.interface", "toolkit-accessibility", "true"]
    runner.run(["gsettings", "set", *enable], shell=False, timeout_s=_READY_S)
    warm = Warm(runner, state)
    _until("the window manager", lambda: _ends_well(runner, ["wmctrl", "-m"]))
    return X11Screen(runner, warm)


def _environment(home: Path, state: Path) -> dict[str, str]:
    runtime = state / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return {
        "DISPLAY": DISPLAY,
        "HOME": str(home),
        "XAUTHORITY": str(home / ".Xauthority"),
        "XDG_RUNTIME_DIR": str(runtime),
        "XDG_CURRENT_DESKTOP": "GNOME",
        "GTK_MODULES": "gail:atk-bridge",
        "GNOME_ACCESSIBILITY": "1",
        "ACCESSIBILITY_ENABLED": "1",
        "SAL_USE_VCLPLUGIN": "gtk3",
    }


def _ends_well(runner: Runner, argv: list[str]) -> bool:
    try:
        return runner.run(argv, shell=False, timeout_s=_READY_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _until(what: str, is_so: Callable[[], bool]) -> None:
    """Raises RuntimeError."""
    deadline = time.monotonic() + _READY_S
    while not is_so():
        if time.monotonic() >= deadline:
            raise RuntimeError(f"{what} of the guest is not there after {_READY_S:g} s")
        time.sleep(_EVERY_S)
