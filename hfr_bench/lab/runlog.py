"""run.jsonl: who ran what when, and how each run ended. Append-only; no result rests on it."""

import os
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from hfr_bench.model.invocation import Invocation

RUN_LOG = "run.jsonl"


def append(folder: Path, line: Invocation) -> None:
    """Add a line; one that a dying process left half-written is closed first."""
    with (folder / RUN_LOG).open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(line.dumps().encode() + b"\n")


def last(folder: Path) -> Invocation | None:
    """The last line that can be read, if there is any."""
    try:
        lines = (folder / RUN_LOG).read_bytes().split(b"\n")
    except FileNotFoundError:
        return None
    for line in reversed(lines):
        try:
            return Invocation.loads(line)
        except ValidationError:
            continue
    return None


def now() -> str:
    """The present, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
