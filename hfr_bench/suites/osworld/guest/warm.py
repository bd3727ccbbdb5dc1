"""One warm interpreter for OSWorld's actions, each of which is a `python -c` with pyautogui in it.

Importing that takes up to a second and a half; here it is imported once, and each action runs in a
fork of its own: with a namespace, a connection to the screen and an end of its own. So an action
leaves nothing behind in the next one's interpreter, and one that hangs is ended alone.

    server ── a socket a run: code, the two ends of its output ──→ warm.py ─ fork ─ fork ─ code
           ←── its number, then how it ended ──────────────────────────────────┘
"""

import contextlib
import ctypes
import importlib
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
import types
from pathlib import Path
from typing import Any

if not __package__:
    # Started by path: become the package `guest`, so that relative imports work (PEP 366).
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as in other hosts
    sys.path[0] = os.path.dirname(here)  # noqa: PTH120
    __import__("guest")
    __package__ = "guest"

from .commands import Ran, Runner, end_family

_SIZE = struct.Struct(">II")  # of the operation's id and of the code
_ROOM = 200  # for an operation's mark, in the command line of the warm interpreter
_PRELOADED = ("pyautogui", "PIL.ImageGrab", "json", "time")


class Warm:
    """The server's end. Any thread may run something."""

    def __init__(self, runner: Runner, state: Path) -> None:
        self._path = str(state / "warm")
        self._runner = runner
        self._starting = threading.Lock()
        self._start()

    def _start(self) -> None:
        Path(self._path).unlink(missing_ok=True)
        child = subprocess.Popen(
            [sys.executable, "-B", __file__, self._path, "-" * _ROOM],
            cwd=self._runner.home,
            env=self._runner.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        with child.stdout as said:
            if said.readline() != b"ready\n":
                raise RuntimeError("the warm interpreter does not start")

    def _connect(self, talk: socket.socket) -> None:
        """To the warm interpreter, or to another one if somebody has killed it."""
        with self._starting:
            try:
                talk.connect(self._path)
            except OSError:
                self._start()
                talk.connect(self._path)

    def run(self, code: str, operation: str, timeout_s: float) -> Ran:
        """Run some code as `python -c` would.

        Raises OSError, subprocess.TimeoutExpired (it and all that it had started is ended then).
        """
        deadline = time.monotonic() + timeout_s
        pipes = (os.pipe(), os.pipe())
        with socket.socket(socket.AF_UNIX) as talk:
            try:
                self._connect(talk)
                told, source = operation.encode(), code.encode("utf-8", "surrogateescape")
                head = _SIZE.pack(len(told), len(source))
                socket.send_fds(talk, [head], [pipe[1] for pipe in pipes])
                talk.sendall(told + source)
            finally:
                for pipe in pipes:
                    os.close(pipe[1])
            answers = talk.makefile("rb")
            try:
                pid = int(answers.readline())
                output, error = _read((pipes[0][0], pipes[1][0]), deadline)
                talk.settimeout(max(0.01, deadline - time.monotonic()))
                return Ran(output, error, int(answers.readline()))
            except TimeoutError:
                end_family(pid)
                raise subprocess.TimeoutExpired(["python", "-c", code], timeout_s) from None
            finally:
                answers.close()
                for pipe in pipes:
                    os.close(pipe[0])


def _read(fds: tuple[int, int], deadline: float) -> tuple[str, str]:
    """Both to their ends. Raises TimeoutError."""
    found: dict[int, bytearray] = {fd: bytearray() for fd in fds}
    with selectors.DefaultSelector() as ready:
        for fd in fds:
            ready.register(fd, selectors.EVENT_READ)
        while ready.get_map():
            left_s = deadline - time.monotonic()
            events = ready.select(left_s) if left_s > 0 else []
            if not events:
                raise TimeoutError
            for key, _ in events:
                data = os.read(key.fd, 1 << 16)
                found[key.fd] += data
                if not data:
                    ready.unregister(key.fd)
    output, error = (bytes(found[fd]).decode("utf-8", "replace") for fd in fds)
    return output, error


# -- the warm interpreter's own end -----------------------------------------------------------


def main(path: str) -> None:
    """Import what takes long, then fork for whoever asks, until killed."""
    for name in _PRELOADED:
        importlib.import_module(name)
    importlib.import_module("gi").require_version("Atspi", "2.0")
    importlib.import_module("gi.repository.Atspi")  # its typelib alone: it is not initialised here
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those between
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # who was told has closed his end
    os.close(null)
    while True:
        talk, _ = listening.accept()
        if not os.fork():
            listening.close()
            _between(talk)
        talk.close()


def _between(talk: socket.socket) -> None:
    """Fork once more, and tell how that one ends. Does not return."""
    head, fds, _, _ = socket.recv_fds(talk, _SIZE.size, 2)
    told, source = _SIZE.unpack(head)
    with talk.makefile("rb") as asked:
        operation, code = asked.read(told).decode(), asked.read(source)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if not (pid := os.fork()):
        for fd, own in zip(fds, (1, 2), strict=True):
            os.dup2(fd, own)
            os.close(fd)
        talk.close()
        _become(operation, code)
    for fd in fds:
        os.close(fd)
    with contextlib.suppress(OSError):
        talk.sendall(f"{pid}\n".encode())
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        talk.sendall(f"{ended}\n".encode())
    os._exit(0)


def _become(operation: str, code: bytes) -> None:
    """Run the code as the main module of a new interpreter would be. Does not return."""
    if operation:
        _rename(f"python hfr-call={operation};")
    sys.argv[:] = ["-c"]
    main_module = types.ModuleType("__main__")
    sys.modules["__main__"] = main_module
    ended: Any = 0
    try:
        _connect()
        exec(compile(code, "<string>", "exec"), main_module.__dict__)  # noqa: S102 - its purpose
    except SystemExit as error:
        ended = error.code
        if isinstance(ended, str):
            sys.stderr.write(f"{ended}\n")
    except BaseException:  # noqa: BLE001 - as an interpreter ends by whatever is raised
        kind, value, trace = sys.exc_info()
        traceback.print_exception(kind, value, trace and trace.tb_next)
        ended = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(ended if isinstance(ended, int) else int(ended is not None))


def _connect() -> None:
    """A connection to the screen that is not shared with other forks."""
    x11 = sys.modules.get("pyautogui._pyautogui_x11")
    if x11 is not None:
        display = importlib.import_module("Xlib.display")
        vars(x11)["_display"] = display.Display(os.environ["DISPLAY"])


def _rename(title: str) -> None:
    """Write over our own command line, which is where a fault looks for its target."""
    told = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    start, end = int(told[45]), int(told[46])  # fields 48 and 49: arg_start, arg_end
    data = title.encode()[: end - start - 1]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, data, len(data))


if __name__ == "__main__":
    main(sys.argv[1])
