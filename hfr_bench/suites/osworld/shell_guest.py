"""A guest's HTTP API without HTTP: what setup steps and evaluators ask, answered by a shell desk.

Only what needs no screen: /execute, /setup/execute, /setup/upload, /file, /list_directory,
/terminal, /platform. All else is answered 404, as by a server that does not have it.
"""

import json as jsons
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from hfr_bench.suites.osworld.contracts import outward


class Reply(NamedTuple):
    """An HTTP answer."""

    status: int
    body: bytes


class Ended(Protocol):
    """How a command ended."""

    @property
    def output(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def code(self) -> int | None: ...


class Files(Protocol):
    """What of a desk is asked: `desk.ShellDesk`."""

    home: str

    def ours(self, command: str | list[str]) -> Ended: ...
    def read(self, path: str) -> bytes | None: ...
    def write(self, path: str, content: bytes) -> None: ...
    def entries(self, path: str) -> list[str] | None: ...


class ShellGuest:
    """Implements `Caller` over a desk."""

    def __init__(self, desk: Files) -> None:
        self._desk = desk

    def call(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        given: Mapping[str, Any] = json or form or {}
        if path in ("/execute", "/setup/execute"):
            return self._execute(given)
        if path == "/setup/upload":
            return self._upload(given, files or {})
        if path == "/file":
            found = self._desk.read(str(given.get("file_path", "")))
            return Reply(404, b"File not found") if found is None else Reply(200, found)
        if path == "/list_directory":
            return self._list(str(given.get("path", "")))
        if path == "/platform":
            return Reply(200, b"Linux")
        return Reply(404, f"{method} {path}: this desk has no screen".encode())

    def _execute(self, given: Mapping[str, Any]) -> Reply:
        """A list of words is a program and its arguments, unless `shell` says otherwise."""
        command = given.get("command")
        if isinstance(command, list) and given.get("shell"):
            command = command[0] if command else ""
        if not command:
            return _told(500, status="error", message="an empty command")
        if isinstance(command, str) and not given.get("shell"):
            command = command.split()
        done = self._desk.ours(command)
        if done.code is None:
            return _told(500, status="error", message="the command was ended at its timeout")
        said = [outward(text, self._desk.home) for text in (done.output, done.error)]
        return _told(200, status="success", output=said[0], error=said[1], returncode=done.code)

    def _upload(self, given: Mapping[str, Any], files: Mapping[str, bytes]) -> Reply:
        content = files.get("file_data")
        if content is None or not given.get("file_path"):
            return Reply(400, b"file_path or file_data is missing")
        self._desk.write(str(given["file_path"]), content)
        return Reply(200, b"File Uploaded")

    def _list(self, path: str) -> Reply:
        names = self._desk.entries(path)
        if names is None:
            return _told(400, error="The provided path is not a directory")
        children = [
            {"type": "directory" if name.endswith("/") else "file", "name": name.rstrip("/")}
            for name in names
        ]
        tree = {"type": "directory", "name": path.rstrip("/").rpartition("/")[2]}
        return _told(200, directory_tree={**tree, "children": children})


def _told(code: int, /, **fields: Any) -> Reply:
    return Reply(code, jsons.dumps(fields).encode())
