"""What a claim must reach at a registered look (`lab.looks`), and how a p-value is told there."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

from hfr_bench.lab.looks import Stage, stage_of, tasks_of
from hfr_bench.model.looks import LookRow
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.trial import PlanRow
from hfr_bench.stats.sequential import looks

_MOST, _NEAR, _AHEAD, _STEPS = 0.999, 1e-9, 0.01, 12


def bound(stage: Stage) -> float:
    """|z| that a claim must reach."""
    return looks(stage.shares, stage.level)[-1]


def level_at(stage: Stage) -> float:
    """1 - the two-sided error that belongs to this look: the level of its intervals."""
    return 1 - _error(stage.shares, 1 - stage.level)


def repeated(stage: Stage, p: float) -> float:
    """The error of a whole experiment at which this p, at this look, would just be enough.

    A repeated p-value: held to `1 - level` like any other, adjusted for several claims like any
    other. Rises with p, and is at least p.
    """
    if p <= 0:
        return 0.0
    if p > _MOST:
        return 1.0
    # The secant method on the scale of z, where the error at a look is nearly a straight line.
    goal = float(ndtri(p))
    at, last = goal + _AHEAD, goal
    off, before = _off(stage, at, goal), _off(stage, last, goal)
    for _ in range(_STEPS):
        if abs(off) < _NEAR or off == before:
            break
        at, last, before = at - off * (at - last) / (off - before), at, off
        off = _off(stage, at, goal)
    return max(p, min(1.0, float(ndtr(at))))


def _off(stage: Stage, at: float, goal: float) -> float:
    """How far the error at this look is from a goal, on the scale of z."""
    return float(ndtri(_error(stage.shares, min(_MOST, float(ndtr(at)))))) - goal


@lru_cache(maxsize=256)
def _error(shares: tuple[float, ...], alpha: float) -> float:
    """Two-sided error at the last of some looks, if alpha is spent over all of them."""
    return float(2 * ndtr(-looks(shares, 1 - alpha)[-1]))


def look_row(stage: Stage) -> LookRow:
    """As the report tells it."""
    return LookRow(
        look=stage.look,
        of=stage.of,
        share=stage.shares[-1],
        tasks=len(tasks_of(stage.rows)),
        trials=len(stage.rows),
        bound=bound(stage),
        stopped=stage.look < stage.of,
    )


def at_look(
    prereg: Preregistration, rows: Sequence[PlanRow], folder: Path, look: int | None
) -> tuple[Preregistration, Sequence[PlanRow], Stage | None]:
    """What a report at a look is of: intervals at its own level, the plan up to it (`stage_of`)."""
    stage = stage_of(prereg, rows, folder, look)
    if stage is None:
        return prereg, rows, None
    analysis = prereg.analysis.model_copy(update={"level": level_at(stage)})
    return prereg.model_copy(update={"analysis": analysis}), stage.rows, stage
