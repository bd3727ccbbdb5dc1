"""The client of the shell host: typed methods over a tool host's one request, one answer."""

import base64
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast

from hfr_bench.errors import InfrastructureError
from hfr_bench.ports.sandbox import HostCommand, HostDiedError, ImageSpec, ToolHost

# The host ends a command and all that it started at the command's own timeout, for which it takes
# up to 10 s more. Our patience is longer still, so that the timeout inside is always the one.
GRACE_S = 15.0
PATIENCE_S = 60.0

_MODULES = ("records", "scratch", "family", "main")  # each needs only those before it
_PROGRAM = "HFR_SHELL_PROGRAM"
_START = f"import os; exec(os.environ[{_PROGRAM!r}])"
_BOOT = """\
import sys, types
for name, source in {sources!r}:
    module = sys.modules[name] = types.ModuleType(name)
    module.__package__ = "hfr_shell"
    exec(compile(source, name, "exec"), module.__dict__)
sys.exit(module.main())
"""
_SCRATCH = "/sandbox:/tmp:/dev/shm:/dev/mqueue"  # all that is writable in a container
_MARKERS = "/run/hfr-shell"
_PERSISTS = ("/sandbox", _MARKERS)


@dataclass(frozen=True, slots=True)
class Executed:
    """How a command ended.

    `exit_code`: as a shell tells it (128 + n: signal n; 126, 127: it could not be started), None
    if it was ended at its timeout (`timed_out`). `stdout`, `stderr`: UTF-8, the two ends of each
    with the gap told where `cut_bytes` were left out, U+FFFD for what is no UTF-8 (`lossy`).
    `left`: processes of the run that live on. `runs`: how often the operation has been started;
    `repeated`: this time it was not, and the result is that of the last run.
    """

    exit_code: int | None
    timed_out: bool
    stdout: str
    stderr: str
    cut_bytes: int
    lossy: bool
    left: int
    wall_us: int
    runs: int
    repeated: bool


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the sandbox has written down about an operation, whether its answer arrived or not.

    `state` of its last run: `started` = its end is not known. `executed`: if it is `done`.
    """

    state: Literal["absent", "started", "done"]
    runs: int
    executed: Executed | None


@dataclass(frozen=True, slots=True)
class Left:
    """A process that a command has left. `operation_id` is None if that is forgotten."""

    pid: int
    operation_id: str | None
    command: str


class Shell:
    """Runs commands through a shell host, which it owns.

    Every method may raise HostRefusedError (the host said no and lives), HostTimeoutError or
    HostDiedError. Of the refusals, `kill_failed`, `reset_failed` and `marker` (no room for it) say
    that the host is not to be used further.
    """

    def __init__(self, host: ToolHost) -> None:
        self._host = host

    def hello(self) -> dict[str, Any]:
        """What the host is: protocol, python, separate, uid, gid, shell, scratch."""
        return self._host.request("hello", {}, PATIENCE_S)

    def exec(
        self,
        operation_id: str,
        command: str | Sequence[str],
        *,
        timeout_s: float,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        max_output_kib: int = 32,
        idempotent: bool = False,
        kill_left: bool = False,
    ) -> Executed:
        """Run a script (a string, by bash if there is one) or a program (its arguments).

        The same `operation_id` again runs it again, unless `idempotent`: then the answer is that
        of the last run, and HostRefusedError tells of an unknown end (`in_doubt`) or another
        command (`key_reused`). `kill_left` ends what lives on after the command.
        """
        what: dict[str, Any] = (
            {"script": command} if isinstance(command, str) else {"argv": list(command)}
        )
        options = {
            "operation_id": operation_id,
            "timeout_s": timeout_s,
            "cwd": cwd,
            "env": dict(env or {}),
            "stdin": stdin,
            "max_output_kib": max_output_kib,
            "idempotent": idempotent,
            "kill_left": kill_left,
        }
        return _executed(self._host.request("exec", what | options, timeout_s + GRACE_S))

    def recall(self, operation_id: str) -> Recalled:
        """What is known of an operation; it is not run."""
        answer = self._ask("recall", operation_id=operation_id)
        executed = _executed({**answer, "repeated": True}) if answer["state"] == "done" else None
        return Recalled(answer["state"], answer["runs"], executed)

    def processes(self) -> tuple[Left, ...]:
        """What commands have left and lives on."""
        return tuple(Left(**process) for process in self._ask("processes")["processes"])

    def kill(self) -> None:
        """End all that commands have left."""
        self._ask("kill")

    def read(self, path: str, max_kib: int = 1024) -> bytes:
        """The beginning of a file, with a command's rights."""
        answer = self._ask("read", path=path, max_kib=max_kib)
        return base64.b64decode(answer["content_b64"])

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file, and the folders above it, with a command's rights."""
        self._ask("write", path=path, content_b64=base64.b64encode(content).decode(), mode=mode)

    def snapshot(self, *paths: str) -> str:
        """A digest of everything at and below the paths: name, mode, bytes."""
        return cast("str", self._ask("snapshot", paths=paths)["state"])

    def tree(self, *paths: str, leave_out: Sequence[str] = ()) -> dict[str, str]:
        """Each file at and below the paths (below where commands start): path -> mode and digest.

        `leave_out`: names of files and folders that do not count.
        """
        answer = self._ask("tree", paths=paths, leave_out=list(leave_out))
        return cast("dict[str, str]", answer["files"])

    def reset(self) -> str:
        """End all processes, empty the scratch folders, forget all operations; their digest.

        Raises HostRefusedError (`reset_failed`) naming what is left: the host is not to be reused.
        """
        return cast("str", self._ask("reset")["state"])

    def close(self) -> None:
        """End the host and all that its commands have left; idempotent."""
        with suppress(InfrastructureError):
            self._host.request("kill", {}, GRACE_S)
        self._host.close()

    def _ask(self, op: str, **request: Any) -> dict[str, Any]:
        return self._host.request(op, request, PATIENCE_S)


def command(
    image: ImageSpec | None,
    *,
    user: str = "1000:1000",
    env: Mapping[str, str] | None = None,
    memory_mib: int | None = None,
    cpu_s: int | None = None,
    trial: str = "",
    persists: bool = False,
) -> HostCommand:
    """How to start a shell host in a container of `image`, which must hold Python 3.8 or newer.

    It is root there with just the rights to run commands as `user` and to end them; /run must be
    writable to root alone. Without an image the commands share the host's user and folder.
    `persists`: a restart of the container leaves the folder where commands start and the
    done-markers; whatever else there was in memory, /tmp say, is gone with the processes.
    """
    # Python holds a module's bytecode against second and size alone: two edits in one second that
    # leave its length would run as the first of them.
    settings = {"PYTHONDONTWRITEBYTECODE": "1"}  # all else lies below the folder it is started in
    if image is not None:
        settings |= {
            "HFR_SHELL_USER": user,
            "HFR_SHELL_MARKERS": _MARKERS,
            "HFR_SHELL_SCRATCH": _SCRATCH,
        }
    return HostCommand(
        argv=("python3" if image is not None else sys.executable, "-I", "-S", "-c", _START),
        env={_PROGRAM: _program(), **settings, **(env or {})},
        image=image,
        memory_mib=memory_mib,
        cpu_s=cpu_s,
        user="0:0",
        keeps=("SETUID", "SETGID", "KILL"),
        trial=trial,
        persists=_PERSISTS if persists and image is not None else (),
    )


def _program() -> str:
    """The source of the shell host.

    It travels in the environment, which commands cannot see: in its command line it would meet
    every `ps`, and faults that are aimed at command lines.
    """
    folder = Path(__file__).parent / "host"
    sources = [(f"hfr_shell.{n}", (folder / f"{n}.py").read_text("utf-8")) for n in _MODULES]
    return _BOOT.format(sources=sources)


def _executed(answer: Mapping[str, Any]) -> Executed:
    """Raises HostDiedError: an answer without what every run has."""
    try:
        return Executed(**{field.name: answer[field.name] for field in fields(Executed)})
    except KeyError as error:
        raise HostDiedError(f"the shell host answered without {error}") from error
