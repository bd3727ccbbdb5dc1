"""Finds the one trial that a reader names: by id, by pair group and arm, or by file."""

from collections.abc import Sequence
from pathlib import Path

from hfr_bench.errors import BadInputError
from hfr_bench.lab.store import Store, TrialFile
from hfr_bench.model.trial import PlanRow

_SHOWN = 10


def find_trial(
    folder: Path, plan: Sequence[PlanRow], name: str, round_: int | None = None
) -> tuple[PlanRow, TrialFile]:
    """A planned trial and its trace: of the last round it was run in, or of `round_`.

    Args:
        folder: the experiment.
        plan: its plan.
        name: a trial_id or the beginning of one, `group/arm` (the group's beginning will do), or
            the path of a trace file.
        round_: which round; None: the last one, or the one that a path names.

    Raises:
        BadInputError: no trial or more than one has that name (they are listed), or it was not run.
    """
    given = Path(name)
    if given.suffix == ".jsonl":
        name = f"{given.parent.parent.name}/{given.stem}"
        number = given.parent.name.removeprefix("r")
        round_ = int(number) if round_ is None and number.isdigit() else round_
    rows = _matching(plan, name)
    if len(rows) != 1:
        raise BadInputError(_which(plan, rows, name))
    trial = rows[0].trial
    files = [
        file
        for file in Store(folder).files()
        if (file.group, file.arm) == (trial.pair_group, trial.arm)
    ]
    chosen = [file for file in files if round_ in (None, file.round)]
    if not chosen:
        rounds = ", ".join(str(file.round) for file in files)
        has = f"there are rounds {rounds}" if files else "`hfr-bench run` it first"
        raise BadInputError(f"trial {trial.trial_id} has no finished trace of that round; {has}")
    return rows[0], max(chosen, key=lambda file: file.round)


def _matching(plan: Sequence[PlanRow], name: str) -> list[PlanRow]:
    group, slash, arm = name.rpartition("/")
    if slash:
        return [
            row for row in plan if row.trial.arm == arm and row.trial.pair_group.startswith(group)
        ]
    return [row for row in plan if name and row.trial.trial_id.startswith(name)]


def _which(plan: Sequence[PlanRow], rows: Sequence[PlanRow], name: str) -> str:
    shown = "\n".join(f"  {_named(row)}" for row in (rows or plan)[:_SHOWN])
    more = len(rows or plan) - _SHOWN
    tail = f"\n  and {more} more" if more > 0 else ""
    if not rows:
        return (
            f"no trial is named {name!r}: give the beginning of a trial_id, GROUP/ARM or the path "
            f"of a trace. There are, for example:\n{shown}{tail}"
        )
    return f"{len(rows)} trials are named {name!r}; say more:\n{shown}{tail}"


def _named(row: PlanRow) -> str:
    trial = row.trial
    control = f", control {row.control}" if row.control else ""
    what = f"{trial.suite}/{trial.task_id} seed {trial.seed} rate {trial.rate:g}{control}"
    return f"{trial.trial_id}  {trial.pair_group}/{trial.arm}  {what}"
