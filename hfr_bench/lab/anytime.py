"""Bounds of the registered claims that stand whenever a run stops, however often it is looked at.

An interval of fixed n is worth its level only if nobody stops because of what it shows. Nothing
keeps the maker from reading a report before the end; so each claim on a share also gets a
confidence sequence (`stats.sequential`), which holds at every number of tasks together. It decides
nothing: verdicts are by the registered rule. It is what is left of a claim when a budget ends an
experiment, and what a reader has who does not believe that nobody looked.

Tasks count in the registered order, and only as far as all trials of a claim's two arms are in:
else quick tasks, or tasks that somebody picked, would come first.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from hfr_bench.lab.confirm import holds
from hfr_bench.lab.looks import Stage, Task, tasks_of
from hfr_bench.model.anytime import AnytimeRow
from hfr_bench.model.prereg import Hypothesis, Preregistration
from hfr_bench.model.trial import PlanRow, Trial, TrialResult
from hfr_bench.stats.metrics import METRICS, Kind, each
from hfr_bench.stats.sequential import confidence_sequence

BOUNDED = frozenset(
    name
    for name, metric in METRICS.items()
    if metric.kind is Kind.PROPORTION and metric.den is each
)
"""Shares of all trials: a task's mean difference lies within [-1, 1], as the sequence asks."""


def anytime(
    prereg: Preregistration,
    rows: Sequence[PlanRow],
    main: Iterable[TrialResult],
    dropped: Collection[str],
    stage: Stage | None = None,
    *,
    complete: bool = True,
    valid: bool = True,
) -> tuple[AnytimeRow, ...]:
    """The rows, in the order of the claims.

    None of an experiment that is not valid, under cohorts, and between registered looks: there
    nothing is to be told.

    Args:
        prereg: its confirmatory hypotheses are told of.
        rows: the plan, as far as the report goes.
        main: graded trials of complete pair groups, controls left out.
        dropped: pair groups that were void in every round; their trials are not waited for.
        stage: the registered look that this is, if looks are; its level is the experiment's.
        complete: whether all of the plan is in.
        valid: whether the experiment is.
    """
    claims = [claim for claim in prereg.hypotheses if claim.metric in BOUNDED]
    due = complete or stage is None
    if prereg.cohorts is not None or not (claims and valid and due):
        return ()
    alpha = 1 - (prereg.analysis.level if stage is None else stage.level)
    level = 1 - alpha / len(claims)
    planned = [row for row in rows if row.control is None and row.trial.pair_group not in dropped]
    graded = list(main)
    return tuple(_row(claim, planned, graded, level) for claim in claims)


def _row(
    claim: Hypothesis, planned: Sequence[PlanRow], main: Iterable[TrialResult], level: float
) -> AnytimeRow:
    mine = [row for row in planned if row.trial.arm == claim.arm and _at(claim, row.trial)]
    order = tasks_of(mine)
    found = list(
        _first(claim, order, Counter((r.trial.suite, r.trial.task_id) for r in mine), main)
    )
    if not found:
        return AnytimeRow(id=claim.id, tasks=0, of=len(order), difference=None)
    lows, highs = confidence_sequence(found, level)
    borne = [
        holds(claim, float(low), float(high))[0] for low, high in zip(lows, highs, strict=True)
    ]
    return AnytimeRow(
        id=claim.id,
        tasks=len(found),
        of=len(order),
        difference=sum(found) / len(found),
        low=float(lows[-1]),
        high=float(highs[-1]),
        holds=borne[-1],
        since=borne.index(True) + 1 if True in borne else None,
    )


def _at(claim: Hypothesis, trial: Trial | TrialResult) -> bool:
    """Whether a trial is at the claim's rate, or at one of all rates above 0."""
    return trial.rate > 0 if claim.rate is None else trial.rate == claim.rate


def _first(
    claim: Hypothesis, order: Iterable[Task], due: Counter[Task], main: Iterable[TrialResult]
) -> Iterator[float]:
    """Mean paired differences of the first tasks of `order` that are whole.

    `due`: pairs planned of each task.
    """
    column = METRICS[claim.metric].num
    sums: dict[Task, Counter[str]] = defaultdict(Counter)
    for trial in main:
        if trial.arm in (claim.arm, claim.against) and _at(claim, trial):
            cell = sums[trial.suite, trial.task_id]
            cell[f"n {trial.arm}"] += 1
            cell[trial.arm] += column(trial) or 0
    for task in order:
        cell = sums[task]
        if not cell[f"n {claim.arm}"] == cell[f"n {claim.against}"] == due[task]:
            return
        yield (cell[claim.arm] - cell[claim.against]) / due[task]
