"""Tables of the further metrics: escalations, checks, waste, utility, risk against coverage."""

from collections.abc import Iterator, Mapping, Sequence

from hfr_bench.lab.rendering.cells import (
    Cell,
    Find,
    Table,
    bounds_of,
    bracketed,
    cell,
    counted,
    difference,
    head,
    named,
    number,
    ordered,
    titled,
    unbounded,
)
from hfr_bench.model.report import POOLED, Estimate, Report
from hfr_bench.model.terms import CheckLevel
from hfr_bench.model.worth import UtilityRow
from hfr_bench.stats.metrics import METRICS

CALLED = ("esc_needed", "esc_needless", "esc_missed", "never_safe", "safe_mean")
SPENT = ("wasted_mean", "wasted_share", "tokens_mean", "calls_mean", "quality_delta")
SPENT_PAIRED = ("wasted_mean", "tokens_mean", "calls_mean", "esc_needless", "never_safe")


def further(report: Report) -> Iterator[Table]:
    """The tables, in reading order; none without trials at a rate above 0."""
    if not any(one.pool == POOLED for one in report.further):
        return
    yield escalations(report)
    yield spent(report)
    yield from _differences(report)
    yield from checks(report)
    yield from utility(report)
    yield risk(report)


def _find(report: Report) -> Find:
    found = {(e.metric, e.arm, e.pool or e.rate): e for e in report.further}
    return lambda metric, arm, where: found.get((metric, arm, where))


def escalations(report: Report) -> Table:
    """Who was called, with and without need; and who got safe, and when."""
    find = _find(report)
    rows = [
        [
            Cell(arm),
            *(counted(find(name, arm, POOLED)) for name in CALLED[:4]),
            cell(find("safe_mean", arm, POOLED)),
        ]
        for arm in ordered(report)
    ]
    legend = (
        "k/n trials. Needed: handed over after a fault that leaves only a person. Needless: "
        "nothing that was met needed one. Missed: it did, and the trial was neither handed over "
        "nor done without harm. Never safe: met a fault, and ended neither done nor truly handed "
        "over, without harm. To safety: from the first fault, people's delay included."
    ) + unbounded(find, CALLED, ordered(report), POOLED)
    header = ["Arm", *(head(name, report) for name in CALLED)]
    return titled(report, f"Escalations, {named(report, POOLED)}", header, rows, legend)


def spent(report: Report) -> Table:
    """Money for nothing, tokens, calls, and what degrading cost in quality."""
    find = _find(report)
    rows = [
        [Cell(arm), *(cell(find(name, arm, POOLED)) for name in SPENT)] for arm in ordered(report)
    ]
    legend = (
        "Means of a trial. Wasted: all that trials without success cost; of the others, attempts "
        "without an answer. Calls: attempts, and reads for the strategy. Quality: the suite's own "
        "score of degraded trials minus their fault-free twins', in points of 100."
    ) + unbounded(find, SPENT, ordered(report), POOLED)
    header = ["Arm", *(head(name, report) for name in SPENT)]
    return titled(report, f"Waste, tokens, calls, {named(report, POOLED)}", header, rows, legend)


def _differences(report: Report) -> Iterator[Table]:
    found = {(p.arm, p.against, p.metric): p for p in report.further_contrasts if p.pool == POOLED}
    pairs = dict.fromkeys((arm, against) for arm, against, _ in found)
    rows = [
        [Cell(f"{a} - {b}"), *(difference(found.get((a, b, name))) for name in SPENT_PAIRED)]
        for a, b in pairs
    ]
    if rows:
        header = ["Pair", *(head(name, report).replace("%", "pp") for name in SPENT_PAIRED)]
        title = f"Paired differences of waste and calls, {named(report, POOLED)}"
        legend = "First arm minus second, same tasks, seeds and faults."
        yield titled(report, title, header, rows, legend)


def checks(report: Report) -> Iterator[Table]:
    """Alpha and beta of each level at which something was checked, beside FAR."""
    find = _find(report)
    last = {(e.metric, e.arm): e for e in report.estimates if e.pool == POOLED}
    levels = [
        level
        for level in CheckLevel
        if any(_has(find(f"{name}_{level.value.lower()}", arm, POOLED))
               for name in ("alpha", "beta") for arm in report.arms)
    ]  # fmt: skip
    if not levels:
        return
    names = [f"{name}_{level.value.lower()}" for level in levels for name in ("alpha", "beta")]
    rows = [
        [
            Cell(arm),
            *(counted(find(name, arm, POOLED)) for name in names),
            counted(last.get(("far", arm))),
        ]
        for arm in ordered(report)
    ]
    legend = (
        "Alpha: of answers that a silent fault had altered, those that a check of the level let "
        "pass. Beta: of all others, those that it did not (the model's own mistakes among them). "
        "FAR: of accepted trials, those whose goal was not reached."
    )
    header = ["Arm", *(head(name, report) for name in names), head("far", report)]
    yield titled(report, f"Errors of checks, {named(report, POOLED)}", header, rows, legend)


def _has(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.n > 0


def utility(report: Report) -> Iterator[Table]:
    """Utility at each pair of prices, an arm a row; break-even prices against the baseline."""
    prices = list(dict.fromkeys((row.human, row.harm) for row in report.utility))
    found = {(row.arm, row.human, row.harm): row for row in report.utility}
    if not prices:
        return
    header = ("Arm", *(f"{human:g} / {harm:g}" for human, harm in prices))
    rows = [
        [Cell(arm), *(_worth(found[arm, *price]) for price in prices)] for arm in ordered(report)
    ]
    legend = (
        "Successes a trial, less people and harm at the price above (person / harmful effect, in "
        "successes). No interval where fewer than 10 tasks differ."
    )
    yield titled(report, f"Utility, {named(report, POOLED)}", header, rows, legend)
    yield _break_even(report, prices, found)
    if any(row.regret is not None for row in report.utility):
        rows = [
            [Cell(arm), *(_regret(found[arm, *price]) for price in prices)]
            for arm in ordered(report)
        ]
        legend = "What the arm that sees the truth has more, same tasks, seeds and faults."
        yield titled(report, f"Regret, {named(report, POOLED)}", header, rows, legend)


Prices = Sequence[tuple[float, float]]
Rows = Mapping[tuple[str, float, float], UtilityRow]


def _break_even(report: Report, prices: Prices, found: Rows) -> Table:
    """Of an arm and the baseline: the price of harm at each price of people, and the reverse."""
    people = list(dict.fromkeys(human for human, _ in prices))
    harms = list(dict.fromkeys(harm for _, harm in prices))
    rows = [
        [
            Cell(arm),
            *(_even(found[arm, human, harms[0]].even_harm) for human in people),
            *(_even(found[arm, people[0], harm].even_human) for harm in harms),
        ]
        for arm in ordered(report)
        if arm != report.baseline
    ]
    header = (
        "Arm",
        *(f"harm, person at {human:g}" for human in people),
        *(f"person, harm at {harm:g}" for harm in harms),
    )
    legend = (
        "The price of a harmful effect (of a person), in successes, at which the arm is worth as "
        f"much as {report.baseline}; - where no price does."
    )
    title = f"Break-even prices against {report.baseline}, {named(report, POOLED)}"
    return titled(report, title, header, rows, legend)


def _worth(row: UtilityRow) -> Cell:
    if row.value is None:
        return Cell("-")
    return Cell(f"{row.value:.2f}", bracketed(bounds_of(row.low, row.high, "ratio")))


def _regret(row: UtilityRow) -> Cell:
    if row.regret is None:
        return Cell("-")
    bounds = bounds_of(row.regret_low, row.regret_high, "ratio")
    return Cell(f"{row.regret:.2f}", bracketed(bounds))


def _even(price: float | None) -> Cell:
    return Cell("-" if price is None else f"{price:.2f}")


def risk(report: Report) -> Table:
    """The risk-coverage curves: a row a point."""
    rows: list[Sequence[Cell]] = []
    for arm in ordered(report):
        for row in report.coverage:
            if row.arm != arm:
                continue
            share = f" ({number(row.covered / row.n, 'share')} %)" if row.n else ""
            wrong = number(row.wrong / row.covered, "share") if row.covered else "-"
            bounds = bracketed(bounds_of(row.low, row.high, "share"))
            rows.append([
                Cell(arm),
                Cell("all" if row.extra is None else f"≤ {row.extra}"),
                Cell(f"{row.covered}/{row.n}{share}"),
                Cell(f"{row.wrong}/{row.covered}", f"{wrong} {bounds}".strip()),
            ])  # fmt: skip
    legend = (
        "If all but the accepted trials with so few attempts beyond one a step had been given "
        "up: the share that is left (coverage), and of it what missed the goal or did harm "
        f"(risk, exact bounds). FAR is the risk of {METRICS['far'].per}, harm not counted."
    )
    header = ("Arm", "Extra attempts", "Coverage", "Risk, %")
    title = f"Risk against coverage, {named(report, POOLED)}"
    return titled(report, title, header, rows, legend, left=2)
