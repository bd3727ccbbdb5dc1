"""Running the synthetic study: jobs over processes, and what they come to, whatever their number.

A job is a run of whole blocks of one arm in one world under one seed. Chance is keyed, and what
jobs find is added up in the order of the jobs, so that one process and many give the same digits.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

import hfr_bench
from hfr_bench import content
from hfr_bench.lab.synthetic.crew import Crew
from hfr_bench.lab.synthetic.deal import BLOCK, Odds, deal, odds
from hfr_bench.lab.synthetic.params import Rules, SyntheticArm, World, arms
from hfr_bench.lab.synthetic.play import Play
from hfr_bench.lab.synthetic.stage import Stage, TimedStage
from hfr_bench.lab.synthetic.tally import Tally, merged
from hfr_bench.recovery.settings import merged as laid_over

Item = TypeVar("Item")
Result = TypeVar("Result")

JOB_BLOCKS = 8

Said = Callable[[int, int], None]
"""Told how many jobs of how many are done."""


class Run(NamedTuple):
    """One arm in one world, under one seed, for so many tasks.

    `world`: as JSON. `overlay`: settings laid over the arm's, as JSON. `timed`: strategies are
    told the time (see `stage`); without, settings in which it counts must not be used.
    """

    arm: str
    world: str
    rules: Rules
    seed: int
    tasks: int
    overlay: str = "{}"
    timed: bool = False


class Job(NamedTuple):
    """A part of a run: blocks from `first` up to `last`, not included."""

    run: Run
    first: int
    last: int


def tallies(runs: Sequence[Run], workers: int = 1, said: Said | None = None) -> list[Tally]:
    """What each run came to, in their order. `workers`: processes; with 1 it stays in this one."""
    jobs = [job for run in runs for job in _jobs(run)]
    rest = iter(spread(played, jobs, workers, said))
    return [merged(islice(rest, len(_jobs(run)))) for run in runs]


def spread(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int = 1,
    said: Said | None = None,
) -> list[Result]:
    """The function of each item, in their order, over processes. Both must be picklable."""
    if workers <= 1 or len(items) < 2:
        return _told(map(function, items), len(items), said)
    # Spawned, not forked: threads and locks of the caller are not copied.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return _told(pool.map(function, items), len(items), said)


def played(job: Job) -> Tally:
    """Play a job's tasks to their ends."""
    run = job.run
    crew, chances, stage = _cast(run.arm, run.world, run.rules, run.overlay, run.timed)
    play, tally = Play(crew, chances, run.seed, stage), Tally()
    for block in range(job.first, job.last):
        tasks = deal(chances, run.seed, block)
        for number in range(min(BLOCK, run.tasks - block * BLOCK)):
            play.run(play.begin(tasks, number))
            tally.add(play)
    return tally


def changed(arm: SyntheticArm, overlay: str) -> SyntheticArm:
    """The arm with settings (JSON) laid over its own."""
    return arm.model_copy(update={"config": laid_over(arm.config, json.loads(overlay))})


@lru_cache(maxsize=64)
def _cast(
    name: str, world_json: str, rules: Rules, overlay: str, timed: bool
) -> tuple[Crew, Odds, Stage]:
    world = World.model_validate_json(world_json)
    crew = Crew(name, changed(arms()[name], overlay), world, world.rules[rules])
    return crew, odds(world), TimedStage() if timed else Stage()


def _jobs(run: Run) -> list[Job]:
    blocks = -(-run.tasks // BLOCK)
    return [
        Job(run, first, min(first + JOB_BLOCKS, blocks)) for first in range(0, blocks, JOB_BLOCKS)
    ]


def _told(parts: Iterable[Result], of: int, said: Said | None) -> list[Result]:
    found: list[Result] = []
    for part in parts:
        found.append(part)
        if said is not None:
            said(len(found), of)
    return found


def made_with() -> str:
    """Versions and a digest of the code and parameters that the numbers depend on."""
    here, shipped = Path(hfr_bench.__file__).parent, content.root() / "suites" / "synthetic"
    files = [
        *sorted((here / "recovery").rglob("*.py")),
        *sorted((here / "lab" / "synthetic").glob("*.py")),
        here / "faults" / "draw.py",
        here / "model" / "attempt.py", here / "model" / "terms.py",
        *sorted(shipped.glob("*.yaml")),
    ]  # fmt: skip
    head = hashlib.sha256()
    for file in files:
        head.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    return f"{versions}, code {head.hexdigest()[:16]}"
