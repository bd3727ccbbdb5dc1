"""A tool host as a plain child process: a temporary directory, a process group, limits.

For suites whose code is trusted; it isolates nothing but files and lifetimes, and every trace
says `process`.
"""

import contextlib
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hfr_bench.content import explain
from hfr_bench.errors import BadInputError
from hfr_bench.owner import is_gone
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.sandbox import (
    HostCommand,
    HostDiedError,
    SandboxContext,
    SandboxUnavailableError,
    ToolHost,
)
from hfr_bench.sandboxes._lines import LAST_WORDS, LineHost

# What a host needs of our environment; nothing else (and so no key) is handed on.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "HOME", "SSL_CERT_FILE", "OPENBLAS_CORETYPE")
_PREFIX = "hfr-host-"
_OWNER = "owner"  # the file in a host's folder that says who started it
_PROC = Path("/proc")
_PATIENCE_S = 30.0


class Settings(BaseModel):
    """What an experiment may set: limits of each host whose command has none; None = no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    memory_mib: int | None = Field(None, gt=0)
    cpu_s: int | None = Field(None, gt=0)


class ProcessSandbox:
    """Child processes on this machine, for suites whose code is trusted; isolates nothing else.

    Implements `ports.sandbox.Sandbox`; takes `Settings`. `close` ends every host it started.
    """

    name = "process"
    contained = False
    image_id = None

    def __init__(self, context: SandboxContext, **settings: Any) -> None:
        try:
            self._settings = Settings(**settings)
        except ValidationError as error:
            raise BadInputError(f"sandbox process: {explain(error)}") from error
        self._context = context
        self._lock = threading.RLock()  # around the list of hosts, and who may still join it
        self._closed = False
        self._hosts: list[LineHost] = []

    @staticmethod
    def diagnose() -> Diagnosis:
        """Processes can be started anywhere; without /proc the dead are not told apart."""
        found = "child processes of this machine; isolates nothing"
        if not (_PROC / "self").exists():
            found += "; without /proc, what a killed run has left must be ended by hand"
        return Diagnosis(True, found)

    def start(self, command: HostCommand) -> ToolHost:
        with self._lock:
            if self._closed:
                raise HostDiedError("no tool host is started any more: the sandbox is closed")
            host = LineHost(_Child(command, self._settings, self._context))
            self._hosts = [*(known for known in self._hosts if not known.closed), host]
        return host

    def reap(self) -> tuple[str, ...]:
        """End the hosts of this run whose owner is no more, and remove their folders."""
        gone = []
        for folder in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}{self._context.run}-*")):
            if _is_left(folder):
                _end_all_of(folder)
                shutil.rmtree(folder, ignore_errors=True)
                gone.append(folder.name)
        return tuple(gone)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            hosts, self._hosts = self._hosts, []
        for host in hosts:
            host.close()


class _Child:
    """One child and its stdio. Implements `_lines.Transport`."""

    def __init__(self, command: HostCommand, settings: Settings, context: SandboxContext) -> None:
        self._dir = _new_folder(context)
        self._stderr = (self._dir / "stderr").open("w+b")
        env = {k: v for k in _ENVIRONMENT if (v := os.environ.get(k))}
        try:
            self._child = subprocess.Popen(
                list(command.argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                cwd=self._dir,
                # TMPDIR comes last: it is also the mark by which `reap` knows what it started.
                env={**env, **command.env, "TMPDIR": str(self._dir)},
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._remove()
            raise HostDiedError(f"cannot start the tool host {command.argv[0]}: {error}") from error
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._stdin, self._stdout = self._child.stdin, self._child.stdout
        os.set_blocking(self._stdin.fileno(), False)
        # What left the group may hold the pipes open: a kill must wake who waits for them.
        self._waking, self._wake = os.pipe()
        self._ending = threading.RLock()  # around the child's end and that of these numbers
        _limit(self._child.pid, command, settings)

    def send(self, data: bytes, deadline: float) -> None:
        fd, left = self._stdin.fileno(), memoryview(data)
        while left:
            self._wait(fd, select.POLLOUT, deadline)
            try:
                left = left[os.write(fd, left) :]
            except BrokenPipeError as error:
                raise EOFError from error

    def receive(self, deadline: float) -> bytes:
        fd = self._stdout.fileno()
        self._wait(fd, select.POLLIN, deadline)
        chunk = os.read(fd, 1 << 20)
        if not chunk:
            raise EOFError
        return chunk

    def kill(self) -> None:
        with self._ending:
            # The group first: until it is reaped the child keeps its number, so nobody else is hit.
            if self._child.returncode is None:
                _kill_group(self._child.pid)
                self._child.wait()
            if not self._stdin.closed:
                os.write(self._wake, b"x")

    def cause(self) -> str:
        return ""  # what it said on stderr tells more than its exit code

    def last_words(self) -> str:
        if self._stderr.closed:
            return ""
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - LAST_WORDS))
        return self._stderr.read().decode(errors="replace").strip()

    def release(self) -> None:
        with self._ending:
            if not self._stdin.closed:
                self._stdin.close()
                self._stdout.close()
                os.close(self._waking)
                os.close(self._wake)
                self._remove()

    def _wait(self, fd: int, what: int, deadline: float) -> None:
        """Until the pipe is ready. A host that never stops talking meets the deadline, too."""
        left_s = deadline - time.monotonic()
        poll = select.poll()
        poll.register(fd, what)
        poll.register(self._waking, select.POLLIN)
        ready = dict(poll.poll(left_s * 1000)) if left_s > 0 else {}
        if not ready:
            raise TimeoutError
        if self._waking in ready:
            raise EOFError

    def _remove(self) -> None:
        self._stderr.close()
        shutil.rmtree(self._dir, ignore_errors=True)


def _new_folder(context: SandboxContext) -> Path:
    """A folder of a new host, signed by its owner. Raises SandboxUnavailableError."""
    try:
        made = tempfile.mkdtemp(prefix=f"{_PREFIX}{context.run}-{os.getpid()}-")
        folder = Path(made).resolve()
        (folder / _OWNER).write_text(context.owner, encoding="utf-8")
    except OSError as error:
        raise SandboxUnavailableError(
            f"no room for a tool host in {tempfile.gettempdir()}: {error}; make room, or set TMPDIR"
        ) from error
    return folder


def _is_left(folder: Path) -> bool:
    """Whether the harness that made it is no more. Where the system cannot tell: no."""
    try:
        owner = (folder / _OWNER).read_text(encoding="utf-8")
    except OSError:
        owner = ""
    if owner:
        return is_gone(owner)
    # It was killed between making the folder and signing it; the name holds its number.
    number = folder.name.removeprefix(_PREFIX).split("-")[1]
    return (_PROC / "self").exists() and not (_PROC / number).exists()


def _end_all_of(folder: Path) -> None:
    """SIGKILL whatever was started with this folder as its TMPDIR, until nothing is left of it.

    The folder's name was never given out before, so no stranger can bear the mark, however often
    numbers are used again; and what outlived its parent or left its group is found, too.
    """
    deadline = time.monotonic() + _PATIENCE_S
    mark = b"\0TMPDIR=" + os.fsencode(folder.resolve()) + b"\0"
    while (marked := list(_marked(mark))) and time.monotonic() < deadline:
        for pid in marked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _marked(mark: bytes) -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended, or is somebody else's
                if mark in b"\0" + (entry / "environ").read_bytes():
                    yield int(entry.name)


def _kill_group(pid: int) -> None:
    """End the child and everything it started; it leads its own process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # only the dead are left
        os.killpg(pid, signal.SIGKILL)


def _limit(pid: int, command: HostCommand, settings: Settings) -> None:
    """No core files; memory and CPU time as asked, where the system can limit another process.

    Set from outside: a Python function between fork and exec may deadlock in a threaded process.
    """
    if not hasattr(resource, "prlimit"):
        return
    limits = {resource.RLIMIT_CORE: 0}
    if memory_mib := command.memory_mib or settings.memory_mib:
        limits[resource.RLIMIT_AS] = memory_mib * 1024 * 1024
    if cpu_s := command.cpu_s or settings.cpu_s:
        limits[resource.RLIMIT_CPU] = cpu_s
    with contextlib.suppress(ProcessLookupError):  # it has ended already; the first request tells
        for what, bound in limits.items():
            resource.prlimit(pid, what, (bound, bound))
