"""The log of operations: what was begun and what has ended, written before anybody is told.

A request that names an operation is written down before it is carried out, and again with its end,
also where nobody waits for the answer any more. Asking the log changes nothing, so that it is the
read by which somebody without an answer learns what became of what he sent. It is the system that
has a line once it is written: the guest's own death loses none.
"""

import json
import os
import threading
from pathlib import Path
from typing import Any


class Operations:
    """One append-only file of JSON lines. Every method may be called by any thread."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Any]] = {}
        path = folder / "operations.jsonl"
        if path.exists():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    self._take(json.loads(line))
                except (ValueError, KeyError, TypeError):  # cut off by the guest's own death
                    continue
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(self._file, b"\n" if self._known else b"")

    def begin(self, operation: str, what: str) -> int:
        """Note that it starts; returns which run of the operation this is, from 1 on.

        Raises OSError where there is no room for the note: then it must not start.
        """
        with self._lock:
            run = int(self._known.get(operation, {"runs": 0})["runs"]) + 1
            self._write({"id": operation, "run": run, "state": "started", "what": what})
            return run

    def end(self, operation: str, run: int, status: int, returncode: int | None) -> None:
        """Note how it ended: the status that was, or would have been, answered."""
        row = {"id": operation, "run": run, "state": "done"}
        with self._lock:
            self._write(row | {"status": status, "returncode": returncode})

    def find(self, operation: str) -> dict[str, Any]:
        """id, state (absent, started, done: of its last run), runs, ended, status, returncode."""
        with self._lock:
            absent = {"id": operation, "state": "absent", "runs": 0, "ended": 0}
            return dict(self._known.get(operation, absent))

    def all(self) -> list[dict[str, Any]]:
        """Every operation, in the order in which they first began."""
        with self._lock:
            return [dict(row) for row in self._known.values()]

    def _write(self, row: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(row).encode() + b"\n")
        self._take(row)

    def _take(self, row: dict[str, Any]) -> None:
        known = self._known.setdefault(row["id"], {"id": row["id"], "runs": 0, "ended": 0})
        if row["state"] == "started":
            known |= {"state": "started", "runs": row["run"], "what": row["what"]}
            known |= {"status": None, "returncode": None}
            return
        known["ended"] += 1
        if row["run"] == known["runs"]:
            known |= {"state": "done", "status": row["status"], "returncode": row["returncode"]}
