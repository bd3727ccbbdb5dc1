"""A report on the terminal: the tables of `lab/rendering`, dressed by rich."""

import os
from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from hfr_bench.lab.rendering import render
from hfr_bench.lab.rendering.cells import Cell, Table
from hfr_bench.model.report import Report

WIDTH = 100
"""Columns of the first page where the output is no terminal and COLUMNS does not say otherwise."""
FULL_WIDTH = 132
"""Columns of the full report there: wide enough that no table wraps its numbers."""
_PROSE = 40  # characters that make a cell a text rather than a figure


def print_report(report: Report, console: Console | None = None, *, full: bool = False) -> None:
    """Print the first page or all of a report; plain text where the output is no terminal."""
    out = console if console is not None else _console()
    if full and not out.is_terminal:
        out.width = max(out.width, FULL_WIDTH)
    out.print(_all(report) if full else _first_page(report, out.width))


def _console() -> Console:
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH
    return console


def _first_page(report: Report, width: int) -> RenderableType:
    body = [part for t in render.summary(report) for part in _titled(t, _fitting(t, width))]
    return _page(report, render.brief_facts(report), body, render.FIRST_PAGE)


def _all(report: Report) -> RenderableType:
    body = [part for t in render.whole(report) for part in _titled(t, _grid(t, inline=False))]
    return _page(report, render.facts(report), body, render.guide(report))


def _page(
    report: Report,
    facts: Iterable[tuple[str, str]],
    body: Iterable[RenderableType],
    guide: Iterable[str],
) -> RenderableType:
    """Title, facts, what a reader must know first, tables, and how to read them."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    for name, text in facts:
        bad = name == "verdict" and not _well(report)
        grid.add_row(Text(name, style="dim"), Text(text, style="bold red" if bad else ""))
    title = Text(f"{report.title} ({report.origin.value})", style="bold")
    notes = [Text(f"! {note}", style="yellow") for note in report.notes]
    return Group(title, grid, *notes, *body, Text(), Text("How to read it", style="bold"),
                 _listed(guide))  # fmt: skip


def _listed(lines: Iterable[str]) -> RichTable:
    """Paragraphs whose further lines are indented like the first one."""
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    for line in lines:
        grid.add_row(Text("-", style="dim"), Text(line))
    return grid


def _well(report: Report) -> bool:
    failed = any(control.passed is False for control in report.controls)
    return report.valid and report.complete and not failed


def _titled(table: Table, grid: RichTable) -> tuple[RenderableType, ...]:
    return Text(), Text(table.title, style="bold"), Text(table.legend, style="dim"), grid


def _fitting(table: Table, width: int) -> RichTable:
    """The airiest layout that fits: intervals beside their values, or below; wide gaps, or narrow.

    Words wrap where nothing else helps; numbers never do.
    """
    for inline in (True, False):
        for gap in (2, 1):
            grid = _grid(table, inline=inline, gap=gap)
            if _width(grid, gap) <= width:
                return grid
    return grid


def _width(grid: RichTable, gap: int) -> int:
    """Columns that a table needs if nothing wraps."""
    widths = [
        max(cell_len(line) for text in (column.header, *column.cells) for line in _lines(text))
        for column in grid.columns
    ]
    return sum(widths) + gap * (len(widths) - 1)


def _lines(text: object) -> list[str]:
    return str(text).split("\n")


def _grid(table: Table, *, inline: bool, gap: int = 2) -> RichTable:
    """Numbers right-aligned; each interval beside its value, or on a line of its own below."""
    grid = RichTable(
        box=box.SIMPLE_HEAD,  # which sets columns one apart by itself
        padding=(0, gap - 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.header)
    texts = []
    for i, (name, cells) in enumerate(zip(table.header, columns, strict=True)):
        words = i < table.left
        beside = inline and not words and any(cell.extra for cell in cells)
        found = _beside(cells) if beside else [_dressed(cell, inline=inline) for cell in cells]
        prose = any(len(cell.main) > _PROSE for cell in cells)
        justify: JustifyMethod = "left" if words or beside or prose else "right"
        # Labels may wrap between words, never within one: prose gives way first.
        least = max((len(word) for cell in cells for word in cell.main.split()), default=0)
        grid.add_column(
            Text(name),
            justify=justify,
            no_wrap=not (words or prose),
            overflow="fold",
            min_width=least if words else None,
        )
        texts.append(found)
    for row in zip(*texts, strict=True):
        grid.add_row(*row)
    return grid


def _beside(cells: Sequence[Cell]) -> list[Text]:
    """Values right-aligned, intervals left-aligned after them, for a left-justified column.

    Right-justified, rich would strip the blanks behind the shorter intervals.
    """
    before, after = (max(len(cell[i]) for cell in cells) for i in (0, 1))
    return [
        Text(cell.main.rjust(before)).append(f" {cell.extra.ljust(after)}", style="dim")
        for cell in cells
    ]


def _dressed(cell: Cell, *, inline: bool) -> Text:
    text = Text(cell.main, style="bold red" if cell.main == "FAILED" else "")
    if cell.extra:
        text.append(f"{' ' if inline else chr(10)}{cell.extra}", style="dim")
    return text
