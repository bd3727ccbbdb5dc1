r"""A report's tables A, B and C as LaTeX, to be taken into a paper with `\input`.

A fragment: it needs the packages `booktabs` and `graphicx`, and no others. The cells are those of
`tables.py`. Every caption carries the origin, how its intervals were made and, where the experiment
is smaller than the protocol asks, says so: a table cut out of its paper still tells what it is.
"""

import re
from collections.abc import Iterable, Sequence

from hfr_bench.lab.rendering import tables
from hfr_bench.lab.rendering.cells import Cell, Table, flat, yardsticks
from hfr_bench.lab.rendering.render import hypotheses, intervals, verdict
from hfr_bench.lab.rendering.tables_confirm import anytime, tests
from hfr_bench.lab.rendering.tables_reviewed import reviewed
from hfr_bench.model.report import POOLED, Report

_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "\u00d7": r"\ensuremath{\times}",
    "\u2013": r"\textendash{}",
    "\u2014": r"\textemdash{}",
    "…": r"\dots{}",
    "±": r"\ensuremath{\pm}",
    "\n": " ",
}
_MINUS = re.compile(r"(?<![\w.)])-(?=[\d.])")
_PACKAGES = r"\usepackage{booktabs,graphicx}"


def escaped(text: str) -> str:
    """Text as TeX prints it; what is outside ASCII and not known here becomes a question mark."""
    parts = _MINUS.split(text)
    made = ("".join(_SIGNS.get(sign, sign if sign.isascii() else "?") for sign in p) for p in parts)
    return r"\ensuremath{-}".join(made).replace("--", "-{}-")


def to_latex(report: Report) -> str:
    """Claims, tables A, B, C, differences, ratings: floats; equal reports give equal bytes."""
    bootstrapped = [
        hypotheses(report),
        tests(report),
        tables.ability(report),
        tables.recovery(report, POOLED),
        *tables.safety(report, POOLED),
        tables.differences(report, None),
    ]
    other = [anytime(report), *reviewed(report.review)]
    about = (
        f"{report.title} ({report.origin.value})",
        verdict(report),
        f"prereg {report.prereg_digest}, traces {report.traces_digest}",
        f"made by hfr-bench {report.harness_version}; needs {_PACKAGES}",
    )
    parts = ["\n".join(f"% {_comment(line)}" for line in about)]
    by = f"Intervals: {intervals(report)}."
    parts += [_float(report, table, by) for table in bootstrapped if table is not None]
    parts += [_float(report, table) for table in other if table is not None]
    return "\n\n".join(parts) + "\n"


def _comment(text: str) -> str:
    return " ".join(text.split())


def _float(report: Report, table: Table, by: str = "") -> str:
    """`by`: how its intervals were made, where they are the report's."""
    name, *labels = table.title.split(" | ")
    legend = escaped(f"{table.legend} {by}".strip())
    caption = f"{escaped(name)} \\textbf{{({escaped('; '.join(labels))})}}. {legend}"
    if not (report.valid and report.complete):
        caption += f" \\textbf{{{escaped(verdict(report))}}}"
    shape = "l" * table.left + "r" * (len(table.header) - table.left)
    lines = [
        r"\begin{table}[tbp]",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{report.origin.value}-{_slug(name)}}}",
        # Shrunk where it is too wide, never blown up.
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{@{{}}{shape}@{{}}}}",
        r"\toprule",
        " & ".join(rf"{escaped(flat(title))}" for title in table.header) + r" \\",
        r"\midrule",
        *_rows(table, yardsticks(report)),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _rows(table: Table, apart: Iterable[str]) -> Iterable[str]:
    """Rows; a rule before the yardsticks, which stand in italics as on the page."""
    yards, ruled = set(apart), False
    for row in table.rows:
        label = row[0].main
        italic = label in yards or label.partition(" - ")[0] in yards
        if italic and not ruled and row is not table.rows[0]:
            yield r"\midrule"
        ruled = italic
        yield _row(row, italic=italic) + r" \\"


def _row(row: Sequence[Cell], *, italic: bool) -> str:
    first, *others = (_cell(cell) for cell in row)
    return " & ".join([rf"\textit{{{first}}}" if italic else first, *others])


def _cell(cell: Cell) -> str:
    main = escaped(cell.main)
    if main[:1] in ("[", "*"):
        main = "{}" + main  # after the end of a row these would be taken for its options
    if not cell.extra:
        return main
    bare = cell.extra[0] in "-0123456789" and ", " in cell.extra and "[" not in cell.extra
    return rf"{main} {{\footnotesize {escaped(f'[{cell.extra}]' if bare else cell.extra)}}}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
