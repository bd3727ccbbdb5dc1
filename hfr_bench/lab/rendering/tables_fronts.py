"""The table of the Pareto fronts: which arms are on them, and in what share of the resamples."""

from hfr_bench.lab.rendering.cells import Cell, Table, faulty, ordered, short, titled
from hfr_bench.model.findings import FrontRow
from hfr_bench.model.report import Report
from hfr_bench.stats.metrics import METRICS
from hfr_bench.stats.names import SPENT

LEGEND = (
    "In what share of the resamples the arm is on the front: no other does as well in success, "
    "spending and harm, and better in one. Behind it, whether it is on the front of all that was "
    "measured. No p-value, and none below 10 tasks. Harm that was never seen is in no resample: "
    "its bound is in Table C. Yardsticks are left out."
)


def table(report: Report) -> Table | None:
    """A line an arm: on the front or not, over all rates above 0 and at each; None without any."""
    found = {(row.arm, row.against, row.pool or row.rate): row for row in report.fronts}
    wheres = list(dict.fromkeys(row.pool or row.rate for row in report.fronts))
    if not found:
        return None
    columns = [(metric, where) for metric in SPENT for where in wheres]
    rows = [
        [Cell(arm), *(_cell(found.get((arm, *column))) for column in columns)]
        for arm in ordered(report)
        if any((arm, *column) in found for column in columns)
    ]
    header = [f"{METRICS[metric].short}, {_place(report, where)}" for metric, where in columns]
    return titled(report, f"Pareto front, {faulty(report)}", ("Arm", *header), rows, LEGEND)


def _place(report: Report, where: float | str | None) -> str:
    """Where a front was looked at, in a word: the title says what is pooled."""
    return short(report, where) if isinstance(where, float) else "pooled"


def _cell(row: FrontRow | None) -> Cell:
    if row is None:
        return Cell("-")
    place = "on" if row.on_front else "off"
    return Cell(place) if row.share is None else Cell(f"{row.share:.0%}", place)
