"""The study as text: the paper's number, ours, the difference, and whether it is inside."""

from collections.abc import Iterator

from hfr_bench.lab.synthetic.studies import Found
from hfr_bench.lab.synthetic.tables import TABLES, Cell, Study

_TITLES = {
    "12": "Table 12: success and safety",
    "13": "Table 13: cost, latency (s), attempts",
    "14": "Table 14: ablations, minus HFR",
    "15": "Table 15: SR by fault rate",
    "C1": "Table C1: by the provider's incident rate, at a fault rate of .20",
}
_RULES = {
    "literal": "literal: every attempt is charged; stickiness and fault rate are the same for all",
    "paper": "paper: with U1 (attempts that are retried are not, or partly, charged) and U2 "
    "(later attempts fail less often; FixedRetry3's faults stick less), which the paper's numbers "
    "need and its text does not state",
}


def lines(study: Study) -> Iterator[str]:
    """The whole study."""
    size = study.size
    yield f"synthetic (a calibrated model, no measurement); rules {_RULES[study.rules]}"
    yield (
        f"{size.seeds} seeds of {size.tasks} tasks; table 15: {size.rate_tasks}; "
        f"table C1: {size.incident_seeds} of {size.rate_tasks}"
    )
    yield study.made_with
    for table in TABLES:
        cells = [cell for cell in study.cells if cell.table == table]
        if cells:
            yield ""
            yield from _table(table, cells)
    yield ""
    yield from _summary(study)


def _table(table: str, cells: list[Cell]) -> Iterator[str]:
    yield _TITLES[table]
    aside = any(cell.beside is not None for cell in cells)
    head = f"  {'arm':16}{'at':>6} {'metric':7}{'paper':>9}{'ours':>9}{'sd':>7}"
    yield f"{head}{'diff':>8}{'band':>7}" + (f"{'beside':>9}" if aside else "")
    for cell in cells:
        yield _line(cell)


def _line(cell: Cell) -> str:
    digits = 2 if cell.metric in ("SR", "CSR", "SCR", "ESC", "DEG", "DUP") else 3
    at = "" if cell.at is None else f"{cell.at:.2f}"
    sd = "" if cell.sd is None else f"{cell.sd:.{digits}f}"
    aside = "" if cell.beside is None else f"{cell.beside:9.{digits}f}"
    mark = "" if cell.inside else "  OUTSIDE"
    known = f"  known: {cell.known}" if cell.known else ""
    return (
        f"  {cell.arm:16}{at:>6} {cell.metric:7}{cell.paper:9.{digits}f}{cell.ours:9.{digits}f}"
        f"{sd:>7}{cell.difference:+8.{digits}f}{cell.band:7.{digits}f}{aside}{mark}{known}"
    )


def _summary(study: Study) -> Iterator[str]:
    outside, known = study.outside, [cell for cell in study.cells if cell.known]
    yield f"{len(study.cells) - len(outside)} of {len(study.cells)} cells inside their bands"
    if known:
        inside = sum(cell.inside for cell in known)
        yield f"of these {len(known)} are known not to fit ({inside} inside their wider bands)"
    yield "about 40 parameters stand against about 75 independent cells: a fit, not a prediction"
    for relation in study.relations:
        yield f"  {'holds' if relation.holds else 'BROKEN'}: {relation.says}"


def paragraph(found: Found) -> Iterator[str]:
    """A study in Markdown: what it says, its table, its figure."""
    yield f"## {found.title}"
    yield ""
    yield found.says
    yield ""
    yield "| " + " | ".join(found.head) + " |"
    yield "|" + "---|" * len(found.head)
    for row in found.rows:
        yield "| " + " | ".join(str(value) for value in row) + " |"
    yield ""
    yield f"![{found.title}]({found.name}.svg)"
    yield ""
