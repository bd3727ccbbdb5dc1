"""Verifies a bundle of 10,000 trials and a million events: `python tests/benchmarks/verify.py`.

Makes an experiment of that size (frozen, run by `ingest`'s player), bundles it, and verifies levels
0 to 3 in a process of its own. Prints seconds of wall and processor, and the peak of resident
memory in MiB, as one line of JSON. `--keep DIR` keeps experiment and bundle there, and takes them
from there when they exist; `--redact` bundles it redacted.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ingest
import yaml

from hfr_bench import __version__, content
from hfr_bench.faults.cursor import Cursor
from hfr_bench.lab.book import read_book
from hfr_bench.lab.bundle import bundle
from hfr_bench.lab.plan import cells, plan_rows
from hfr_bench.lab.register import LOCK, PLAN, PREREG, SCHEDULES, load
from hfr_bench.lab.runlog import append
from hfr_bench.lab.scan import Scanner
from hfr_bench.model.bundle import Content, TaskPoints
from hfr_bench.model.invocation import Invocation
from hfr_bench.model.prereg import Lock, Preregistration, SourcePin
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.trace import TrialStarted
from hfr_bench.model.trial import PlanRow
from hfr_bench.testing.results import write_trial

AT = "2026-01-01T00:00:00+00:00"


class Registered(ingest.Player):
    """A player whose arms carry the digests under which they were registered."""

    arms: dict[str, str]

    def _started(self) -> TrialStarted:
        made = super()._started()
        return made.model_copy(update={"arm_digest": self.arms[self.trial.arm]})


def write(folder: Path, count: int, steps: int) -> tuple[Content, int, int]:
    """A frozen experiment and all its traces: what it was drawn from, trials, lines."""
    prereg, kinds = _registration(count), content.kinds()
    matrix, specs = content.matrix(prereg.faults.matrix), ingest.tasks(count)
    planned = list(cells(prereg, specs, matrix, kinds))
    rows = list(plan_rows(prereg, prereg.digest(), planned))
    (folder / SCHEDULES).mkdir(parents=True)
    (folder / PREREG).write_text(yaml.safe_dump(prereg.model_dump(mode="json")))
    text = "".join(f"{cell.schedule.dumps()}\n" for cell in planned)
    (folder / SCHEDULES / "made.jsonl").write_text(text)
    plan = "".join(f"{row.dumps()}\n" for row in rows)
    (folder / PLAN).write_text(plan)
    names = tuple(task.task_id for task in specs)
    lock = Lock(
        prereg_digest=prereg.digest(),
        name=prereg.name,
        origin=prereg.origin,
        frozen_at=AT,
        harness_version=__version__,
        generator=planned[0].schedule.generator,
        sources=(
            SourcePin(
                suite="made",
                distribution="made",
                version="1",
                content_digest="",
                tasks=names,
                task_digests={},
            ),
        ),
        matrix_digest=matrix.digest(),
        kinds_digest=content.kinds_digest(),
        prices_digest="",
        schedules_digest=read_book(folder / SCHEDULES).digest,
        plan_digest=text_digest(plan),
        schedules=len(planned),
        trials=len(rows),
    )
    (folder / LOCK).write_text(lock.dumps())
    call = Invocation(at=AT, owner="o", harness_version=__version__, sandbox="process", workers=1,
                      durability="process")  # fmt: skip
    append(folder, call)
    append(folder, call.model_copy(update={"end": "done", "ran": len(rows)}))
    schedules = {cell.schedule.schedule_id: cell.schedule for cell in planned}
    lines = sum(_traces(folder, prereg, rows, schedules, steps))
    points = tuple(
        TaskPoints(suite="made", task_id=task.task_id, fault_points=task.fault_points)
        for task in specs
    )
    return Content(matrix=matrix, kinds=kinds, tasks=points), len(rows), lines


def _registration(count: int) -> Preregistration:
    names = tuple(task.task_id for task in ingest.tasks(count))
    chosen = {"suites": ({"suite": "made", "tasks": names},)}
    plain = ingest.registration().model_dump(mode="json") | chosen
    return Preregistration.model_validate(plain)


def _traces(
    folder: Path,
    prereg: Preregistration,
    rows: list[PlanRow],
    schedules: dict[str, FaultSchedule],
    steps: int,
) -> Iterator[int]:
    arms = {arm.name: arm.digest() for arm in prereg.arms}
    for row in rows:
        planned = schedules[row.trial.schedule_id]
        player = Registered(row.trial, Cursor(planned.events if row.trial.injected else ()), steps)
        player.arms = arms
        lines = player.play()
        write_trial(folder, row.trial, lines)
        yield len(lines)


def verified(path: Path) -> dict[str, Any]:
    """`hfr-bench verify` in a process of its own: its verdict, and what it took."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-m", "hfr_bench", "verify", str(path), "--json"],
        check=False,
        capture_output=True,
        text=True,
    )
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(ran.stdout)
    return {
        "verify_wall_s": round(wall, 1),
        "verify_cpu_s": round(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1
        ),
        "peak_mib": after.ru_maxrss // 1024,
        "verified": found["verified"],
        "wrong": [c for c in found["checks"] if c["ok"] is False],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=104)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--keep", type=Path, help="write experiment and bundle here; keep them")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        top = asked.keep or Path(scratch)
        told: dict[str, Any] = {}
        if not (top / "b").exists():
            made_of, trials, lines = write(top / "e", asked.tasks, asked.steps)
            began = time.process_time()
            made = bundle(load(top / "e"), made_of, top / "b", incomplete=True, scanner=Scanner({}))
            told = {
                "trials": trials,
                "events": lines,
                "mb": round(made.size / 1e6),
                "bundle_cpu_s": round(time.process_time() - began, 1),
            }
        told |= verified(top / "b")
    print(json.dumps(told | {"load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
