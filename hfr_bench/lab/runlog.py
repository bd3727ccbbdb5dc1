"""run.jsonl: who ran what when, how each run ended, and who looked before the end.

Append-only; no result rests on it.
"""

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from hfr_bench.model.invocation import Invocation

RUN_LOG = "run.jsonl"
LOOKED: Literal["looked"] = "looked"


def append(folder: Path, line: Invocation) -> None:
    """Add a line; one that a dying process left half-written is closed first."""
    with (folder / RUN_LOG).open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(line.dumps().encode() + b"\n")


def last(folder: Path) -> Invocation | None:
    """The last line of a run that can be read, if there is any."""
    runs = [line for line in lines(folder) if line.end != LOOKED]
    return runs[-1] if runs else None


def lines(folder: Path) -> list[Invocation]:
    """All lines that can be read."""
    path, found = folder / RUN_LOG, []
    for line in path.read_bytes().split(b"\n") if path.is_file() else ():
        with suppress(ValidationError):
            found.append(Invocation.loads(line))
    return found


def looked(folder: Path, trials: int, version: str, by: str) -> str:
    """Note that results are shown while trials lack, before they are.

    Args:
        folder: of the experiment.
        trials: how many were in.
        version: of the harness.
        by: this process.

    Returns:
        Why it could not be noted; empty if it was.
    """
    line = Invocation(at=now(), owner=by, harness_version=version, sandbox="", workers=0,
                      durability="", end=LOOKED, ran=trials)  # fmt: skip
    try:
        append(folder, line)
    except OSError as error:
        return f"{folder / RUN_LOG}: this look could not be noted: {error}"
    return ""


def now() -> str:
    """The present, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
