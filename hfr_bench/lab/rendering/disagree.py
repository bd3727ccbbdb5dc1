"""Pair groups in which two arms end differently: how many, of what sort, and a few of each to see.

Two trials of a pair met the same planned faults, so where they end differently, their recovery (or
the model, in live runs) made the difference. Which ones are shown is drawn by a key, not chosen.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from hfr_bench.faults.draw import uniform
from hfr_bench.lab.rendering.cells import Cell, Table, titled
from hfr_bench.model.findings import Disagreement, DisagreementRow, Ended, Sort
from hfr_bench.model.report import Report
from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.metrics import outcome

End = tuple[bool, int, str]
"""Whether a trial succeeded, its harm, and how it ended."""

SHOWN = 2
"""Pairs of each sort that a contrast shows."""
SORTS: tuple[Sort, ...] = ("won", "lost", "harm", "end")
WORDS = {
    "won": "only the first succeeded",
    "lost": "only the second succeeded",
    "harm": "same success, other harm",
    "end": "same success and harm, other end",
}
LEGEND = (
    "Pair groups at rates above 0 in which the two arms end differently, each counted once, in the "
    "first column that fits. `hfr-bench compare DIR ARM OTHER` lists those of the first three."
)


def disagreements(
    pairs: Iterable[tuple[str, str]], main: Iterable[TrialResult], seed: str
) -> tuple[DisagreementRow, ...]:
    """A row a contrast.

    Args:
        pairs: the contrasts, (arm, against).
        main: graded trials of the last complete rounds, controls left out.
        seed: the preregistration's digest, which keys the choice of those that are shown.
    """
    groups: dict[str, dict[str, tuple[TrialResult, End]]] = {}
    for result in main:
        if result.rate > 0:
            groups.setdefault(result.pair_group, {})[result.arm] = result, end_of(result)
    return tuple(_row(arm, against, groups, seed) for arm, against in pairs)


def _row(
    arm: str, against: str, groups: Mapping[str, Mapping[str, tuple[TrialResult, End]]], seed: str
) -> DisagreementRow:
    found: dict[Sort, list[tuple[float, TrialResult, TrialResult]]] = {name: [] for name in SORTS}
    pairs = 0
    for name, trials in groups.items():
        if arm in trials and against in trials:
            pairs += 1
            (ours, mine), (theirs, other) = trials[arm], trials[against]
            if mine != other and (sort := _sort(mine, other)) is not None:
                key = uniform("disagreement", seed, arm, against, name)
                found[sort].append((key, ours, theirs))
    shown = tuple(
        _told(sort, ours, theirs)
        for sort, of in found.items()
        for _, ours, theirs in sorted(of, key=lambda one: (one[0], one[1].pair_group))[:SHOWN]
    )
    counts = {sort: len(of) for sort, of in found.items()}
    return DisagreementRow(arm=arm, against=against, pairs=pairs, shown=shown, **counts)


def sort_of(ours: TrialResult, theirs: TrialResult) -> Sort | None:
    """In what two graded trials of a pair disagree; None if in nothing."""
    return _sort(end_of(ours), end_of(theirs))


def end_of(trial: TrialResult) -> End:
    """What two graded trials are compared by. Raises ValueError for a void."""
    of = outcome(trial)
    return of.succeeded, of.harm, of.end


def _sort(ours: End, theirs: End) -> Sort | None:
    if ours == theirs:
        return None
    if ours[0] != theirs[0]:
        return "won" if ours[0] else "lost"
    return "harm" if ours[1] != theirs[1] else "end"


def _told(sort: Sort, ours: TrialResult, theirs: TrialResult) -> Disagreement:
    same = ("suite", "task_id", "seed", "rate", "pair_group", "round")
    fields = {name: getattr(ours, name) for name in same}
    return Disagreement(sort=sort, ours=_ended(ours), theirs=_ended(theirs), **fields)


def _ended(result: TrialResult) -> Ended:
    of = outcome(result)
    return Ended(
        trial_id=result.trial_id,
        end=of.end,
        reason=of.reason,
        succeeded=of.succeeded,
        duplicates=of.duplicates,
        unwanted=of.unwanted,
        partial=of.partial,
    )


def table(report: Report) -> Table | None:
    """How often the arms of each contrast end differently; None without a contrast."""
    rows = [
        [
            Cell(f"{row.arm} - {row.against}"),
            *(Cell(str(getattr(row, sort))) for sort in SORTS),
            Cell(str(row.pairs)),
        ]
        for row in report.disagreements
    ]
    sorts = ("Only first\nsucceeded", "Only second\nsucceeded", "Other\nharm", "Other\nend")
    header = ("Pair", *sorts, "Pairs")
    return titled(report, "Where arms end differently", header, rows, LEGEND) if rows else None


def ended(one: Ended) -> str:
    """A trial's end in a few words."""
    harm = [
        f"{n} {name}"
        for name, n in (
            ("duplicate", one.duplicates), ("unwanted", one.unwanted), ("partial", one.partial)
        )
        if n
    ]  # fmt: skip
    won = "succeeded" if one.succeeded else "did not succeed"
    reason = f" ({one.reason})" if one.reason else ""
    return ", ".join([f"{one.end.value}{reason}", won, *harm])


def shown(rows: Sequence[DisagreementRow]) -> Iterator[tuple[DisagreementRow, Disagreement]]:
    """What is shown, the first of every contrast before the second of any."""
    most = max((len(row.shown) for row in rows), default=0)
    for n in range(most):
        yield from ((row, row.shown[n]) for row in rows if n < len(row.shown))
