"""A report as Markdown, CSV or JSON; the terminal's own look is in `cli/report_text.py`."""

import csv
import io
from collections.abc import Sequence

from hfr_bench.lab.tables import Cell, Table, facts, guide, tables
from hfr_bench.model.report import Report

COLUMNS = (
    "origin",
    "row",
    "metric",
    "arm",
    "against",
    "rate",
    "value",
    "low",
    "high",
    "method",
    "events",
    "n",
    "pairs",
    "tasks",
    "better",
    "worse",
    "relative",
    "note",
)


def to_json(report: Report) -> str:
    """The whole report as one line of JSON; equal reports give equal bytes."""
    return report.model_dump_json()


def to_markdown(report: Report) -> str:
    """The report as GitHub Markdown, aligned so that it also reads well as plain text."""
    parts = [f"# {report.title} ({report.origin.value})"]
    parts.append("\n".join(f"- **{name}**: {text}" for name, text in facts(report)))
    if report.notes:
        parts.append("> " + "\n>\n> ".join(_escape(note) for note in report.notes))
    parts += [f"## {t.title}\n\n{t.legend}\n\n{_grid(t)}" for t in tables(report)]
    parts.append("## How to read it\n\n" + "\n".join(f"- {line}" for line in guide(report)))
    return "\n\n".join(parts) + "\n"


def to_csv(report: Report) -> str:
    """Estimates and paired differences, one a line, in recorded units (COLUMNS)."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for estimate in report.estimates:
        fields = estimate.model_dump(exclude={"v"})
        writer.writerow({"origin": report.origin.value, "row": "estimate"} | fields)
    for paired in report.contrasts:
        fields = paired.model_dump(exclude={"v", "difference"})
        fields["value"] = paired.difference
        writer.writerow({"origin": report.origin.value, "row": "difference"} | fields)
    return out.getvalue()


def _grid(table: Table) -> str:
    rows = [table.header, *([_text(cell) for cell in row] for row in table.rows)]
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(table.header))]
    rule = [
        "-" * width if i < table.left else "-" * (width - 1) + ":" for i, width in enumerate(widths)
    ]
    lines = [_line(table.header, widths, table.left), _line(rule, widths, table.left)]
    return "\n".join(lines + [_line(row, widths, table.left) for row in rows[1:]])


def _line(row: Sequence[str], widths: Sequence[int], left: int) -> str:
    padded = [
        text.ljust(width) if i < left else text.rjust(width)
        for i, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "| " + " | ".join(padded) + " |"


def _text(cell: Cell) -> str:
    bracketed = cell.extra if "[" in cell.extra or "≤" in cell.extra else f"[{cell.extra}]"
    return _escape(f"{cell.main} {bracketed}" if cell.extra else cell.main)


def _escape(text: str) -> str:
    """What Markdown would take for markup, taken for itself."""
    for mark in ("|", "*", "<"):
        text = text.replace(mark, "\\" + mark)
    return text.replace("\n", " ")
