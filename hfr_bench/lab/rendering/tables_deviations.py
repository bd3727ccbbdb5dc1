"""What is not as registered, as a table and as rows of the CSV."""

from collections.abc import Iterator
from typing import Any

from hfr_bench.lab.deviations import EXPECTED
from hfr_bench.lab.rendering.cells import Cell, Table, titled
from hfr_bench.model.report import Report

NONE = "None: everything that can be told from plan and traces is as registered."
_LEGEND = "Found in plan and traces; nobody was asked."
_UNMET = (
    " Schedules cover more steps than a trial comes to, and arms part after their first fault: "
    "effects are those of planned faults, met or not."
)


def deviations(report: Report, *, brief: bool = False) -> Table | None:
    """All deviations; None without any. `brief`: without the one that every experiment has."""
    shown = [row for row in report.deviations if not (brief and row.what == EXPECTED)]
    rows = [
        [
            Cell(row.what),
            Cell(row.detail or "-"),
            Cell(f"{row.count}/{row.of}" if row.of else str(row.count)),
        ]
        for row in shown
    ]
    legend = _LEGEND + (_UNMET if any(row.what == EXPECTED for row in shown) else "")
    header = ("What", "Detail", "Count")
    title = "Deviations from the registration"
    return titled(report, title, header, rows, legend, left=2) if rows else None


def csv_rows(report: Report) -> Iterator[dict[str, Any]]:
    """A line each: `metric` is what, `value` how often, `n` of how many."""
    for row in report.deviations:
        yield {
            "row": "deviation", "metric": row.what, "value": row.count, "n": row.of or "",
            "note": row.detail,
        }  # fmt: skip
