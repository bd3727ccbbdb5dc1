"""Commands that the guest is told to run: their words, their environment, their end."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .wire import ApiError

HOME = "/home/user"
"""Where OSWorld's tasks say that the user's home is."""
TIMEOUT_S = 120.0
"""Of one command, as OSWorld's."""
_EVERY_S = 0.01
_END_S = 5.0


class Ran(NamedTuple):
    """How a command ended; `returncode` is -n after signal n."""

    output: str
    error: str
    returncode: int


class Runner:
    """Starts commands in the user's home, as the user.

    `environment`: of every command, besides what the guest itself has.
    """

    def __init__(self, home: Path, state: Path, environment: Mapping[str, str]) -> None:
        self.home = home
        self._state = state
        self.aliased = str(home) != HOME
        self.environment = {**os.environ, **environment, "HOME": str(home)}
        if not shutil.which("python", path=self.environment.get("PATH")):
            # OSWorld's actions are `python -c`; a system may have it as python3 only.
            (state / "bin").mkdir(parents=True, exist_ok=True)
            if not (state / "bin" / "python").is_symlink():
                (state / "bin" / "python").symlink_to(sys.executable)
            path = self.environment.get("PATH", os.defpath)
            self.environment["PATH"] = os.pathsep.join((path, str(state / "bin")))

    def run(
        self,
        command: str | list[str],
        *,
        shell: bool,
        operation: str = "",
        timeout_s: float = TIMEOUT_S,
        cwd: str = "",
        joined: bool = False,
    ) -> Ran:
        """Run a command to its end, and to that of all who hold its output.

        `joined`: errors go into the output. Raises OSError, subprocess.TimeoutExpired (all that it
        had started is ended then).
        """
        argv = self._argv(command, shell, operation)
        child = subprocess.Popen(
            argv,
            cwd=cwd or self.home,
            env=self.environment | self.clock(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if joined else subprocess.PIPE,
        )
        try:
            output, error = child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            end_family(child.pid)
            child.communicate()
            raise
        return Ran(_text(output), _text(error or b""), child.returncode)

    def clock(self) -> dict[str, str]:
        """By what a command is told another time, where a fault says so: a library in its way.

        Programs that stay are not told: some of them do not bear the library.
        """
        try:
            offset_s = (self._state / "clock").read_text(encoding="ascii").strip()
        except OSError:
            return {}
        found = next(iter(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)
        if found is None or not offset_s:
            return {}
        still = {"DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        return {"LD_PRELOAD": str(found), "FAKETIME": offset_s, **still}

    def launch(self, command: str | list[str], *, shell: bool) -> subprocess.Popen[bytes]:
        """Start a program that stays. It is in the guest's own group, and ends with the guest."""
        return subprocess.Popen(
            self._argv(command, shell, ""),
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def expand(self, path: str) -> Path:
        """A path as a user writes it: `~` is home, where relative ones begin."""
        if path == "~" or path.startswith("~/"):
            return self.home / path[2:]
        if self.aliased and (path == HOME or path.startswith(f"{HOME}/")):
            return self.home / path.removeprefix(HOME).lstrip("/")
        return self.home / os.path.expandvars(path)

    def words(self, data: Mapping[str, Any]) -> tuple[str | list[str], bool]:
        """`command` and `shell` of a request's body. Raises ApiError."""
        shell = bool(data.get("shell", False))
        command = data.get("command", "" if shell else [])
        if isinstance(command, str) and not shell:
            try:
                command = shlex.split(command)
            except ValueError as error:
                raise ApiError(500, {"status": "error", "message": str(error)}) from None
        good = isinstance(command, str) or (
            isinstance(command, list) and command and all(isinstance(one, str) for one in command)
        )
        if not good:
            raise ApiError(
                500, {"status": "error", "message": "`command` must be a text or a list of texts"}
            )
        if isinstance(command, list):
            home = f"{self.home}/"
            command = [home + one[2:] if one.startswith("~/") else one for one in command]
        return command, shell

    def _argv(self, command: str | list[str], shell: bool, operation: str) -> list[str]:
        """With an operation, a shell that stays to the end and has its mark in its command line.

        That is what a fault finds it by (`ports.exposure.mark` says the same words). A shell with
        no trap becomes its last command, and nobody would know it again.
        """
        stays = f"trap : EXIT # hfr-call={operation};\n" if operation else ""
        if isinstance(command, str):
            return ["/bin/sh", "-c", stays + command]
        if shell:
            return ["/bin/sh", "-c", stays + command[0], *command[1:]]
        program = shutil.which(command[0], path=self.environment["PATH"])
        if stays and program:
            return ["/bin/sh", "-c", f'{stays}"$@"', "sh", program, *command[1:]]
        return [program or command[0], *command[1:]]


def end_family(pid: int) -> None:
    """SIGKILL a child of ours and all below it; the child is left to be waited for."""
    found = [pid, *_below(pid)]
    while found:
        _kill(found)
        time.sleep(_EVERY_S)
        found = _below(pid)


def end_all() -> None:
    """SIGKILL all that is below us and, where we lead our process group, all that is in it."""
    me = os.getpid()
    deadline = time.monotonic() + _END_S
    while (found := _below(me) + _group(me)) and time.monotonic() < deadline:
        _kill(found)
        time.sleep(_EVERY_S)


def _kill(pids: list[int]) -> None:
    for pid in reversed(pids):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _below(pid: int) -> list[int]:
    """The living whose parent, or whose parent's parent and so on, is that process."""
    children: dict[int, list[int]] = {}
    for one, parent, _ in _living():
        children.setdefault(parent, []).append(one)
    found, left = [], [pid]
    while left:
        new = children.get(left.pop(), [])
        left += new
        found += new
    return found


def _group(leader: int) -> list[int]:
    return [one for one, _, group in _living() if group == leader != one]


def _living() -> list[tuple[int, int, int]]:
    """Number, parent and process group of each process that has not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                told = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if told[0] != "Z":
                    found.append((int(entry.name), int(told[1]), int(told[2])))
    return found


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
