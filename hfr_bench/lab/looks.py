"""Interim looks: which trials belong to which, what a claim must reach there, what was looked at.

    prereg.stopping_rule ─ stages ─→ run (no further than the next look) ─→ look (looks.jsonl)
                                          ↑──────────── go on ────────────────┤
                                                                    stop ─→ report, at that look

A look is of the first tasks of each suite, in the registered order, with all their trials: slow
tasks bias none, and nobody chooses when. Between looks nothing is told but the blinded progress.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

from pydantic import ValidationError

from hfr_bench.errors import BadInputError
from hfr_bench.model.looks import Look, LookRow, OBrienFleming
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.trial import PlanRow

LOOKS = "looks.jsonl"

Task = tuple[str, str]


class Stage(NamedTuple):
    """What a report at look `look` of `of` rests on.

    `rows`: the plan up to there. `shares`: of the tasks, at this look and those before. `level`: 1
    - the error of the whole experiment. `total`: tasks in the plan.
    """

    look: int
    of: int
    rows: tuple[PlanRow, ...]
    shares: tuple[float, ...]
    level: float


def stages(prereg: Preregistration, rows: Sequence[PlanRow]) -> tuple[Stage, ...]:
    """A stage for every look, the last of which is the whole plan; none under `fixed_n`."""
    rule = prereg.stopping_rule
    if not isinstance(rule, OBrienFleming):
        return ()
    by_suite: dict[str, list[Task]] = {}
    for task in tasks_of(rows):
        by_suite.setdefault(task[0], []).append(task)
    total = sum(map(len, by_suite.values()))
    found: list[Stage] = []
    for look in range(1, rule.looks + 1):
        kept = {
            task
            for tasks in by_suite.values()
            for task in tasks[: -(-len(tasks) * look // rule.looks)]
        }
        shares = (*(found[-1].shares if found else ()), len(kept) / total)
        of = tuple(row for row in rows if (row.trial.suite, row.trial.task_id) in kept)
        found.append(Stage(look, rule.looks, of, shares, prereg.analysis.level))
    return tuple(found)


def tasks_of(rows: Iterable[PlanRow]) -> list[Task]:
    """The tasks of some of the plan, in its order."""
    return list(dict.fromkeys((row.trial.suite, row.trial.task_id) for row in rows))


def taken(folder: Path) -> tuple[Look, ...]:
    """The looks that were taken. Raises BadInputError for a line that is none, or out of turn."""
    path = folder / LOOKS
    if not path.is_file():
        return ()
    found: list[Look] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            look = Look.loads(line)
        except ValidationError as error:
            raise BadInputError(f"{path}:{number}: not a look that was taken: {error}") from error
        if look.look != number or any(one.stop for one in found):
            raise BadInputError(f"{path}:{number}: look {look.look} is not the one that was due")
        found.append(look)
    return tuple(found)


def ended(folder: Path) -> bool:
    """Whether a look has ended the experiment."""
    return any(one.stop for one in taken(folder))


def keep(folder: Path, look: Look) -> None:
    """Write a look down, before anybody is told what it showed."""
    with (folder / LOOKS).open("a", encoding="utf-8") as file:
        file.write(f"{look.dumps()}\n")


def stage_of(
    prereg: Preregistration, rows: Sequence[PlanRow], folder: Path, look: int | None = None
) -> Stage | None:
    """The stage of a report: a given look, the one that ended the experiment, or the last.

    None under `fixed_n`.
    """
    found = stages(prereg, rows)
    if not found:
        return None
    if look is not None:
        return found[look - 1]
    ended = [one.look for one in taken(folder) if one.stop]
    return found[ended[0] - 1] if ended and ended[0] <= len(found) else found[-1]


def open_rows(
    prereg: Preregistration, rows: Sequence[PlanRow], folder: Path
) -> tuple[Sequence[PlanRow], str]:
    """The part of the plan that may be run now, and which look is due once it is in ("" = none)."""
    found = stages(prereg, rows)
    if not found:
        return rows, ""
    done = taken(folder)
    if done and done[-1].stop:
        return found[done[-1].look - 1].rows, ""
    stage = found[min(len(done), len(found) - 1)]
    last = stage.look == stage.of
    return stage.rows, "" if last else f"look {stage.look} of {stage.of}"


def check_looks(prereg: Preregistration, tasks: Iterable[Task]) -> None:
    """Whether the registered looks can be taken. Raises BadInputError."""
    rule = prereg.stopping_rule
    if not isinstance(rule, OBrienFleming):
        return
    if not prereg.hypotheses:
        raise BadInputError("stopping_rule: looks decide on hypotheses, and none is registered")
    if prereg.cohorts is not None:
        raise BadInputError("stopping_rule: looks are of tasks; take fixed_n, or no cohorts")
    of: dict[str, int] = {}
    for suite, _ in tasks:
        of[suite] = of.get(suite, 0) + 1
    for suite, count in of.items():
        if count < rule.looks:
            raise BadInputError(f"stopping_rule: {suite} has {count} tasks for {rule.looks} looks")
    tail = _first(1 / rule.looks, 1 - prereg.analysis.level)
    if tail * prereg.analysis.resamples < 1:
        raise BadInputError(
            f"stopping_rule: the first look needs analysis.resamples of {1 / tail:.0f} or more"
        )


def told(row: LookRow) -> str:
    """A look in a few words."""
    text = f"{row.look} of {row.of}: {row.tasks} tasks ({row.share:.0%}), |z| {row.bound:.3f}"
    return f"{text}; ended there, as registered" if row.stopped else text


def _first(share: float, alpha: float) -> float:
    """One side's error at the first look: `stats.sequential.spent`, without numpy."""
    normal = NormalDist()
    return 2 * normal.cdf(normal.inv_cdf(alpha / 4) / share**0.5)


def ends_here(verdicts: Mapping[str, str], families: Mapping[str, int]) -> bool:
    """Whether every claim of the first family is supported. Both by the claim's id."""
    first = min(families.values())
    return all(verdicts[name] == "supported" for name, of in families.items() if of == first)
