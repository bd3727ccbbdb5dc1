"""What is kept of a run: its done-marker, and the two ends of what it said."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


class HostError(Exception):
    """A request that is refused; `kind` tells why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Markers:
    """What became of each run of each operation: two small files a run, in a private folder.

    Not forced to disk: they outlive every process, and the machine's end is the sandbox's, too.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._folder = folder

    def count(self, operation_id: str) -> int:
        """How often it was started."""
        runs = 0
        while self._path(operation_id, runs + 1, "started").exists():
            runs += 1
        return runs

    def read(self, operation_id: str, run: int, state: str) -> dict[str, Any] | None:
        """What was written of a run (from 1) when it was `started` or `done`; None: nothing."""
        try:
            text = self._path(operation_id, run, state).read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        marker: dict[str, Any] = json.loads(text)
        return marker

    def write(self, operation_id: str, run: int, state: str, marker: dict[str, Any]) -> None:
        """Whole or not at all. Raises HostError: no room."""
        path = self._path(operation_id, run, state)
        try:
            half = path.with_suffix(".half")
            half.write_text(json.dumps(marker), encoding="ascii")
            half.rename(path)  # to a new name: over an old one, some disks are waited for
        except OSError as error:
            message = f"run {run} cannot be written down as {state}: {error}"
            raise HostError("marker", message) from None

    def clear(self) -> None:
        """Forget everything."""
        for path in self._folder.iterdir():
            path.unlink()

    def _path(self, operation_id: str, run: int, state: str) -> Path:
        name = hashlib.sha256(operation_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._folder / f"{name}.{run}.{state}"


class Capture:
    """The two ends of a stream, `limit` bytes together; what lies between is only counted."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head, self._tail = bytearray(), bytearray()
        self.cut = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        over = max(0, len(self._tail) - self._half)
        self.cut += over
        del self._tail[:over]

    def text(self) -> tuple[str, bool]:
        """As UTF-8, what is none replaced by U+FFFD, and whether anything was.

        A cut is told in the text; it may go through a character.
        """
        gap = f"\n[... {self.cut} bytes left out ...]\n".encode() if self.cut else b""
        whole = bytes(self._head + gap + self._tail)
        try:
            return whole.decode(), False
        except UnicodeDecodeError:
            return whole.decode(errors="replace"), True
