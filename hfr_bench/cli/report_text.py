"""A report on the terminal: the tables of `lab/tables.py`, dressed by rich."""

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from hfr_bench.lab.tables import Cell, Table, facts, guide, tables
from hfr_bench.model.report import Report

WIDTH = 132
"""Columns where the output is no terminal: wide enough that no table wraps its numbers."""


def print_report(report: Report, console: Console | None = None) -> None:
    """Print a report; plain text where the output is no terminal."""
    out = console if console is not None else Console()
    if not out.is_terminal:
        out.width = max(out.width, WIDTH)
    out.print(render(report))


def render(report: Report) -> RenderableType:
    """The whole report as one renderable."""
    title = Text(f"{report.title} ({report.origin.value})", style="bold")
    parts: list[RenderableType] = [title, _facts(report)]
    parts += [Text(f"! {note}", style="yellow") for note in report.notes]
    for table in tables(report):
        parts += [Text(), Text(table.title, style="bold"), Text(table.legend, style="dim")]
        parts += [_grid(table)]
    parts += [Text(), Text("How to read it", style="bold")]
    parts += [Text(f"  {line}") for line in guide(report)]
    return Group(*parts)


def _facts(report: Report) -> RichTable:
    grid = RichTable.grid(padding=(0, 2))
    for name, text in facts(report):
        bad = name == "verdict" and not _well(report)
        grid.add_row(Text(name, style="dim"), Text(text, style="bold red" if bad else ""))
    return grid


def _well(report: Report) -> bool:
    failed = any(control.passed is False for control in report.controls)
    return report.valid and report.complete and not failed


def _grid(table: Table) -> RichTable:
    """Numbers right-aligned, each interval on a line of its own below its value."""
    grid = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for i, name in enumerate(table.header):
        grid.add_column(Text(name), justify="left" if i < table.left else "right")
    for row in table.rows:
        grid.add_row(*(_dressed(cell) for cell in row))
    return grid


def _dressed(cell: Cell) -> Text:
    style = "bold red" if cell.main == "FAILED" else ""
    text = Text(cell.main, style=style)
    if cell.extra:
        text.append(f"\n{cell.extra}", style="dim")
    return text
