"""A tool host as a plain child process: a temporary directory, a process group, limits.

For suites whose code is trusted; it isolates nothing but files and lifetimes, and every trace
says `process`.
"""

import contextlib
import json
import os
import resource
import selectors
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
_STDERR_KEPT = 2000


class ProcessSandbox:
    """Implements `ports.sandbox.Sandbox`. `close` ends every host it started."""

    name = "process"
    image_id = None

    def __init__(self) -> None:
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
        self._dir = Path(tempfile.mkdtemp(prefix="hfr-host-"))
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
                preexec_fn=_limits(command),  # noqa: PLW1509 - only sets limits
            )
        except OSError as error:
            self._remove()
            raise HostDiedError(f"cannot start the tool host {command.argv[0]}: {error}") from error
        self._buffer = bytearray()
        self._number = 0

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        self._number += 1
        line = json.dumps({"id": self._number, "op": op, **fields}, ensure_ascii=False)
        self._send(line.encode() + b"\n", op)
        try:
            answer = json.loads(self._line(timeout_s, op))
        except ValueError as error:
            raise self._died(f"answered {op!r} with something that is not JSON") from error
        if answer.get("id") != self._number:
            raise self._died(f"answered {op!r} out of order")
        if not answer.get("ok"):
            said = answer.get("error") or {}
            raise HostRefusedError(str(said.get("type")), str(said.get("message")))
        return dict(answer)

    def close(self) -> None:
        if self._child.poll() is None:
            _kill_group(self._child.pid)
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # bytes that nobody will read
                    pipe.close()
        self._remove()

    def _send(self, line: bytes, op: str) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(line)
            self._child.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise self._died(f"is gone (at {op!r})") from error

    def _line(self, timeout_s: float, op: str) -> bytes:
        """The next whole line of stdout, within the time limit."""
        assert self._child.stdout is not None
        deadline = time.monotonic() + timeout_s
        fd = self._child.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while (end := self._buffer.find(b"\n")) < 0:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self.close()
                    raise HostTimeoutError(f"the tool host did not answer {op!r} in {timeout_s} s")
                chunk = os.read(fd, 1 << 20)
                if not chunk:
                    raise self._died(f"ended (at {op!r})")
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


def _kill_group(pid: int) -> None:
    """End the child and everything it started; it leads its own process group."""
    with contextlib.suppress(ProcessLookupError):  # it ended by itself in the meantime
        os.killpg(pid, signal.SIGKILL)


def _limits(command: HostCommand) -> Any:
    """A function for the child, before it becomes the host: no core files, memory, CPU time."""
    memory = command.memory_mib and command.memory_mib * 1024 * 1024
    cpu = command.cpu_s

    def apply() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if cpu:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))

    return apply
