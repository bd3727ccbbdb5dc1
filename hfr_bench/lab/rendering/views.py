"""Tables as the page's template is given them: what it says about each row and cell."""

from collections.abc import Iterable, Sequence
from typing import Any

from hfr_bench.lab.rendering.cells import Cell, Table, flat, yardsticks
from hfr_bench.model.report import Report

_PROSE = 40  # characters that make a cell a text rather than a figure


def views(report: Report, shown: Iterable[Table | None]) -> tuple[dict[str, Any], ...]:
    """Tables as the page's template is given them; None is left out."""
    apart = yardsticks(report)
    return tuple(_view(table, apart) for table in shown if table is not None)


def _view(table: Table, apart: dict[str, str]) -> dict[str, Any]:
    """A table with what the page says about each row and cell."""
    name, *labels = table.title.split(" | ")
    rows: list[dict[str, Any]] = []
    for cells in table.rows:
        row = _row(cells, table.left, apart)
        if row["style"] == "yardstick" and not (rows and rows[-1]["style"]):
            row["style"] += " first-yardstick"
        rows.append(row)
    header = [flat(name) for name in table.header]
    return {
        "name": name,
        "labels": labels,
        "legend": table.legend,
        "header": header,
        "left": table.left,
        "rows": rows,
    }


def _row(cells: Sequence[Cell], left: int, apart: dict[str, str]) -> dict[str, Any]:
    label = cells[0].main
    of_yardstick = label.strip() in apart or label.partition(" - ")[0] in apart
    shown = []
    for i, cell in enumerate(cells):
        style = "n" if i >= left else "word"
        if len(cell.main) > _PROSE:
            style = "prose"
        if cell.main in ("FAILED", "INVALID"):
            style = "failed"
        elif cell.main == ".":
            style = "nothing"
        main = "no" if cell.main == "." else cell.main
        shown.append({"main": main, "extra": _bracketed(cell.extra), "style": style})
    style = "yardstick" if of_yardstick else "total" if label == "all kinds" else ""
    return {"cells": shown, "style": style}


def _bracketed(extra: str) -> str:
    """Bounds in brackets; words and what is bracketed already as they are."""
    bare = extra and extra[0] in "-0123456789" and ", " in extra and "[" not in extra
    return f"[{extra}]" if bare else extra
