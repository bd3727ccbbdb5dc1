"""The registered claims, tested: p-values, Holm behind gates, joint bounds, and parts left out.

Only for a complete, valid experiment: before, no p-value is made, so that none can be looked at.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np

from hfr_bench.lab.book import Outlines
from hfr_bench.lab.look_bounds import repeated
from hfr_bench.lab.looks import Stage
from hfr_bench.model.prereg import Hypothesis, Lock, Preregistration
from hfr_bench.model.report import HypothesisRow, LeftOutRow
from hfr_bench.model.trial import PlanRow, TrialResult
from hfr_bench.stats.bootstrap import Unit, draw, strata
from hfr_bench.stats.columns import Columns, Picked
from hfr_bench.stats.confirm import Claim, Tested, examine, left_out
from hfr_bench.stats.estimate import Setting
from hfr_bench.stats.expand import reach
from hfr_bench.stats.multiplicity import gatekept, holm, simultaneous

Places = Callable[[TrialResult], Iterable[str]]


_OF_A_TOOL = frozenset({"tool", "prepare", "reconcile", "verify", "ledger"})
"""Points that belong to one tool: its calls, and those that are made for the strategy about it."""


def places_of(rows: Iterable[PlanRow], outlines: Outlines) -> Places:
    """Where faults are planned for a trial, the same in all arms of its group: tools, other points.

    A tool is named `tool:NAME`, at whichever of its points the fault is.
    """
    planned = {row.trial.trial_id: row.trial.schedule_id for row in rows}
    found = cache(lambda id_: frozenset(_place(event.point) for event in outlines(id_).events))
    return lambda trial: found(planned[trial.trial_id])


def _place(point: str) -> str:
    role, _, name = point.partition(":")
    return f"tool:{name}" if role in _OF_A_TOOL else point


def confirmed(
    prereg: Preregistration,
    lock: Lock,
    rows: Sequence[HypothesisRow],
    table: Columns,
    drawn: tuple[Sequence[Unit], dict[Unit, int]],
    places: Places,
    stage: Stage | None = None,
) -> dict[str, Any]:
    """The report's fields about registered claims: `hypotheses` and `left_out`.

    Args:
        prereg: what was registered.
        lock: its digest, which keys all chance.
        rows: the claims as their intervals bear them, in the registered order.
        table: all graded trials but the controls; empty while nothing may be told yet.
        drawn: the units, and each task's place among them (`lab.cohorts.drawn`).
        places: of each trial (`places_of`).
        stage: the registered look that this is, if looks are.
    """
    if not rows or not table.trials:
        return {"hypotheses": tuple(rows)}
    level = prereg.analysis.level
    counts = draw(drawn[0], prereg.analysis.resamples, lock.prereg_digest)
    behind = len(drawn[0]), strata(drawn[0])
    found, without = [], []
    for claim in prereg.hypotheses:
        rates = (
            [claim.rate] if claim.rate is not None else [rate for rate in table.rates() if rate > 0]
        )
        setting = Setting(claim.rate or 0.0, level, drawn[1], counts, strata=behind[1])
        ours, theirs = (table.cell(arm, rates) for arm in (claim.arm, claim.against))
        key = f"{lock.prereg_digest}\x00{claim.id}"
        found.append(examine(_claim(claim), ours, theirs, setting, key))
        without += _without(claim, ours.and_then(theirs), setting, places)
    return {"hypotheses": _adjusted(rows, found, level, stage, behind), "left_out": tuple(without)}


def _claim(claim: Hypothesis) -> Claim:
    return Claim(claim.metric, claim.arm, claim.against, claim.direction, claim.margin)


def _adjusted(
    rows: Sequence[HypothesisRow],
    found: Sequence[Tested],
    level: float,
    stage: Stage | None,
    behind: tuple[int, int],
) -> tuple[HypothesisRow, ...]:
    """The rows with what the tests found, and their verdicts held to it.

    `level`: of the intervals; at a look, p-values are held to that of the whole experiment.
    `behind`: units and strata.
    """
    told = [1.0 if one.p is None else one.p for one in found]
    held_to = [repeated(stage, p) for p in told] if stage else told
    families = [row.family for row in rows]
    # Without an interval the test alone decides.
    ps = gatekept(
        held_to, families, [row.low is None or row.verdict == "supported" for row in rows]
    )
    alone = _in_families(held_to, families)
    held = level if stage is None else stage.level
    able = [one.resampled is not None and one.difference is not None for one in found]
    joint = simultaneous(
        [one.difference or 0.0 for one in found],
        [np.array([]) if one.resampled is None else one.resampled for one in found],
        level,
        lambda errors: reach(errors, *behind),
    )
    made = []
    for n, (row, one, p, bounds) in enumerate(zip(rows, found, ps, joint, strict=True)):
        fields = {"p": one.p, "test": one.test, "better": one.better, "worse": one.worse}
        if one.p is not None:
            fields |= {"p_adjusted": p, **_verdict(row, p, alone[n], held)}
        if able[n] and row.method == "bootstrap":
            fields |= {"joint_low": bounds.low, "joint_high": bounds.high}
        made.append(row.model_copy(update=fields))
    return tuple(made)


def _in_families(ps: Sequence[float], families: Sequence[int]) -> list[float]:
    """Holm's p-values inside each family, as if no gate stood before it."""
    made = [1.0] * len(ps)
    for family in set(families):
        places = [n for n, one in enumerate(families) if one == family]
        for n, p in zip(places, holm([ps[n] for n in places]), strict=True):
            made[n] = p
    return made


def _verdict(row: HypothesisRow, p: float, alone: float, level: float) -> dict[str, Any]:
    """A verdict by interval and test together; by the test alone where there is no interval.

    `p`, `alone`: adjusted behind the gates, and in its family only.
    """
    small = p <= 1 - level
    shut = not small and alone <= 1 - level
    size = "is at most" if small else "is above"
    why = f"the adjusted p {size} {1 - level:.3g}"
    if shut:
        why = "not tested: a claim of an earlier family is not supported"
    if row.low is None or row.high is None:
        verdict = "supported" if small else "not supported"
        return {"verdict": verdict, "why": f"no interval ({row.why}); {why}"}
    if row.verdict == "supported" and not small:
        return {"verdict": "not supported", "why": f"{row.why}, but {why}"}
    return {}


def _without(
    claim: Hypothesis, trials: Picked, setting: Setting, places: Places
) -> list[LeftOutRow]:
    """The claim without each suite, seed, tool and other point; nothing where one is all."""
    kinds: Mapping[Literal["suite", "seed", "point"], Places] = {
        "suite": lambda trial: (trial.suite,),
        "seed": lambda trial: (str(trial.seed),),
        "point": places,
    }
    made = []
    for kind, parts in kinds.items():
        for part, left in left_out(_claim(claim), trials, parts, setting):
            same = ("pairs", "tasks", "difference", "low", "high", "method", "note")
            row: dict[str, Any] = {name: getattr(left, name) for name in same}
            if left.low is not None and left.high is not None:
                row["holds"] = holds(claim, left.low, left.high)[0]
            made.append(LeftOutRow(id=claim.id, kind=kind, part=part, **row))
    return made


def holds(claim: Hypothesis, low: float, high: float) -> tuple[bool, str]:
    """Whether a whole interval is where the claim says, and where it is instead."""
    margin = claim.margin
    if claim.direction == "equal":
        inside = -margin < low and high < margin
        return inside, f"interval {'within' if inside else 'reaches beyond'} the margin"
    beyond, short = "above", "below"
    if claim.direction == "less":
        low, high = -high, -low
        beyond, short = short, beyond
    line = "the margin" if margin else "0"
    if low > margin:
        return True, f"interval {beyond} {line}"
    return False, f"interval {short if high < margin else 'includes'} {line}"
