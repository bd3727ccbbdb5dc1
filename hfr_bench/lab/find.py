"""Finds the one trial that a reader names: by id, by pair group and arm, or by file."""

from collections.abc import Sequence
from pathlib import Path

from hfr_bench.errors import BadInputError
from hfr_bench.lab.store import Store, TrialFile
from hfr_bench.model.task import task_name
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
    name, of_the_path = _as_named(name)
    round_ = of_the_path if round_ is None else round_
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


def find_schedule(plan: Sequence[PlanRow], name: str) -> tuple[PlanRow | None, str]:
    """A planned trial with its schedule_id, run or not; or a schedule_id (its beginning) alone.

    Raises BadInputError if neither, or more than one, has that name.
    """
    rows = _matching(plan, _as_named(name)[0])
    planned = {row.trial.schedule_id for row in plan} if name else set()
    ids = sorted(one for one in planned if one.startswith(name))
    if len(rows) == 1:
        return rows[0], rows[0].trial.schedule_id
    if not rows and len(ids) == 1:
        return None, ids[0]
    if not rows and ids:
        shown = "\n".join(f"  {one}" for one in ids[:_SHOWN])
        raise BadInputError(f"{len(ids)} schedules are named {name!r}; say more:\n{shown}")
    raise BadInputError(_which(plan, rows, name))


def is_schedule(plan: Sequence[PlanRow], name: str) -> bool:
    """Whether a name is that of a schedule, and of no trial."""
    named = bool(name) and any(row.trial.schedule_id.startswith(name) for row in plan)
    return named and not _matching(plan, _as_named(name)[0])


def _as_named(name: str) -> tuple[str, int | None]:
    """A trace's path as GROUP/ARM and its round; any other name as it is."""
    given = Path(name)
    if given.suffix != ".jsonl":
        return name, None
    number = given.parent.name.removeprefix("r")
    return f"{given.parent.parent.name}/{given.stem}", int(number) if number.isdigit() else None


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
    what = f"{task_name(trial.suite, trial.task_id)} seed {trial.seed} rate {trial.rate:g}{control}"
    return f"{trial.trial_id}  {trial.pair_group}/{trial.arm}  {what}"
