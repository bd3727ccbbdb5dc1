"""A million trace lines (800 MB) into Parquet beside the index, from 8 files and from 10,000.

    python tests/benchmarks/events.py [--events 1000000] [--files 8 10000]

Trace lines as `ingest` writes them, padded to 800 bytes on average as those of real suites are, are
laid out as trial files; then a process of its own does what `hfr-bench index --compact` does to
them once the index knows the files (`lab.database.compact`), and counts them. Prints CPU seconds
and the peak of resident memory in MiB, one line of JSON. The time for writing is not counted.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path

import ingest

from hfr_bench.lab.database import COLUMNS, FILE, compact, connect, write
from hfr_bench.lab.store import TRIALS

LINE = 800
"""Bytes of a line: a million of real ones were 790 MB."""


def sample(scratch: Path) -> list[bytes]:
    """Lines of a small experiment; what they lack in length is in their `prev`."""
    made = scratch / "sample"
    ingest.write(made, 2, 6)
    files = sorted((made / TRIALS).glob("*/r*/*.jsonl"))
    lines = [line for path in files for line in path.read_bytes().splitlines()]
    short = LINE - sum(map(len, lines)) // len(lines)
    return [line.replace(b'"prev":"', b'"prev":"' + b"0" * short, 1) for line in lines]


def lay_out(folder: Path, lines: list[bytes], events: int, files: int) -> None:
    """Trial files, and an index that knows them."""
    some, rows = cycle(lines), []
    for number in range(files):
        path = folder / TRIALS / f"{number:05}" / "r0" / "arm.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"\n".join(islice(some, events // files)) + b"\n")
        row = dict.fromkeys(COLUMNS) | {"path": str(path.relative_to(folder)), "whole": True}
        rows.append(json.dumps(row | {"size": path.stat().st_size, "sha256": str(number)}).encode())
    write(folder, "made", rows, ())


def measured(folder: Path) -> dict[str, object]:
    """In a process of its own: `--one`."""
    own = [sys.executable, __file__, "--one", str(folder)]
    done = subprocess.run(own, check=True, capture_output=True, text=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def one(folder: Path) -> None:
    compact(folder)
    with connect(folder / FILE) as connection:
        ((count, kinds),) = connection.execute(
            "SELECT count(*), count(DISTINCT type) FROM event"
        ).fetchall()
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = round(used.ru_utime + used.ru_stime, 2)
    told = {"events": count, "types": kinds, "cpu_s": cpu_s, "mib": used.ru_maxrss // 1024}
    print(json.dumps(told))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, nargs="+", default=[8, 10_000])
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one(asked.one)
        return
    told: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as scratch:
        lines = sample(Path(scratch))
        for files in asked.files:
            folder = Path(scratch) / f"in_{files}"
            lay_out(folder, lines, asked.events, files)
            told[f"{files}_files"] = measured(folder)
    print(json.dumps(told | {"load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
