"""A tool host as a plain child process: a temporary directory, a process group, limits.

For suites whose code is trusted; it isolates nothing but files and lifetimes, and every trace
says `process`.
"""

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hfr_bench.ports.sandbox import (
    HostCommand,
    HostDiedError,
    HostRefusedError,
    HostTimeoutError,
    ToolHost,
)

# What a host needs of our environment; nothing else (and so no key) is handed on.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "HOME", "SSL_CERT_FILE", "OPENBLAS_CORETYPE")
_PREFIX = "hfr-host-"
_STDERR_KEPT = 2000


class ProcessSandbox:
    """Child processes on this machine, for suites whose code is trusted; isolates nothing else.

    Implements `ports.sandbox.Sandbox`. `close` ends every host it started.
    """

    name = "process"
    image_id = None

    def __init__(self) -> None:
        _sweep()
        self._hosts: list[_ProcessHost] = []

    def start(self, command: HostCommand) -> ToolHost:
        host = _ProcessHost(command)
        self._hosts.append(host)
        return host

    def close(self) -> None:
        while self._hosts:
            self._hosts.pop().close()


class _ProcessHost:
    """One child and its stdio. Requests are answered in order, one at a time."""

    def __init__(self, command: HostCommand) -> None:
        self._dir = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._stderr = (self._dir / "stderr").open("w+b")
        env = {k: v for k in _ENVIRONMENT if (v := os.environ.get(k))}
        try:
            self._child = subprocess.Popen(
                list(command.argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                cwd=self._dir,
                env={**env, "TMPDIR": str(self._dir), **command.env},
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
        _limit(self._child.pid, command)
        self._buffer = bytearray()
        self._number = 0

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        self._number += 1
        line = json.dumps({"id": self._number, "op": op, **fields})
        try:
            self._send(line.encode() + b"\n", deadline)
            answer = json.loads(self._line(deadline))
        except TimeoutError as error:
            self.close()
            late = f"the tool host did not answer {op!r} in {timeout_s} s"
            raise HostTimeoutError(late) from error
        except EOFError as error:
            raise self._died(f"ended (at {op!r})") from error
        except (ValueError, RecursionError) as error:
            raise self._died(f"answered {op!r} with something that is not JSON") from error
        if not isinstance(answer, dict) or answer.get("id") != self._number:
            raise self._died(f"answered {op!r} out of order")
        if not answer.get("ok"):
            said = answer.get("error")
            said = said if isinstance(said, dict) else {"message": said}
            raise HostRefusedError(str(said.get("type")), str(said.get("message")))
        return answer

    def close(self) -> None:
        # The group first: until it is reaped the child keeps its number, so nobody else is hit.
        if self._child.returncode is None:
            _kill_group(self._child.pid)
            self._child.wait()
        self._stdin.close()
        self._stdout.close()
        self._remove()

    def _send(self, line: bytes, deadline: float) -> None:
        """Hand over a line, however slowly it is read. Raises TimeoutError, EOFError."""
        if self._stdin.closed:
            raise EOFError
        fd, left = self._stdin.fileno(), memoryview(line)
        while left:
            _wait(fd, select.POLLOUT, deadline)
            try:
                left = left[os.write(fd, left) :]
            except BrokenPipeError as error:
                raise EOFError from error

    def _line(self, deadline: float) -> bytes:
        """The next whole line of stdout. Raises TimeoutError, EOFError."""
        fd, searched = self._stdout.fileno(), 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            _wait(fd, select.POLLIN, deadline)
            chunk = os.read(fd, 1 << 20)
            if not chunk:
                raise EOFError
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _died(self, what: str) -> HostDiedError:
        """The error for a broken host, with the end of what it said; the host is ended."""
        said = ""
        if not self._stderr.closed:
            self._stderr.seek(0, os.SEEK_END)
            self._stderr.seek(max(0, self._stderr.tell() - _STDERR_KEPT))
            said = self._stderr.read().decode(errors="replace").strip()
        self.close()
        return HostDiedError(f"the tool host {what}" + (f"; it said:\n{said}" if said else ""))

    def _remove(self) -> None:
        self._stderr.close()
        shutil.rmtree(self._dir, ignore_errors=True)


def _wait(fd: int, what: int, deadline: float) -> None:
    """Until the pipe is ready. A host that never stops talking meets the deadline, too."""
    left_s = deadline - time.monotonic()
    poll = select.poll()
    poll.register(fd, what)
    if left_s <= 0 or not poll.poll(left_s * 1000):
        raise TimeoutError


def _sweep() -> None:
    """Remove what a killed harness left: folders named after a process that is no more."""
    if not Path("/proc/self").exists():
        return  # no way to tell the living from the dead here
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _kill_group(pid: int) -> None:
    """End the child and everything it started; it leads its own process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # only the dead are left
        os.killpg(pid, signal.SIGKILL)


def _limit(pid: int, command: HostCommand) -> None:
    """No core files; memory and CPU time as asked, where the system can limit another process.

    Set from outside: a Python function between fork and exec may deadlock in a threaded process.
    """
    if not hasattr(resource, "prlimit"):
        return
    limits = {resource.RLIMIT_CORE: 0}
    if command.memory_mib:
        limits[resource.RLIMIT_AS] = command.memory_mib * 1024 * 1024
    if command.cpu_s:
        limits[resource.RLIMIT_CPU] = command.cpu_s
    with contextlib.suppress(ProcessLookupError):  # it has ended already; the first request tells
        for what, bound in limits.items():
            resource.prlimit(pid, what, (bound, bound))
