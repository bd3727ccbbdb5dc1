"""A desk that is OSWorld's guest: by its HTTP API alone, with a screen or without.

Each task has a guest of its own, which nobody has used. An action is an operation of the guest's
log, by the digest of its text: so its begins and ends can be asked for after any lost answer.
"""

import base64
import json
import shlex
import time
from collections.abc import Callable

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.record import text_digest
from hfr_bench.ports.exposure import mark
from hfr_bench.ports.sandbox import ToolHost
from hfr_bench.suites.osworld.client import Guest, GuestRefusedError
from hfr_bench.suites.osworld.desk import CACHES, Held, Ran, held
from hfr_bench.suites.osworld.desktop import HOME, Desktop
from hfr_bench.suites.osworld.screen import Screen

VOLATILE = (
    *CACHES,
    *(".Xauthority", ".dbus", ".ICEauthority", ".xsession-errors", ".local", ".pki", ".fonts"),
    *("dconf", "libreoffice", "chromium", "pulse", "gtk-3.0", "Mousepad", "lxterminal", "ibus"),
)
"""What programs of a desktop write at home by themselves."""
OF_A_MACHINE = (
    *(".mozilla", ".thunderbird", ".vscode", "Code", "google-chrome", "snap", ".bash_history"),
    *("evolution", "gnome-session", "ibus-table", "nautilus", "pulse", "tracker3", "GIMP", "vlc"),
)
"""What programs of OSWorld's own machine write there besides; our guests have none of them."""
PREFIX = "import pyautogui; import time; pyautogui.FAILSAFE = False; "
"""What OSWorld's client puts before each action."""
PAUSE_S = 2.0
"""How long programs have for what an action asks of them before anybody looks, as upstream has it;
and how long WAIT is."""
_GONE = -1  # a code for what the guest says of a command that it could not carry out
_STATE = """\
import hashlib, json, os, stat, sys
home, hidden, rows = sys.argv[1], set(sys.argv[2:]), {}
for folder, folders, files in os.walk(home):
    folders[:] = [name for name in folders if name not in hidden]
    links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
    for name in [name for name in files if name not in hidden] + links:
        path = os.path.join(folder, name)
        try:
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                held = os.fsencode(os.readlink(path))
            elif stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    held = file.read()
            else:
                held = b""
        except OSError:
            continue
        rows[os.path.relpath(path, home)] = f"{mode:o} {hashlib.sha256(held).hexdigest()}"
print(json.dumps(rows))
"""


class GuestDesk:
    """Implements `desk.Desk`. `start`: a new guest; `has_screen`: it has one."""

    home = HOME

    def __init__(self, start: Callable[[], Desktop], *, has_screen: bool) -> None:
        self._start = start
        self._has_screen = has_screen
        self._desktop: Desktop | None = None
        self.screen: Screen | None = GuestScreen(self) if has_screen else None

    @property
    def host(self) -> ToolHost | None:
        """The guest's in this trial; None where it is somebody's own machine."""
        assert self._desktop is not None, "a desk is cleared before it is used"
        return self._desktop.host

    @property
    def guest(self) -> Guest:
        assert self._desktop is not None, "a desk is cleared before it is used"
        return self._desktop.guest

    def clear(self) -> None:
        self.close()
        self._desktop = self._start()

    def run(
        self, name: str, command: str, timeout_s: float, *, stdin: str = "", marked: str = ""
    ) -> Ran:
        script = command
        if stdin:
            packed = base64.b64encode(stdin.encode()).decode()
            script = f"printf %s {packed} | base64 -d | {{ {command}\n}}"
        # With a trap the shell stays to the end; else it becomes its last command, and nobody
        # would know it again.
        first = f"trap : EXIT # {marked}\n" if marked else ""
        # "begun at home": OSWorld's own server works elsewhere.
        told = f"cd; timeout -s KILL {timeout_s:g} bash -c {shlex.quote(first + script)}"
        return self.execute(["bash", "-c", told], name, timeout_s, marked)

    def log(self, name: str) -> tuple[int, int] | None:
        reply = self.guest.call("GET", f"/hfr/operations/{operation(name)}")
        if reply.status == 404 and self.host is None:
            return None  # OSWorld's own server
        if reply.status != 200:
            raise InfrastructureError(f"the guest keeps no log: {reply.status} {reply.text[:200]}")
        told = reply.json()
        return int(told["runs"]), int(told["ended"])

    def text(self, path: str) -> Held | None:
        try:
            found = self.guest.file(path)
        except GuestRefusedError:
            return None
        return None if found is None else held(found)

    def entries(self, path: str) -> list[str] | None:
        try:
            found = self.guest.list_directory(path)
        except GuestRefusedError:
            return None
        rows = found["children"]
        return sorted(one["name"] + "/" * (one["type"] == "directory") for one in rows)

    def state(self) -> dict[str, str]:
        hidden = VOLATILE if self.host is not None else (*VOLATILE, *OF_A_MACHINE)
        done = self.guest.execute(["python3", "-c", _STATE, HOME, *hidden])
        if done.returncode != 0:
            raise InfrastructureError(f"the guest does not tell its files: {done.error[-300:]}")
        rows: dict[str, str] = json.loads(done.output)
        return rows

    def close(self) -> None:
        if self._desktop is not None:
            self._desktop.close()
            self._desktop = None

    def execute(self, command: list[str], name: str, timeout_s: float, marked: str = "") -> Ran:
        """A command as an operation of the guest's log; one attempt.

        `marked`: what its processes are known by from outside; "" = by that operation.
        """
        try:
            done = self.guest.execute(
                command,
                timeout_s=timeout_s + 30,
                operation_id=operation(name),
                call_id=marked_as(marked),
            )
        except GuestRefusedError as answered:
            return Ran("", answered.reply.text, _GONE)
        if done.returncode < 0:  # killed from outside, as a shell tells it
            return Ran(done.output, done.error, 128 - done.returncode)
        late = done.returncode in (124, 137)
        return Ran(done.output, done.error, None if late else done.returncode)


class GuestScreen:
    """A guest's screen. Implements `screen.Screen`."""

    def __init__(self, desk: GuestDesk) -> None:
        self._desk = desk

    def act(self, name: str, code: str, timeout_s: float, marked: str = "") -> Ran:
        done = self._desk.execute(["python", "-c", PREFIX + code], name, timeout_s, marked)
        time.sleep(PAUSE_S)
        return done

    def rest(self) -> None:
        time.sleep(PAUSE_S)

    def picture(self) -> bytes:
        return self._desk.guest.screenshot()

    def tree(self) -> str:
        return self._desk.guest.accessibility()


def operation(name: str) -> str:
    """What an action of that name is called in a guest's log."""
    return text_digest(name)[:32]


def marked_as(marked: str) -> str:
    """Of which call a mark is (`ports.exposure.mark`): the guest puts the same words around it."""
    first, last = mark("\n").split("\n")
    return marked.removeprefix(first).removesuffix(last)
