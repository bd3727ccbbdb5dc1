"""The protocol loop: one JSON object a line in, one a line out, until stdin ends.

Request  {"id": n, "op": "...", ...}
Answer   {"id": n, "ok": true, ...}  or  {"id": n, "ok": false, "error": {"type", "message"}}

Ops: hello; exec {operation_id, argv | script, timeout_s, cwd, env, stdin, max_output_kib,
idempotent, kill_left}; recall {operation_id}; processes; kill; read {path, max_kib}; write {path,
content_b64, mode}; snapshot {paths}; tree {paths, leave_out}; reset.
A bad request is answered and survived.

The **done-marker**: a run is written down before it starts, and again with its result before it is
answered. So a lost answer can be asked for (`recall`). Who sends an operation twice runs it twice,
as with any shell; unless the request says `idempotent`: then what was done before is answered.

Environment: HFR_SHELL_USER uid:gid of the commands (unset: the host's own, and then nothing is
safe from them); HFR_SHELL_MARKERS a folder; HFR_SHELL_SCRATCH the folders that `reset` empties,
parted by `:`, the first being where commands start. Relative ones lie where the host was started,
and are made.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
import os
import signal
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .family import NOT_STARTED, Family, Task, processes
from .records import Capture, HostError, Markers
from .scratch import digest, empty, tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROTOCOL = "hfr.toolhost/1"
KIB = 1024
OUTPUT_KIB = 32  # kept of each stream, unless told


class Host:
    """Serves requests, one at a time; `close` leaves no process behind."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._env = {k: v for k, v in environment.items() if not k.startswith("HFR_SHELL_")}
        self._user = _user(environment.get("HFR_SHELL_USER", ""))
        self._markers = Markers(Path(environment.get("HFR_SHELL_MARKERS", "markers")))
        self._scratch: dict[Path, int] = {}  # -> its mode
        for name in environment.get("HFR_SHELL_SCRATCH", "work").split(":"):
            folder = Path(name)
            if not folder.is_absolute():
                folder.mkdir(exist_ok=True)
            if folder.is_dir():
                self._scratch[folder.resolve()] = stat.S_IMODE(folder.stat().st_mode)
        self._home = next(iter(self._scratch), Path.cwd())
        self._shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
        self._family = Family()
        self._operations: dict[int, str] = {}  # run number in the family -> operation id
        self._unread = bytearray()
        self._ended = False  # the requests
        self._family.watch(0, self._take)

    def requests(self) -> Iterator[bytes]:
        """Line by line, until they end; meanwhile what commands have left is looked after."""
        while True:
            end = self._unread.find(b"\n")
            if end >= 0:
                line = bytes(self._unread[:end])
                del self._unread[: end + 1]
                yield line
            elif self._ended:
                return
            else:
                self._family.turn(None)

    def answer(self, line: bytes) -> dict[str, Any]:
        """The answer to one line, whatever the line is."""
        number: Any = None
        try:
            request = _parse(line)
            number = request.get("id")
            name = _string(request, "op")
            op = OPS.get(name)
            if op is None:
                raise HostError("unknown_op", f"unknown op {name!r}; there are: {', '.join(OPS)}")
            return {"id": number, "ok": True, **op(self, request)}
        except HostError as error:
            return _refusal(number, error.kind, str(error))
        except OSError as error:
            return _refusal(number, type(error).__name__, str(error))
        except Exception as error:  # noqa: BLE001 the host outlives every request
            return _refusal(number, "internal", f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """End every process that a command has left."""
        self._family.kill(None)

    def _hello(self, _request: dict[str, Any]) -> dict[str, Any]:
        uid, gid = self._user or (os.getuid(), os.getgid())
        return {
            "protocol": PROTOCOL,
            "python": sys.version.split()[0],
            "separate": self._user is not None,
            "uid": uid,
            "gid": gid,
            "shell": self._shell,
            "scratch": [str(folder) for folder in self._scratch],
        }

    def _exec(self, request: dict[str, Any]) -> dict[str, Any]:
        operation_id = _string(request, "operation_id")
        task, timeout_s = self._task(request), _number(request, "timeout_s")
        limit = int(_number(request, "max_output_kib", OUTPUT_KIB) * KIB)
        what = [request.get(key) or None for key in ("argv", "script", "cwd", "env", "stdin")]
        asked = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
        run = self._markers.count(operation_id)
        if run and request.get("idempotent"):
            return self._repeat(operation_id, run, asked)
        self._markers.write(operation_id, run + 1, "started", {"request": asked})
        result = self._run(operation_id, task, timeout_s, limit, bool(request.get("kill_left")))
        self._markers.write(operation_id, run + 1, "done", result)
        return {**result, "runs": run + 1, "repeated": False}

    def _repeat(self, operation_id: str, run: int, asked: str) -> dict[str, Any]:
        """What an earlier run came to, for a sender who wants it once."""
        if self._markers.read(operation_id, run, "started") != {"request": asked}:
            raise HostError("key_reused", f"{operation_id!r} has been another command before")
        result = self._markers.read(operation_id, run, "done")
        if result is None:
            raise HostError("in_doubt", f"{operation_id!r} was started and its end is not known")
        return {**result, "runs": run, "repeated": True}

    def _run(
        self, operation_id: str, task: Task, timeout_s: float, limit: int, kill_left: bool
    ) -> dict[str, Any]:
        family, out, err = self._family, Capture(limit), Capture(limit)
        began = time.monotonic()
        code: int | None = None
        timed_out, left = False, 0
        try:
            finish = family.start(task, out, err)
        except OSError as error:  # no process, no descriptor: what a shell would say
            code = NOT_STARTED
            err.add(f"shell host: cannot start: {error.strerror}\n".encode())
        else:
            self._operations[family.run] = operation_id
            while family.status is None and (left_s := began + timeout_s - time.monotonic()) > 0:
                family.turn(left_s)
                if self._ended:
                    raise SystemExit  # nobody waits for it any more
            timed_out = family.status is None
            if family.status is not None:
                code = _exit_code(family.status)
            # A shell that is killed cannot end its own: whoever kills a tool ends all of it.
            killed = not timed_out and os.WTERMSIG(family.status or 0) == signal.SIGKILL
            if timed_out or kill_left or killed:
                family.kill(family.run)
            finish()
            left = list(family.members().values()).count(family.run)
        (stdout, out_lossy), (stderr, err_lossy) = out.text(), err.text()
        return {
            "exit_code": code,
            "timed_out": timed_out,
            "stdout": stdout,
            "stderr": stderr,
            "cut_bytes": out.cut + err.cut,
            "lossy": out_lossy or err_lossy,
            "left": left,
            "wall_us": int((time.monotonic() - began) * 1e6),
        }

    def _task(self, request: dict[str, Any]) -> Task:
        argv, env = request.get("argv"), request.get("env") or {}
        if (argv is None) == ("script" not in request):
            raise HostError("bad_request", "exec needs `argv` or `script`, one of them")
        if argv is None:
            argv = [self._shell, "-c", _string(request, "script")]
        if not isinstance(argv, list) or not argv or not all(isinstance(a, str) for a in argv):
            raise HostError("bad_request", "`argv` must be a list of strings, not empty")
        if not isinstance(env, dict) or not all(isinstance(v, str) for v in env.values()):
            raise HostError("bad_request", "`env` must be an object of strings")
        home = {"HOME": str(self._home)} if self._user else {}
        cwd = str(self._home / _string(request, "cwd", ""))
        stdin = _string(request, "stdin", "").encode(errors="surrogatepass")
        return Task(argv, cwd, {**self._env, **home, **env}, stdin, self._user)

    def _recall(self, request: dict[str, Any]) -> dict[str, Any]:
        operation_id = _string(request, "operation_id")
        runs = self._markers.count(operation_id)
        result = self._markers.read(operation_id, runs, "done")
        state = "absent" if not runs else "started" if result is None else "done"
        return {**(result or {}), "state": state, "runs": runs}

    def _processes(self, _request: dict[str, Any]) -> dict[str, Any]:
        found = []
        for pid, run in self._family.members().items():
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes()[:KIB]
                command = line.replace(b"\0", b" ").decode(errors="replace").strip()
                operation_id = self._operations.get(run)
                found.append({"pid": pid, "operation_id": operation_id, "command": command})
        return {"processes": found}

    def _kill(self, _request: dict[str, Any]) -> dict[str, Any]:
        self._family.kill(None)
        return {}

    def _read(self, request: dict[str, Any]) -> dict[str, Any]:
        limit = int(_number(request, "max_kib", KIB) * KIB)
        with self._rights(), self._file(request, os.O_RDONLY) as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(limit)
        encoded = base64.b64encode(content).decode()
        return {"content_b64": encoded, "size_bytes": size, "cut": size > len(content)}

    def _write(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            content = base64.b64decode(_string(request, "content_b64"), validate=True)
        except ValueError as error:
            raise HostError("bad_request", f"`content_b64`: {error}") from None
        mode = int(_number(request, "mode", 0o644))
        path = self._home / _string(request, "path")
        with self._rights():
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._file(request, os.O_WRONLY | os.O_CREAT) as file:
                os.fchmod(file.fileno(), mode)
                file.truncate()
                file.write(content)
        return {"size_bytes": len(content)}

    def _snapshot(self, request: dict[str, Any]) -> dict[str, Any]:
        paths = _strings(request, "paths")
        with self._rights():
            return {"state": digest([self._home / path for path in paths])}

    def _tree(self, request: dict[str, Any]) -> dict[str, Any]:
        paths, leave_out = _strings(request, "paths"), _strings(request, "leave_out")
        with self._rights():
            return {"files": tree(self._home, paths, leave_out)}

    def _reset(self, _request: dict[str, Any]) -> dict[str, Any]:
        self._family.kill(None)
        with self._rights():
            empty(self._scratch)
        empty(self._scratch)  # what others than the commands have put there
        self._markers.clear()
        self._operations.clear()
        left = [f"process {pid}" for pid in self._family.members()]
        left += [str(path) for folder in self._scratch for path in folder.iterdir()]
        if self._user:
            left += [f"process {pid}" for pid in _strangers()] + _messages()
        if left:
            raise HostError("reset_failed", f"left behind: {', '.join(left[:9])}")
        with self._rights():
            return {"state": digest(self._scratch)}

    @contextlib.contextmanager
    def _rights(self) -> Iterator[None]:
        """Touch files as a command would: with its rights, and no more."""
        if self._user is None:
            yield
            return
        os.setegid(self._user[1])
        os.seteuid(self._user[0])
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    def _file(self, request: dict[str, Any], flags: int) -> Any:
        """The plain file of `path`, open; a pipe or a device would hold the host up."""
        path = self._home / _string(request, "path")
        fd = os.open(path, flags | os.O_NONBLOCK, 0o600)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise HostError("not_a_file", f"{path} is not a plain file")
        return os.fdopen(fd, "rb" if flags == os.O_RDONLY else "wb")

    def _take(self) -> None:
        data = os.read(0, KIB * KIB)
        self._unread += data
        if not data:
            self._ended = True
            self._family.drop(0)


OPS: dict[str, Callable[[Host, dict[str, Any]], dict[str, Any]]] = {
    name: getattr(Host, f"_{name}")
    for name in (
        *("hello", "exec", "recall", "processes", "kill"),
        *("read", "write", "snapshot", "tree", "reset"),
    )
}


def _strangers() -> list[int]:
    """Who lives here and is neither the host nor one of its ancestors."""
    table, ours, pid = processes(), set(), os.getpid()
    while pid in table:
        ours.add(pid)
        pid = table[pid].parent
    return [pid for pid, process in table.items() if process.alive and pid not in ours]


def _messages() -> list[str]:
    """The System V queues, semaphores and shared memory that outlive their makers."""
    found = []
    for kind in ("msg", "sem", "shm"):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/sysvipc/{kind}").read_text(encoding="ascii").splitlines()[1:]
            found += [f"System V {kind} {line.split()[1]}" for line in lines]
    return found


def _user(text: str) -> tuple[int, int] | None:
    """The commands' user. Raises HostError where the host may not become it."""
    if not text:
        return None
    try:
        uid, gid = (int(part) for part in text.split(":"))
        os.setgroups([])  # the host's own groups would else count with its borrowed rights
    except (ValueError, PermissionError) as error:
        message = f"HFR_SHELL_USER={text}: {error}; it takes uid:gid, root, SETUID, SETGID and KILL"
        raise HostError("bad_user", message) from None
    return uid, gid


def _exit_code(status: int) -> int:
    """As a shell tells it: 128 + n for an end by signal n."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _parse(line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line.decode(errors="replace"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise HostError("bad_json", f"not a JSON line: {error}") from None
    if not isinstance(request, dict):
        raise HostError("bad_request", "a request is a JSON object")
    return request


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _string(request: dict[str, Any], key: str, default: str | None = None) -> str:
    value = request.get(key, default)
    if not isinstance(value, str):
        raise HostError("bad_request", f"`{key}` must be a string")
    return value


def _strings(request: dict[str, Any], key: str) -> list[str]:
    value = request.get(key)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise HostError("bad_request", f"`{key}` must be a list of strings")
    return value


def _number(request: dict[str, Any], key: str, default: float | None = None) -> float:
    value = request.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise HostError("bad_request", f"`{key}` must be a number")
    if not (math.isfinite(value) and value > 0):
        raise HostError("bad_request", f"`{key}` must be greater than 0")
    return value


def _refusal(number: Any, kind: str, message: str) -> dict[str, Any]:
    return {"id": number, "ok": False, "error": {"type": kind, "message": message}}


def main() -> int:
    """Take stdout for the protocol alone."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    try:
        host = Host(dict(os.environ))
    except (HostError, OSError) as error:
        sys.exit(f"the shell host cannot start: {error}")
    try:
        for line in host.requests():
            if line.strip():
                answers.write(json.dumps(host.answer(line)) + "\n")
                answers.flush()
    except (BrokenPipeError, KeyboardInterrupt):
        return 130
    finally:
        host.close()
    return 0
