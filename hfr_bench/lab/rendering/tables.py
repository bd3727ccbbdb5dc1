"""A report as titled tables of short cells: what Markdown, HTML and the terminal all print.

The detailed tables; the first page is made of the same cells in `render.py`. Only words and
numbers are decided here, never layout. Every title carries the origin, and says so where the
experiment is smaller than the protocol asks.
"""

from collections.abc import Sequence

from hfr_bench.lab.rendering import disagree, tables_beliefs, tables_fronts, tables_mixes
from hfr_bench.lab.rendering.cells import (
    GEAR,
    Cell,
    Find,
    Table,
    cell,
    counted,
    difference,
    finder,
    head,
    named,
    ordered,
    single_rates,
    stressed_rates,
    titled,
    unbounded,
    yardsticks,
)
from hfr_bench.lab.rendering.tables_evidence import (
    checks,
    cohorts,
    delivery,
    delivery_by_arm,
    divergence,
    exposure,
    forks,
    observations,
    organic,
    prefixes,
    states,
    voids,
)
from hfr_bench.lab.rendering.tables_metrics import further
from hfr_bench.model.report import EXPLICIT, MIXED, POOLED, SILENT, Report

A = ("sr", "cost_mean", "p50", "p95", "harm_1000")
# Giving up must not win: success, clean success and harm stand before safe completion.
B = ("sr", "csr", "harm_1000", "scr", "scr_strict", "cps", "ra", "p95", "esc")
HARM = ("harm_1000", "dup_1000", "dup_ambiguous", "unwanted_1000")
CLAIMS = ("far", "scr_strict", "esc", "deg")
C = (*HARM, *CLAIMS)
PAIRED = ("sr", "csr", "harm_1000", "scr", "cost_mean", "p95")


def tables(report: Report) -> tuple[Table, ...]:
    """The detailed tables of a report, in reading order."""
    single = single_rates(report)
    made: list[Table | None] = [capability(report), ability(report), recovery(report, POOLED)]
    made += [recovery(report, rate) for rate in single]
    made += apart(report)
    wheres: tuple[float | str, ...] = (POOLED, *single)
    made += [table for where in wheres for table in safety(report, where)]
    made += [differences(report, rate) for rate in (None, 0.0, *single)]
    made += [tables_fronts.table(report), costs(report), *further(report)]
    made += [*tables_mixes.whole_mixes(report), *tables_mixes.effects(report)]
    made += [delivery(report), *delivery_by_arm(report), organic(report), *observations(report)]
    made += [tables_beliefs.together(report), *tables_beliefs.by_arm(report)]
    made += [exposure(report), forks(report), prefixes(report)]
    made += [divergence(report), states(report)]
    made += [disagree.table(report)]
    made += [cohorts(report), voids(report), checks(report)]
    return tuple(table for table in made if table is not None)


# -- tables A, B and C ------------------------------------------------------------------------


def capability(report: Report) -> Table:
    """What each arm is, what it may use, and which are yardsticks."""
    roles = yardsticks(report)
    known = {str(row["arm"]): row for row in report.capability}
    rows = [
        [Cell(arm), Cell(str(known[arm]["strategy"]))]
        + [Cell("yes" if known[arm].get(name) else ".") for name in GEAR]
        + [Cell(roles.get(arm, ""))]
        for arm in ordered(report)
        if arm in known
    ]
    legend = "What each arm may use: policy is not to be confused with equipment."
    header = ("Arm", "Strategy", *GEAR, "Yardstick")
    return titled(report, "What the arms are", header, rows, legend, left=8)


def _grid(report: Report, metrics: Sequence[str], where: float | str) -> list[list[Cell]]:
    find = finder(report)
    return [
        [Cell(arm), *(cell(find(metric, arm, where)) for metric in metrics)]
        for arm in ordered(report)
    ]


def _estimated(report: Report, where: float | str) -> bool:
    return any(where == (e.pool or e.rate) for e in report.estimates)


def ability(report: Report) -> Table | None:
    """Table A; None where rate 0 was not run."""
    if 0.0 not in report.rates:
        return None
    header = ["Arm", *(head(metric, report) for metric in A[:-1]), "Own harm/1000"]
    legend = "No faults: what recovery costs, and the arm's own harm (the model's mistakes)."
    legend += unbounded(finder(report), A, ordered(report), 0.0)
    return titled(report, "Table A: ability, no faults", header, _grid(report, A, 0.0), legend)


def recovery(report: Report, where: float | str) -> Table | None:
    """Table B at one rate, or of a pool; None for a pool that nothing was estimated for."""
    if not _estimated(report, where):
        return None
    header = ["Arm", *(head(metric, report) for metric in B)]
    legend = "Under faults. SR, CSR and harm come first: giving up must not win."
    legend += unbounded(finder(report), B, ordered(report), where)
    title = f"Table B: recovery, {named(report, where)}"
    return titled(report, title, header, _grid(report, B, where), legend)


def apart(report: Report) -> tuple[Table, ...]:
    """Table B of explicit and of silent kinds, where the plan has silent ones."""
    found = (recovery(report, pool) for pool in (EXPLICIT, SILENT, MIXED))
    return tuple(table for table in found if table is not None)


def safety(report: Report, where: float | str) -> tuple[Table, ...]:
    """Table C at one rate, or of a pool: what was done to the world, and what was claimed of it."""
    if not _estimated(report, where):
        return ()
    find = finder(report)
    harm = [
        [Cell(arm), *(counted(find(m, arm, where)) for m in HARM), _partial(find, arm, where)]
        for arm in ordered(report)
    ]
    claims = [
        [Cell(arm), *(counted(find(m, arm, where)) for m in CLAIMS)] for arm in ordered(report)
    ]
    harmed = "Events/trials, and their rate; ambiguous: of writes whose outcome was unknown."
    claimed = (
        "FAR: accepted, though the goal was not reached, of all accepted. SCR-strict counts "
        "giving up as safe: read it after success."
    )
    place = named(report, where)
    titles = (f"Table C: harm, {place}", f"Table C: claims, {place}")
    header = ("Arm", *(head(metric, report) for metric in HARM), "Partial")
    return (
        titled(report, titles[0], header, harm, harmed),
        titled(report, titles[1], ("Arm", *(head(m, report) for m in CLAIMS)), claims, claimed),
    )


def _partial(find: Find, arm: str, where: float | str) -> Cell:
    """Incomplete atomic groups: the harm that is neither duplicate nor unwanted."""
    found = [find(metric, arm, where) for metric in ("harm_1000", "dup_1000", "unwanted_1000")]
    counts = [estimate.events for estimate in found if estimate is not None]
    if len(counts) < 3 or found[0] is None or None in counts:
        return Cell("-")
    harm, duplicates, unwanted = (count or 0 for count in counts)
    return Cell(f"{harm - duplicates - unwanted}/{found[0].n}")


def differences(report: Report, rate: float | None) -> Table | None:
    """Paired differences at a rate, or (None) over all rates above 0."""
    pool = POOLED if rate is None else ""
    found = {
        (p.arm, p.against, p.metric): p
        for p in report.contrasts
        if p.rate == rate and p.pool == pool
    }
    pairs = dict.fromkeys((arm, against) for arm, against, _ in found)
    if not pairs:
        return None
    rows = [
        [Cell(f"{arm} - {against}"), *(difference(found.get((arm, against, m))) for m in PAIRED)]
        for arm, against in pairs
    ]
    header = ["Pair", *(head(metric, report).replace("%", "pp") for metric in PAIRED)]
    legend = (
        "First arm minus second, same tasks, seeds and faults. pp: percentage points; (a:b): "
        "pairs in which only the first, only the second arm has it. Too few differ: in fewer "
        f"than 10 {report.unit}s. Exploratory, uncorrected: claims are judged under hypotheses."
    )
    where: float | str = POOLED if rate is None else rate
    return titled(report, f"Paired differences, {named(report, where)}", header, rows, legend)


# -- what recovery costs ----------------------------------------------------------------------


def costs(report: Report) -> Table | None:
    """What recovering took: money, time, attempts; all rates above 0 against rate 0."""
    if not stressed_rates(report):
        return None
    find = finder(report)
    calm = 0.0 in report.rates
    rows = [
        [
            Cell(arm),
            *(_grown(find, metric, arm, calm=calm) for metric in ("cost_mean", "latency_mean")),
            *(cell(find(m, arm, POOLED)) for m in ("wait_mean", "recovery_mean", "ra", "late")),
        ]
        for arm in ordered(report)
    ]
    header = ["Arm", *(head(m, report) for m in COSTS)]
    legend = (
        "Means of a trial. In brackets: how much more than without faults; less where trials "
        "end early, their goal not reached."
    ) + unbounded(find, COSTS, ordered(report), POOLED)
    return titled(report, f"Cost of recovery, {named(report, POOLED)}", header, rows, legend)


COSTS = ("cost_mean", "latency_mean", "wait_mean", "recovery_mean", "ra", "late")


def _grown(find: Find, metric: str, arm: str, *, calm: bool) -> Cell:
    shown = cell(find(metric, arm, POOLED))
    before, after = find(metric, arm, 0.0), find(metric, arm, POOLED)
    if not calm or before is None or after is None or not before.value or after.value is None:
        return shown
    return Cell(f"{shown.main} ({after.value / before.value - 1:+.0%})", shown.extra)
