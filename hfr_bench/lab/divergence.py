"""Where the trials of a pair group part, and which of them met only explicit or silent kinds.

All arms of a pair group run under one schedule, but after the first fault one gives up, one asks
for something else: coordinates stay, content may not (DESIGN §5). Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from statistics import median_low
from typing import Any, NamedTuple

from hfr_bench.lab.book import Outline, Outlines
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.report import EXPLICIT, MIXED, SILENT, DivergenceRow
from hfr_bench.model.schedule import FaultSchedule, KindSpec
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import Trial, TrialResult

TRUTH = "oracle_recovery"
AGENT = "agent"


class Course(NamedTuple):
    """A trial's logical steps in order, by what each asked for; and its first failed step.

    `asked`: point and request of each step's first attempt of the agent's, in short. `failed`:
    index of the first step with an attempt that got no answer, None if all were answered.
    """

    asked: tuple[str, ...]
    failed: int | None


def path(events: Iterable[TraceEvent]) -> Course:
    """A trial's path from its trace; bodies other than attempts are ignored."""
    asked: dict[int, str] = {}
    place: dict[int, int] = {}
    failed = None
    for event in events:
        body: Any = event.body
        kind = body.type
        if kind == "attempt_started" and body.purpose == AGENT:
            if event.step not in asked:
                place[event.step] = len(asked)
                asked[event.step] = f"{body.point} {body.request_digest[:16]}"
        elif kind == "attempt_ended" and failed is None and not body.answered:
            # A read made for the strategy before the step's own attempt belongs to that step.
            failed = place.get(event.step, len(asked))
    return Course(tuple(asked.values()), failed)


def parting(one: Course, other: Course) -> int | None:
    """Index of the first step that differs; None if the paths are the same."""
    if one.asked == other.asked:  # nearly always, and told at once
        return None
    for index, (ours, theirs) in enumerate(zip(one.asked, other.asked, strict=False)):
        if ours != theirs:
            return index
    shorter = min(len(one.asked), len(other.asked))
    return None if len(one.asked) == len(other.asked) else shorter


def reference(prereg: Preregistration) -> str:
    """The arm that others are held against: the one that sees the truth, else the baseline."""
    told = [arm.name for arm in prereg.arms if arm.strategy == TRUTH]
    return told[0] if told else prereg.analysis.baseline


def divergence(
    against: str, paths: Iterable[tuple[Trial, Course]], rates: Sequence[float]
) -> tuple[DivergenceRow, ...]:
    """One row an arm and rate, in the order in which they come; rate 0 is left out.

    Args:
        against: the arm that the others are held against.
        paths: the trials of complete pair groups, controls left out.
        rates: which to tell of.
    """
    groups: dict[str, dict[str, Course]] = {}
    cells: dict[tuple[str, float], list[str]] = {}
    for trial, found in paths:
        groups.setdefault(trial.pair_group, {})[trial.arm] = found
        if trial.arm != against and trial.rate in rates and trial.rate > 0:
            cells.setdefault((trial.arm, trial.rate), []).append(trial.pair_group)
    rows = []
    for (arm, rate), named in cells.items():
        pairs = [(groups[name][arm], groups[name][against]) for name in named]
        rows.append(_row(arm, against, rate, pairs))
    return tuple(rows)


def _row(
    arm: str, against: str, rate: float, pairs: Sequence[tuple[Course, Course]]
) -> DivergenceRow:
    steps, after, faulted = [], [], 0
    for ours, theirs in pairs:
        failed = min((p.failed for p in (ours, theirs) if p.failed is not None), default=None)
        faulted += failed is not None
        parted = parting(ours, theirs)
        if parted is not None:
            steps.append(parted + 1)
            if failed is not None:
                after.append(parted - failed)
    return DivergenceRow(
        arm=arm,
        against=against,
        rate=rate,
        groups=len(pairs),
        faulted=faulted,
        diverged=len(steps),
        step=median_low(steps) if steps else None,
        after=median_low(after) if after else None,
    )


def pools(
    trials: Iterable[TrialResult],
    planned: Mapping[str, str],
    outlines: Outlines,
    kinds: Mapping[str, KindSpec],
) -> dict[str, list[TrialResult]]:
    """Trials under faults by whether their schedule holds explicit kinds, silent ones, or both.

    By what was scheduled, never by what was reached: an arm chooses what it reaches. Empty unless
    some schedule holds a silent kind: then `POOLED` says it all.

    Args:
        trials: graded trials of all arms; those at rate 0 are left out.
        planned: a trial's schedule_id, by trial_id.
        outlines: a schedule by its id, in short.
        kinds: fault kinds by name.
    """
    found: dict[str, list[TrialResult]] = {EXPLICIT: [], SILENT: [], MIXED: []}
    pool_of = cache(lambda schedule_id: _pool(outlines(schedule_id), kinds))
    for trial in trials:
        if trial.rate > 0 and (pool := pool_of(planned[trial.trial_id])):
            found[pool].append(trial)
    if not found[SILENT] and not found[MIXED]:
        return {}
    return {pool: members for pool, members in found.items() if members}


def _pool(schedule: FaultSchedule | Outline, kinds: Mapping[str, KindSpec]) -> str:
    """Where a schedule belongs; "" if nothing is planned in it."""
    silent = {kinds[kind].silent for kind in {event.kind for event in schedule.events}}
    if not silent:
        return ""
    return MIXED if len(silent) > 1 else SILENT if True in silent else EXPLICIT
