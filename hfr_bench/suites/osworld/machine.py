"""A machine of the user's own with OSWorld's server in it: reached over HTTP, one trial at a time.

We cannot start it anew, so the user says by which command that is done (`reset`): a snapshot's
revert, a container's restart. Where nothing does it, one trial is run on it and the run ends: the
next one would begin with what this one has left.
"""

import fcntl
import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from hfr_bench.errors import BadInputError
from hfr_bench.model.record import text_digest
from hfr_bench.ports.sandbox import SandboxUnavailableError
from hfr_bench.suites.osworld.client import GuestError, OverHttp
from hfr_bench.suites.osworld.desktop import Desktop
from hfr_bench.suites.osworld.episode import DeskWorld
from hfr_bench.suites.osworld.exposed import GuestWorld
from hfr_bench.suites.osworld.guest_desk import GuestDesk
from hfr_bench.suites.osworld.halves import DeskTask
from hfr_bench.suites.osworld.image import Profile
from hfr_bench.suites.osworld.judging import Judging
from hfr_bench.suites.osworld.observe import Observer

URL, RESET = "HFR_BENCH_OSWORLD_URL", "HFR_BENCH_OSWORLD_RESET"
"""Name the machine and its reset to the suite osworld, where its settings do not."""
RESET_S, READY_S = 600.0, 300.0
_WORDS = 400


class Machine:
    """One machine at http://HOST:PORT. `reset`: a command line that puts it into its first state.

    The command is run here, without a shell, and has ended when the machine is another one; its
    server may take `ready_s` longer to answer. Raises BadInputError for what is no address or no
    command line.
    """

    def __init__(self, url: str, reset: str = "", *, ready_s: float = READY_S) -> None:
        OverHttp(url)
        try:
            self._reset = tuple(shlex.split(reset))
        except ValueError as error:
            raise BadInputError(f"reset: {reset!r} is no command line: {error}") from error
        self.url = url
        self._ready_s = ready_s
        self._used = False
        self._mutex = threading.Lock()
        self._held: TextIO | None = None
        self._holders, self._thread = 0, 0

    @property
    def told(self) -> str:
        """What it is, for a report."""
        return "a machine of the user's own" + ("" if self._reset else ", which nothing resets")

    def check(self) -> None:
        """Whether it answers; one that its reset may have to start is not asked.

        Raises SandboxUnavailableError.
        """
        if not self._reset:
            self._reached(0.0)

    def start(self) -> Desktop:
        """The machine in its first state, for the next trial.

        Raises SandboxUnavailableError, which ends the run, and keeps what was finished: it is not
        reached, could not be reset, or was used and nothing resets it.
        """
        if self._reset:
            self._put_back()
        elif self._used:
            raise SandboxUnavailableError(
                f"{self.url}: a trial has used it, and nothing resets it. Put it back into its "
                "first state by hand, and run again for the next trial; or name a command that "
                "does it, as the suite's setting `reset`"
            )
        self._used = True
        return self._reached(self._ready_s if self._reset else 0.0)

    def hold(self) -> None:
        """Keep it for this thread until as many `release`s.

        Raises SandboxUnavailableError: another thread, or another process here, has it.
        """
        with self._mutex:
            if self._holders and self._thread != threading.get_ident():
                raise self._taken("another worker of this run")
            if not self._holders:
                self._held = self._locked()
            self._thread = threading.get_ident()
            self._holders += 1

    def release(self) -> None:
        """Give it free again; the lock ends with the process in any case."""
        with self._mutex:
            self._holders = max(0, self._holders - 1)
            if not self._holders and self._held is not None:
                self._held.close()
                self._held = None

    def _locked(self) -> TextIO:
        name = f"hfr-machine-{os.getuid()}-{text_digest(self.url)[:16]}.lock"
        file = (Path(tempfile.gettempdir()) / name).open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise self._taken("another run") from error
        return file

    def _taken(self, by: str) -> SandboxUnavailableError:
        return SandboxUnavailableError(
            f"{self.url}: {by} is at work on it, and there is one machine only: run one trial at "
            "a time (-n 1)"
        )

    def _reached(self, ready_s: float) -> Desktop:
        try:
            return Desktop.at(self.url, ready_s=ready_s)
        except GuestError as error:
            message = f"{self.url}: OSWorld's server is not there: {error}"
            raise SandboxUnavailableError(message) from error

    def _put_back(self) -> None:
        # Into a file: what such a command leaves running may keep a pipe open for ever.
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            try:
                code = subprocess.run(
                    self._reset,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    timeout=RESET_S,
                    check=False,
                ).returncode
            except (OSError, subprocess.TimeoutExpired) as error:
                raise SandboxUnavailableError(f"{self.url}: reset failed: {error}") from error
            said.seek(0)
            words = said.read()[-_WORDS:].strip()
        if code != 0:
            raise SandboxUnavailableError(
                f"{self.url}: the reset {shlex.join(self._reset)!r} ended by {code}: {words}"
            )


class MachineWorld(DeskWorld):
    """An episode on a machine of the user's own, which is held from here to `close`.

    Nobody breaks it: it is in nobody's container. Raises SandboxUnavailableError.
    """

    def __init__(self, machine: Machine, has_screen: bool, *parts: Any) -> None:
        super().__init__(GuestDesk(machine.start, has_screen=has_screen), *parts)
        self._machine = machine
        machine.hold()

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._machine.release()


def machine_of(url: str, reset: str) -> Machine | None:
    """The machine that is named, if one is. Raises BadInputError."""
    if reset and not url:
        raise BadInputError("`reset` puts back a machine of your own: name it by `url`, too")
    return Machine(url, reset) if url else None


def guest_world(
    where: Machine | Callable[[], Desktop],
    profile: Profile,
    tasks: Callable[[str], DeskTask],
    judging: Judging,
    timeout_s: float,
    observer: Observer,
) -> DeskWorld:
    """An episode on a guest of ours, which `where` starts anew for each task, or on a machine."""
    has_screen = profile is Profile.GUI
    parts = (tasks, judging.begin, judging.judge, timeout_s, observer)
    if isinstance(where, Machine):
        return MachineWorld(where, has_screen, *parts)
    return GuestWorld(GuestDesk(where, has_screen=has_screen), *parts, profile=profile)
