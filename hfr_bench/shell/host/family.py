"""The processes that commands start: begun, listened to, told apart and ended.

None can leave. The host is a *subreaper*: whoever loses its parent becomes the host's child,
whatever its session, group or environment. So all that was ever started hangs below the host.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import time
import warnings  # noqa: F401 - `execvpe` imports it: better before the fork than after
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from .records import Capture, HostError

if TYPE_CHECKING:
    from collections.abc import Callable

KILL_S = 10.0  # for ending a family, however large; the client waits longer
NOT_STARTED, NOT_FOUND = 126, 127  # exit codes, as a shell's
PDEATHSIG, SUBREAPER, NO_NEW_PRIVS = 1, 36, 38  # prctl(2)
CHUNK = 1 << 20  # more than a pipe holds
_LIBC = ctypes.CDLL(None, use_errno=True)


class Task(NamedTuple):
    """What to run. `user`: (uid, gid), None = the host's; `env`: the whole environment."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    stdin: bytes
    user: tuple[int, int] | None


class Process(NamedTuple):
    """A line of /proc. `born`: in clock ticks; tells a pid from its next bearer."""

    parent: int
    born: int
    alive: bool


class Family:
    """All processes below the host and the pipes to them. One thread, one poll, one run a time."""

    def __init__(self) -> None:
        prctl(SUBREAPER, 1)
        self.run = 0  # the number of the run under way, or of the last one
        self.status: int | None = None  # of that run's first process, once it has ended
        self._main = 0
        self._childless = True
        self._owners: dict[int, tuple[int, int]] = {}  # pid -> (born, run)
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], None]] = {}
        woken, wakes = os.pipe()  # the end of a child ends a poll
        os.set_blocking(woken, False)
        os.set_blocking(wakes, False)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        self.watch(woken, partial(self._drain, woken, None))

    def watch(self, fd: int, handler: Callable[[], None], events: int = select.POLLIN) -> None:
        """Call the handler whenever the descriptor is ready or at its end."""
        self._handlers[fd] = handler
        self._poll.register(fd, events)

    def drop(self, fd: int) -> None:
        """Watch and keep the descriptor no more; idempotent."""
        if self._handlers.pop(fd, None):
            self._poll.unregister(fd)
            os.close(fd)

    def turn(self, wait_s: float | None) -> None:
        """Wait until something happens (None: for ever), and handle it."""
        for fd, _event in self._poll.poll(None if wait_s is None else max(0.0, wait_s) * 1000):
            if fd in self._handlers:
                self._handlers[fd]()
        self._reap()

    def start(self, task: Task, out: Capture, err: Capture) -> Callable[[], None]:
        """Start a run; returns what to call after its end. Raises OSError: no process to be had."""
        self._reap()
        self.members()  # whoever is here now belongs to an earlier run
        self.run, self.status = self.run + 1, None
        given, gives = os.pipe() if task.stdin else (os.open(os.devnull, os.O_RDONLY), -1)
        (says, said), (moans, moaned) = os.pipe()[::-1], os.pipe()[::-1]
        try:
            self._main = os.fork()
            if not self._main:
                _become(task, (given, says, moans))
        except OSError:
            for fd in (said, moaned, *((gives,) if task.stdin else ())):
                os.close(fd)
            raise
        finally:
            for fd in (given, says, moans):
                os.close(fd)
        if task.stdin:
            os.set_blocking(gives, False)
            left = [memoryview(task.stdin)]
            self.watch(gives, partial(self._feed, gives, left), select.POLLOUT)
        for fd, capture in ((said, out), (moaned, err)):
            os.set_blocking(fd, False)
            self.watch(fd, partial(self._drain, fd, capture))
        return partial(self._finish, gives, ((said, out), (moaned, err)))

    def members(self) -> dict[int, int]:
        """The living: pid -> the run it belongs to.

        Whoever is new and has lost its parent is taken for the run under way, even if a process
        left by an earlier run has just started it: nothing tells the two apart.
        """
        me = os.getpid()
        table = {} if self._childless else below(me)
        run_of: dict[int, int] = {}
        for pid in table:
            at, line, run = pid, [], None
            while run is None and at in table:
                if at == me:
                    run = self.run
                    break
                line.append(at)
                born, owner = self._owners.get(at, (-1, 0))
                run = run_of.get(at, owner if born == table[at].born else None)
                at = table[at].parent
            if run is not None:
                run_of.update(dict.fromkeys(line, run))
        living = {pid: run for pid, run in run_of.items() if table[pid].alive}
        self._owners = {pid: (table[pid].born, run) for pid, run in living.items()}
        return living

    def kill(self, run: int | None) -> None:
        """End every process of a run (None: of all). Raises HostError if some will not end.

        First all are stopped, so that none can fork away; then all are killed. It is over when
        twice in a row none was there and none had died in between (it may have forked before).
        """
        deadline, quiet = time.monotonic() + KILL_S, 0
        stopped: set[int] = set()
        while True:
            died = self._reap()
            live = {pid for pid, owner in self.members().items() if run in (None, owner)}
            quiet = 0 if died or live else quiet + 1
            if self._childless or quiet == 2:
                return
            if time.monotonic() > deadline:
                raise HostError("kill_failed", f"still there after {KILL_S:g} s: {sorted(live)}")
            fresh = live - stopped
            for pid in fresh or live:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP if fresh else signal.SIGKILL)
            stopped |= fresh
            if not (fresh or died):
                time.sleep(0.001)

    def _reap(self) -> int:
        """Bury the dead; how many. Notes whether any child is left, dead or alive."""
        died, self._childless = 0, True
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    self._childless = False
                    break
                died += 1
                if pid == self._main:
                    self._main, self.status = 0, status
        return died

    def _drain(self, fd: int, capture: Capture | None) -> None:
        """Take what is there; without a capture it is thrown away, so that nobody blocks on us."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        if not data:
            self.drop(fd)
        elif capture:
            capture.add(data)

    def _feed(self, fd: int, left: list[memoryview]) -> None:
        try:
            left[0] = left[0][os.write(fd, left[0]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not care for more
            left[0] = left[0][:0]
        if not left[0]:
            self.drop(fd)

    def _finish(self, gives: int, outputs: tuple[tuple[int, Capture], ...]) -> None:
        """Take the last of the output; a process that lives on may go on writing, unheard."""
        self.drop(gives)
        for fd, capture in outputs:
            for _ in range(2):  # all that is there, then perhaps the end
                if fd in self._handlers:
                    self._drain(fd, capture)
            if fd in self._handlers:
                self._handlers[fd] = partial(self._drain, fd, None)


def processes() -> dict[int, Process]:
    """Everyone in /proc, by pid."""
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    table = {}
    for pid in numbers:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            table[pid] = _process(pid)
    return table


def below(root: int) -> dict[int, Process]:
    """A process and all its descendants, by pid.

    Quickly, however many others there are: the longer a look takes, the more can fork away.
    """
    if not os.access(f"/proc/{root}/task/{root}/children", os.R_OK):
        return processes()  # a kernel without: everyone will do, it only takes longer
    table, waiting = {}, [root]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            table[pid] = _process(pid)
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
                waiting += [int(child) for child in _read(f"{pid}/task/{thread}/children").split()]
    return table


def _process(pid: int) -> Process:
    fields = _read(f"{pid}/stat").rpartition(b")")[2].split()  # the name before may hold anything
    alive = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1  # the first of several threads
    return Process(int(fields[1]), int(fields[19]), alive)


def _read(name: str) -> bytes:
    fd = os.open(f"/proc/{name}", os.O_RDONLY)
    try:
        return os.read(fd, CHUNK)
    finally:
        os.close(fd)


def prctl(option: int, value: int) -> None:
    """Raises OSError."""
    if _LIBC.prctl(option, value, 0, 0, 0):
        error = ctypes.get_errno()
        raise OSError(error, f"prctl({option}): {os.strerror(error)}")


def _become(task: Task, fds: tuple[int, int, int]) -> None:
    """Turn the fresh child into the command; whatever hinders that is said on its stderr."""
    code, what = NOT_STARTED, "start"
    try:
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
        os.setsid()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores these two
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        os.umask(0o022)
        if task.user:
            with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
                file.write("1000")  # where memory ends, commands end before the host
            os.setgroups([])
            os.setgid(task.user[1])
            os.setuid(task.user[0])
        prctl(NO_NEW_PRIVS, 1)
        prctl(PDEATHSIG, signal.SIGKILL)
        what = f"enter {task.cwd}"
        os.chdir(task.cwd)
        what, code = f"run {task.argv[0]}", NOT_FOUND
        os.execvpe(task.argv[0], task.argv, task.env)  # noqa: S606
    except BaseException as error:  # noqa: BLE001 - the child must not return
        missing = isinstance(error, FileNotFoundError)
        why = error.strerror if isinstance(error, OSError) else error
        os.write(2, f"shell host: cannot {what}: {why}\n".encode(errors="replace"))
        os._exit(code if missing else NOT_STARTED)
