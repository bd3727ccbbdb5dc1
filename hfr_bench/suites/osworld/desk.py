"""A desk: where an agent works, as an episode needs it; and one without a screen, on a shell host.

    episode ─ Desk ─┬─ ShellDesk ─ shell host (process or container): commands and files
                    └─ GuestDesk ─ OSWorld's guest: a screen, too (`guest_desk.py`)

Setup steps and evaluators speak a guest's HTTP API, to whichever desk it is (`Desk.guest`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from hfr_bench.ports.sandbox import HostRefusedError, ToolHost
from hfr_bench.shell.client import Shell
from hfr_bench.suites.osworld.contracts import inward
from hfr_bench.suites.osworld.screen import Screen
from hfr_bench.suites.osworld.shell_guest import ShellGuest
from hfr_bench.suites.osworld.world import Caller

OURS = "\0"
"""What the names of our own commands begin with; no text of an agent's holds that."""
CACHES = ("__pycache__", ".cache")
_FOLDER = "home"
_SETUP_S = 120.0
_ANSWER_KIB = 256
FILE_KIB = 1024


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended. `code` None: it was ended at its timeout."""

    output: str
    error: str
    code: int | None


class Held(NamedTuple):
    """A file's text. `cut`: that is only the beginning of it."""

    text: str
    cut: bool


def held(content: bytes) -> Held:
    """What is told of a file with that content."""
    most = FILE_KIB * 1024
    return Held(content[:most].decode("utf-8", "replace"), len(content) > most)


class Desk(Protocol):
    """One desk, used for one task after the other. Each method may raise InfrastructureError.

    `home`: where the home folder really is. `screen` is None where there is none.
    """

    home: str
    screen: Screen | None

    @property
    def guest(self) -> Caller:
        """The guest's API, for steps before and after an episode; nothing of it is logged."""
        ...

    def clear(self) -> None:
        """An empty home folder; whatever ran here is gone, and the log is empty."""
        ...

    def run(
        self, name: str, command: str, timeout_s: float, *, stdin: str = "", marked: str = ""
    ) -> Ran:
        """A command of the agent's, logged by its name; begun at home.

        `marked`: what its shell is known by from outside.
        """
        ...

    def log(self, name: str) -> tuple[int, int] | None:
        """How often what is logged by that name has begun and has ended; None: no log is kept."""
        ...

    def text(self, path: str) -> Held | None:
        """A file, 1 MiB of it at most; None if there is no plain one that can be read."""
        ...

    def entries(self, path: str) -> list[str] | None:
        """A folder's names, sorted, folders with a `/` behind; None if there is none."""
        ...

    def state(self) -> dict[str, str]:
        """Each file below home: its path from there -> mode and digest; caches left out."""
        ...

    def close(self) -> None: ...


class ShellDesk:
    """A desk without a screen. `env`: what its commands find in their environment."""

    screen: Screen | None = None

    def __init__(self, host: ToolHost, env: Mapping[str, str]) -> None:
        self.host = host
        self._shell = Shell(host)
        scratch = str(self._shell.hello()["scratch"][0])
        self.home = f"{scratch}/{_FOLDER}"
        self._env = {**env, "HOME": self.home}
        self._asked = 0
        self.guest: Caller = ShellGuest(self)

    def clear(self) -> None:
        self._shell.reset()
        self.ours(["mkdir", "-p", self.home], cwd="")

    def run(
        self, name: str, command: str, timeout_s: float, *, stdin: str = "", marked: str = ""
    ) -> Ran:
        # With a trap the shell stays to the end; else it becomes its last command, and nobody
        # would know it again.
        first = f"trap : EXIT # {marked}\n" if marked else ""
        done = self._shell.exec(
            name,
            first + inward(command, self.home),
            timeout_s=timeout_s,
            cwd=_FOLDER,
            env=self._env,
            stdin=stdin,
            max_output_kib=_ANSWER_KIB,
        )
        return Ran(done.stdout, done.stderr, done.exit_code)

    def log(self, name: str) -> tuple[int, int]:
        found = self._shell.recall(name)
        return found.runs, found.runs - (found.state == "started")

    def text(self, path: str) -> Held | None:
        found = self.read(path)
        return None if found is None else held(found)

    def entries(self, path: str) -> list[str] | None:
        where = self._at(path)
        if self.ours(["test", "-d", where]).code != 0:
            return None
        listing = ["find", f"{where}/", "-mindepth", "1", "-maxdepth", "1", "-printf", "%f\t%y\n"]
        rows = [line.rpartition("\t") for line in self.ours(listing).output.splitlines()]
        return sorted(name + "/" * (kind == "d") for name, _, kind in rows)

    def state(self) -> dict[str, str]:
        files = self._shell.tree(_FOLDER, leave_out=CACHES)
        return {name.removeprefix(f"{_FOLDER}/"): row for name, row in files.items()}

    def close(self) -> None:
        self._shell.close()

    # -- for steps and evaluators --------------------------------------------------------------

    def read(self, path: str) -> bytes | None:
        """A file with the rights of a command; of a long one a little more than `text` gives."""
        try:
            return self._shell.read(self._at(path), FILE_KIB + 1)
        except HostRefusedError as refused:
            if refused.kind in _NO_FILE:
                return None
            raise

    def write(self, path: str, content: bytes) -> None:
        """A file, and the folders above it."""
        self._shell.write(self._at(path), content)

    def ours(self, command: str | list[str], *, cwd: str = _FOLDER) -> Ran:
        """A command that is nobody's action. A text is a shell's."""
        self._asked += 1
        done = self._shell.exec(
            f"{OURS}{self._asked}",
            inward(command, self.home)
            if isinstance(command, str)
            else [inward(word, self.home) for word in command],
            timeout_s=_SETUP_S,
            cwd=cwd,
            env=self._env,
            max_output_kib=_ANSWER_KIB,
            kill_left=True,
        )
        return Ran(done.stdout, done.stderr, done.exit_code)

    def _at(self, path: str) -> str:
        """An absolute path: those that are none begin at home, as does `~`."""
        inner = inward(path, self.home)
        if inner == "~" or inner.startswith("~/"):
            return self.home + inner[1:]
        return inner if inner.startswith("/") else f"{self.home}/{inner}"


_NO_FILE = frozenset(
    {
        *("FileNotFoundError", "NotADirectoryError", "IsADirectoryError", "PermissionError"),
        *("not_a_file", "OSError"),
    }
)
