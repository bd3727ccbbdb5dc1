"""The tables of what was injected and what arms took it for (`lab.believed`)."""

from collections import Counter

from hfr_bench.lab.rendering.cells import Cell, Table, ordered, titled
from hfr_bench.model.report import Report
from hfr_bench.model.terms import FaultClass

LEGEND = (
    "Attempts of the agent's that met a fault of a kind, by the class that the arm names in its "
    "first decision that names one, before its next attempt. None: it names none, because it does "
    "not classify such an answer or did not notice."
)


def together(report: Report) -> Table | None:
    """All arms that name classes, in one table; None where there is none."""
    arms = _arms(report)
    text = f"Arms: {', '.join(arms)}. "
    return _table(report, "Injected, and taken for", set(arms), text) if arms else None


def by_arm(report: Report) -> tuple[Table, ...]:
    """The same for each of them, where there are several."""
    arms = _arms(report)
    made = [_table(report, f"Injected, and taken for: {arm}", {arm}, "") for arm in arms]
    return tuple(made) if len(arms) > 1 else ()


def _arms(report: Report) -> list[str]:
    naming = {row.arm for row in report.beliefs}
    return [arm for arm in ordered(report) if arm in naming]


def _table(report: Report, title: str, arms: set[str], text: str) -> Table:
    sums: Counter[tuple[str, str, str]] = Counter()
    for row in report.beliefs:
        if row.arm in arms:
            sums[row.layer, row.kind, row.believed] += row.n
    names = [c.value for c in FaultClass if any(key[2] == c.value for key in sums)]
    kinds = sorted({key[:2] for key in sums}, key=lambda key: (not key[1], key))
    rows = [
        [
            Cell(kind or "(nothing injected)"),
            *(Cell(str(sums[layer, kind, name])) for name in names),
            Cell(str(sums[layer, kind, ""]) if kind else "-"),
            Cell(str(sum(sums[layer, kind, name] for name in (*names, "")))),
        ]
        for layer, kind in kinds
    ]
    words = ", ".join(f"{c.value} {c.name.lower().replace('_', ' ')}" for c in FaultClass)
    header = ("Kind", *names, "None", "Attempts")
    return titled(report, title, header, rows, f"{text}{LEGEND} {words}.")
