"""How far an experiment is: what its traces say is done, and what the plan still lacks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hfr_bench.lab.calm import calm_void
from hfr_bench.lab.cohorts import by_cohort, crowds
from hfr_bench.lab.register import TRIALS, Experiment
from hfr_bench.lab.store import Store, TrialFile
from hfr_bench.model.trial import PlanRow, TrialResult


class Job(NamedTuple):
    """A trial to run: its row, its round, and where its trace goes."""

    row: PlanRow
    round_no: int
    path: Path


class Standing(NamedTuple):
    """How far an experiment is: the trials its groups' open rounds lack, and what is decided.

    `graded`: trials of groups with a whole round without a void. `dropped`: groups that were void
    in every round they had.
    """

    jobs: list[Job]
    graded: int
    dropped: int


def standing(experiment: Experiment) -> Standing:
    """Read every trace's end, and see what is still to be run."""
    store, last = Store(experiment.path), experiment.prereg.void_rounds + 1
    jobs: list[Job] = []
    graded = dropped = 0
    for rows in crowds(experiment.plan).values():
        for round_no in range(1, last + 1):
            ends = {row.trial.trial_id: read_end(store, row, round_no) for row in rows}
            missing = [] if calm_void(experiment.prereg, rows, ends) else _missing(rows, ends)
            paths = [trial_path(experiment.path, row, round_no) for row in missing]
            jobs += [Job(row, round_no, path) for row, path in zip(missing, paths, strict=True)]
            if missing:
                break
            if not any(end and end.void for end in ends.values()):
                graded += len(rows)
                break
            dropped += round_no == last
    return Standing(jobs, graded, dropped)


def trial_path(root: Path, row: PlanRow, round_no: int) -> Path:
    """Where a trace goes: trials/<group>/r<round>/<arm>.jsonl."""
    return root / TRIALS / row.trial.pair_group / f"r{round_no}" / f"{row.trial.arm}.jsonl"


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


def _missing(rows: Sequence[PlanRow], ends: Mapping[str, TrialResult | None]) -> list[PlanRow]:
    """The trials to run: whole cohorts, of which a trial lacks and none was void.

    What was run of such a cohort cannot be gone on from: its shared state died with its process.
    After a void the rest of a cohort is not run; the next round is of all arms.
    """
    found: list[PlanRow] = []
    for cohort in by_cohort(rows):
        of = [ends[row.trial.trial_id] for row in cohort]
        if None in of and not any(end and end.void for end in of):
            found += cohort
    return found
