"""Many trials: what the plan still lacks, in rounds, on worker threads, one writer a trial."""

import fcntl
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from hfr_bench import plugins
from hfr_bench.errors import BadInputError
from hfr_bench.lab.register import TRIALS, Experiment, check_content, check_sources
from hfr_bench.lab.store import Store, TrialFile
from hfr_bench.lab.trial import run_trial
from hfr_bench.lab.wire import Bench, WorkerScope
from hfr_bench.model.trial import PlanRow, TrialResult
from hfr_bench.ports.executor import Executor


class Job(NamedTuple):
    """A trial to run: its row, its round, and where its trace goes."""

    row: PlanRow
    round_no: int
    path: Path


class Progress(NamedTuple):
    """After each trial: how far this call is. Blinded: no arm's outcome is in it."""

    done: int
    total: int
    voids: int


class Summary(NamedTuple):
    """What one call of `run` did; `dropped`: groups void in every round they had."""

    ran: int
    voids: int
    dropped: int
    already: int


def trial_path(root: Path, row: PlanRow, round_no: int) -> Path:
    """Where a trace goes: trials/<group>/r<round>/<arm>.jsonl."""
    return root / TRIALS / row.trial.pair_group / f"r{round_no}" / f"{row.trial.arm}.jsonl"


def run(
    experiment: Experiment,
    workers: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> Summary:
    """Run what the plan still lacks; running it again resumes.

    Raises BadInputError if the directory is in use, or belongs to another registration.
    """
    groups = _groups(experiment.plan)
    check_owner(experiment)
    check_content(experiment)
    with _only_one(experiment.path), Bench(experiment.prereg, experiment.book) as bench:
        first = _lacking(experiment, groups)
        already = len(experiment.plan) - len(first)
        if not first:
            return Summary(0, 0, _dropped(experiment, groups), already)
        check_sources(experiment, bench)
        bench.serve()
        ran, voids = _rounds(experiment, bench, groups, first, workers, on_progress)
    return Summary(ran, voids, _dropped(experiment, groups), already)


def check_owner(experiment: Experiment) -> None:
    """Every trace here must belong to this plan. Raises BadInputError."""
    folder = experiment.path / TRIALS
    planned = {row.trial.pair_group for row in experiment.plan}
    found = folder.iterdir() if folder.is_dir() else ()
    strangers = sorted(path for path in found if path.name not in planned)
    if strangers:
        raise BadInputError(
            f"{strangers[0]}: is not in this experiment's plan; the directory holds traces of "
            "another registration. Move them away, or use a directory of its own"
        )


def _rounds(
    experiment: Experiment,
    bench: Bench,
    groups: Sequence[tuple[PlanRow, ...]],
    jobs: list[Job],
    workers: int,
    on_progress: Callable[[Progress], None] | None,
) -> tuple[int, int]:
    """Run jobs, then the rounds that voids made necessary, until nothing is lacking."""
    executor: Executor = plugins.find("executors", "threads")(workers)
    ran = voids = 0
    total = len(jobs)
    while jobs:
        for result in executor.run(jobs, lambda _: WorkerScope(bench), _work):
            ran += 1
            voids += result.void is not None
            if on_progress is not None:
                on_progress(Progress(ran, total, voids))
        jobs = _lacking(experiment, groups)
        total += len(jobs)
    return ran, voids


def _work(scope: WorkerScope, job: Job) -> TrialResult:
    return run_trial(scope, job.row, job.round_no, job.path)


def _groups(plan: Sequence[PlanRow]) -> list[tuple[PlanRow, ...]]:
    """Pair groups in plan order; a group's rows may be split by its controls, which are others."""
    ordered = sorted(plan, key=lambda row: row.trial.pair_group)
    found = [tuple(rows) for _, rows in groupby(ordered, key=lambda row: row.trial.pair_group)]
    return sorted(found, key=lambda rows: rows[0].order)


def _lacking(experiment: Experiment, groups: Iterable[tuple[PlanRow, ...]]) -> list[Job]:
    """For every group the trials that its open round still lacks."""
    jobs = []
    store = Store(experiment.path)
    for rows in groups:
        for round_no in range(1, experiment.prereg.void_rounds + 2):
            ends = [read_end(store, row, round_no) for row in rows]
            missing = [row for row, end in zip(rows, ends, strict=True) if end is None]
            if missing:
                jobs += [
                    Job(row, round_no, trial_path(experiment.path, row, round_no))
                    for row in missing
                ]
                break
            if not any(end and end.void for end in ends):
                break
    return jobs


def _dropped(experiment: Experiment, groups: Iterable[tuple[PlanRow, ...]]) -> int:
    last, store = experiment.prereg.void_rounds + 1, Store(experiment.path)
    return sum(
        any((end := read_end(store, row, last)) is not None and end.void for row in rows)
        for rows in groups
    )


def read_end(store: Store, row: PlanRow, round_no: int) -> TrialResult | None:
    """A trial's result, if its trace is whole: every line readable, the hash chain unbroken.

    What is not whole counts as not run: the journal moves it aside (never deletes it) when the
    trial runs again.
    """
    path = trial_path(store.folder, row, round_no)
    if not path.is_file():
        return None
    checked = store.check(TrialFile(path, row.trial.pair_group, round_no, row.trial.arm))
    return None if checked.bad or checked.breaks else checked.result


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Two runs in one directory would write the same traces. Raises BadInputError."""
    with (folder / ".run.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadInputError(f"{folder}: another `hfr-bench run` is at work here") from error
        yield
