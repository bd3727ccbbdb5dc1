"""Tables about the registered claims beside their verdicts: tests, and parts left out."""

from collections.abc import Iterator

from hfr_bench.lab.rendering.cells import (
    Cell,
    Table,
    bounds_of,
    bracketed,
    exact_mark,
    signed,
    titled,
)
from hfr_bench.model.report import HypothesisRow, LeftOutRow, Report
from hfr_bench.stats.metrics import METRICS


def tests(report: Report) -> Table | None:
    """Each claim's test: units for and against, p, adjusted p, joint bounds; None before any."""
    rows = [
        [
            Cell(row.id),
            Cell(str(row.family)),
            Cell(row.test),
            Cell("-" if row.better is None else f"{row.better}:{row.worse}"),
            Cell(_p(row.p)),
            Cell(_p(row.p_adjusted)),
            Cell(_joint(row)),
        ]
        for row in report.hypotheses
        if row.test
    ]
    header = ("ID", "Family", "Test", f"{report.unit}s +:-", "p", "p adjusted", "Joint interval")
    legend = (
        f"{report.unit}s +:-: with a difference above and below 0. p: two-sided, 1 if it leans the "
        "other way. Adjusted: Holm in a family, families in order. Joint: all hold together."
    )
    title = "Tests of the registered hypotheses"
    return titled(report, title, header, rows, legend, left=3) if rows else None


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return f"{p:.3f}" if p >= 0.0005 else "<0.0005"


def _joint(row: HypothesisRow) -> str:
    return bracketed(bounds_of(row.joint_low, row.joint_high, METRICS[row.metric].unit)) or "-"


def anytime(report: Report) -> Table | None:
    """Bounds that stand whenever a run stops; None without a claim that can have them."""
    metric = {row.id: row.metric for row in report.hypotheses}
    rows = [
        [
            Cell(row.id),
            Cell(f"{row.tasks}/{row.of}"),
            Cell("-")
            if row.difference is None
            else Cell(
                signed(row.difference, METRICS[metric[row.id]].unit),
                bracketed(bounds_of(row.low, row.high, METRICS[metric[row.id]].unit)),
            ),
            Cell("yes" if row.holds else "no"),
            Cell("-" if row.since is None else str(row.since)),
        ]
        for row in report.anytime
    ]
    header = ("ID", "Tasks", "Difference", "Holds", "Since task")
    legend = (
        "Over the first tasks, in the registered order, that are whole. The bounds hold together, "
        "at every number of tasks: however often anybody looked, and whenever the run stopped. "
        "They are wider for that, and decide nothing: verdicts are by the registered rule."
    )
    title = "Registered hypotheses, bounds at any time"
    return titled(report, title, header, rows, legend) if rows else None


def csv_rows(report: Report) -> Iterator[dict[str, object]]:
    """The bounds at any time, a line a claim."""
    claims = {row.id: row for row in report.hypotheses}
    for row in report.anytime:
        claim = claims[row.id]
        yield {
            "row": "anytime", "metric": claim.metric, "arm": claim.arm, "against": claim.against,
            "rate": claim.rate, "pool": claim.pool, "value": row.difference, "low": row.low,
            "high": row.high, "method": "confidence sequence", "tasks": row.tasks,
            "note": f"{row.id}: {'holds' if row.holds else 'does not hold'}; of {row.of} tasks",
        }  # fmt: skip


def left_out(report: Report) -> Table | None:
    """Each claim without one suite, one seed, one point; None where there is none to leave out."""
    metric = {row.id: row.metric for row in report.hypotheses}
    rows = [
        [
            Cell(row.id),
            Cell(f"{row.kind} {row.part}".replace("point tool:", "tool ")),
            Cell(str(row.pairs)),
            _left(row, METRICS[metric[row.id]].unit),
            Cell({True: "yes", False: "no", None: "cannot be told"}[row.holds]),
        ]
        for row in report.left_out
    ]
    header = ("ID", "Without", "Pairs", "Difference", "Holds")
    legend = (
        "The claim on what is left, uncorrected. A tool or point: without all pair groups with a "
        "fault planned there. A claim that stands on one part alone says so here."
    )
    title = "Registered hypotheses, one part left out"
    return titled(report, title, header, rows, legend, left=2) if rows else None


def _left(row: LeftOutRow, unit: str) -> Cell:
    if row.difference is None:
        return Cell("-", row.note)
    bounds = bracketed(bounds_of(row.low, row.high, unit)) + exact_mark(row.method)
    return Cell(signed(row.difference, unit), bounds if row.low is not None else row.note)
