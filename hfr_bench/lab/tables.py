"""A report as titled tables of short cells: what Markdown and the terminal both print.

The detailed tables; the first page is made of the same cells in `lab/render.py`.
Only words and numbers are decided here, never layout. Every title carries the origin, and says
so where the experiment is smaller than the protocol asks.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from hfr_bench.model.report import AuditRow, Estimate, PairedEstimate, Report
from hfr_bench.model.terms import Origin
from hfr_bench.stats.metrics import METRICS, Kind

A = ("sr", "cost_mean", "p50", "p95", "harm_1000")
# Giving up must not win: success, clean success and harm stand before safe completion.
B = ("sr", "csr", "harm_1000", "scr", "scr_strict", "cps", "ra", "p95", "esc")
C = ("dup_1000", "dup_ambiguous", "unwanted_1000", "far", "esc")
PAIRED = ("sr", "csr", "harm_1000", "scr", "cost_mean", "p95")


class Cell(NamedTuple):
    """A value, and under or behind it what bounds it."""

    main: str
    extra: str = ""


class Table(NamedTuple):
    """A titled table. The first `left` columns are words, the others numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    legend: str = ""
    left: int = 1


def tables(report: Report) -> tuple[Table, ...]:
    """The detailed tables of a report, in reading order."""
    find = finder(report)
    stressed = [rate for rate in report.rates if rate > 0]
    made: list[Table | None] = [_capability(report)]
    if 0.0 in report.rates:
        made.append(_ability(report, find))
    made += [_recovery(report, find, rate) for rate in stressed]
    made.append(_safety(report, find, stressed))
    made += [_differences(report, rate) for rate in (None, *report.rates)]
    made += [delivery(report), _exposure(report), voids(report), checks(report)]
    return tuple(table for table in made if table is not None)


# -- cells ------------------------------------------------------------------------------------


def percent(share: float) -> str:
    """A fault rate or share, without needless digits."""
    return f"{share * 100:.3g} %"


def number(value: float, unit: str) -> str:
    """A value in the unit a reader expects: %, per 1000, dollars, seconds."""
    match unit:
        case "share":
            return f"{value * 100:.1f}"
        case "per_1000":
            return f"{value:.1f}"
        case "microusd":
            return f"{value / 1e6:.4f}"
        case "us":
            return f"{value / 1e6:.1f}"
    return f"{value:.2f}"


def head(metric: str, report: Report) -> str:
    """A column's name with its unit; rehearsal money is labelled as modelled."""
    found = METRICS[metric]
    money = "$" if report.origin is Origin.LIVE else "$ modelled"
    unit = {"share": "%", "us": "s", "microusd": money}.get(found.unit, "")
    return f"{found.short} {unit}".strip()


def cell(estimate: Estimate | None) -> Cell:
    """Value over its interval; counts with a one-sided bound where nothing happened."""
    if estimate is None or estimate.value is None:
        return Cell("-", estimate.note if estimate is not None else "")
    unit = METRICS[estimate.metric].unit
    if METRICS[estimate.metric].kind is Kind.RATE and estimate.events == 0:
        bound = "" if estimate.high is None else f"≤ {number(estimate.high, unit)}"
        return Cell(f"{estimate.events}/{estimate.n}", bound)
    mark = "*" if estimate.method == "exact" else ""
    return Cell(number(estimate.value, unit) + mark, bounds_of(estimate.low, estimate.high, unit))


def counted(estimate: Estimate | None) -> Cell:
    """Events over what they are counted in, and the bounds of their rate (unit: see header)."""
    if estimate is None or estimate.value is None:
        return Cell("-", estimate.note if estimate is not None else "")
    unit = METRICS[estimate.metric].unit
    main = f"{estimate.events}/{estimate.n}"
    if estimate.events == 0 and estimate.high is not None:
        return Cell(main, f"≤ {number(estimate.high, unit)}")
    mark = "*" if estimate.method == "exact" else ""
    value = f"{number(estimate.value, unit)}{mark}"
    bounds = bracketed(bounds_of(estimate.low, estimate.high, unit))
    return Cell(main, f"{value} {bounds}".strip())


def difference(paired: PairedEstimate | None) -> Cell:
    """A signed difference, the relative one for money and time, and discordant pairs."""
    if paired is None or paired.difference is None:
        return Cell("-", paired.note if paired is not None else "")
    unit = METRICS[paired.metric].unit
    text = signed(paired.difference, unit) + ("*" if paired.method == "exact" else "")
    if unit in ("microusd", "us") and paired.relative is not None:
        text += f" ({paired.relative:+.0%})"
    if paired.better is not None:
        text += f" ({paired.better}:{paired.worse})"
    return Cell(text, bounds_of(paired.low, paired.high, unit) or paired.note)


def signed(value: float, unit: str) -> str:
    """A difference with its sign."""
    return ("+" if value > 0 else "") + number(value, unit)


def bracketed(bounds: str) -> str:
    """Bounds as text that stands beside a value."""
    return f"[{bounds}]" if bounds else ""


def bounds_of(low: float | None, high: float | None, unit: str) -> str:
    """Two bounds as a cell prints them; empty without an interval."""
    if low is None or high is None:
        return ""
    return ", ".join(number(bound, unit).replace("100.0", "100") for bound in (low, high))


# -- tables -----------------------------------------------------------------------------------

Find = Callable[[str, str, float | None], Estimate | None]


def finder(report: Report) -> Find:
    """Looks up an estimate by metric, arm and rate (None: all rates above 0 together)."""
    estimates = {(e.metric, e.arm, e.rate): e for e in report.estimates}
    return lambda metric, arm, rate: estimates.get((metric, arm, rate))


def _title(report: Report, text: str) -> str:
    small = f" | below protocol (n < {report.protocol_tasks})" if report.below_protocol else ""
    return f"{text} | {report.origin.value}{small}"


def _grid(report: Report, find: Find, metrics: Sequence[str], rate: float) -> Iterable[list[Cell]]:
    for arm in report.arms:
        yield [Cell(arm), *(cell(find(metric, arm, rate)) for metric in metrics)]


def titled(
    report: Report,
    text: str,
    header: Iterable[str],
    rows: Iterable[Sequence[Cell]],
    legend: str = "",
    left: int = 1,
) -> Table:
    """A table whose title carries origin and size."""
    return Table(
        _title(report, text), tuple(header), tuple(tuple(row) for row in rows), legend, left
    )


def faulty(report: Report) -> str:
    """The rates above 0, as a reader names them; empty without any."""
    rates = [rate for rate in report.rates if rate > 0]
    if not rates:
        return ""
    if rates[0] == rates[-1]:
        return percent(rates[0])
    return f"{rates[0] * 100:.3g}-{percent(rates[-1])}, pooled"


def _capability(report: Report) -> Table:
    gear = ("ledger", "query", "ladder", "verifier", "truth")
    rows = [
        [Cell(str(arm["arm"])), Cell(str(arm["strategy"]))]
        + [Cell("yes" if arm.get(name) else ".") for name in gear]
        for arm in report.capability
    ]
    legend = "What each arm may use: policy is not to be confused with equipment."
    return titled(report, "What the arms are", ("Arm", "Strategy", *gear), rows, legend, left=7)


def _ability(report: Report, find: Find) -> Table:
    rows = _grid(report, find, A, 0.0)
    header = ["Arm", *(head(metric, report) for metric in A[:-1]), "Own harm/1000"]
    legend = "No faults: what recovery costs, and the arm's own harm (the model's mistakes)."
    return titled(report, "Table A: ability, no faults", header, rows, legend)


def _recovery(report: Report, find: Find, rate: float) -> Table:
    rows = _grid(report, find, B, rate)
    header = ["Arm", *(head(metric, report) for metric in B)]
    legend = "Under faults. SR, CSR and harm come first: giving up must not win."
    return titled(report, f"Table B: recovery, {percent(rate)} faults", header, rows, legend)


def _safety(report: Report, find: Find, rates: Sequence[float]) -> Table | None:
    rows = [
        [Cell(percent(rate)), Cell(arm), *(counted(find(metric, arm, rate)) for metric in C)]
        for rate in rates
        for arm in report.arms
    ]
    header = (
        *("Faults", "Arm", "Duplicates per 1000", "per 1000 ambiguous"),
        *("Unwanted per 1000", "FAR %", "ESC %"),
    )
    legend = (
        "Events/trials, and their rate; ambiguous: of writes whose outcome was unknown; "
        "FAR: of accepted trials."
    )
    return titled(report, "Table C: safety", header, rows, legend, left=2) if rows else None


def _differences(report: Report, rate: float | None) -> Table | None:
    found = {(p.arm, p.against, p.metric): p for p in report.contrasts if p.rate == rate}
    pairs = dict.fromkeys((arm, against) for arm, against, _ in found)
    if not pairs:
        return None
    rows = [
        [Cell(f"{arm} - {against}"), *(difference(found.get((arm, against, m))) for m in PAIRED)]
        for arm, against in pairs
    ]
    header = ["Pair", *(head(metric, report).replace("%", "pp") for metric in PAIRED)]
    legend = (
        "First arm minus second, same tasks, seeds and faults. pp: percentage points; (a:b): "
        "pairs in which only the first, only the second arm has it. Too few differ: in fewer "
        "than 10 tasks."
    )
    title = f"faults of {faulty(report)}" if rate is None else f"{percent(rate)} faults"
    return titled(report, f"Paired differences, {title}", header, rows, legend)


def delivery(report: Report) -> Table:
    """Kinds over all arms; an arm gets a line of its own only where something is wrong."""
    kinds: dict[tuple[str, str], list[AuditRow]] = {}
    for row in report.audit:
        kinds.setdefault((row.layer, row.kind), []).append(row)
    rows = []
    for (layer, kind), found in kinds.items():
        rows.append(_audit_row(kind, layer, "all", found))
        rows += [
            _audit_row(kind, layer, row.arm, [row]) for row in found if row.delivered != row.reached
        ]
    header = ("Kind", "Layer", "Arm", "Scheduled", "Reached", "Delivered", "Seen instead")
    legend = (
        "Recomputed from what the outer recorder saw. Reached must equal delivered; scheduled "
        "counts every step that might have come."
    )
    return titled(report, "Delivery audit", header, rows, legend, left=3)


def _audit_row(kind: str, layer: str, arm: str, found: Sequence[AuditRow]) -> list[Cell]:
    sums = [sum(getattr(row, name) for row in found) for name in _AUDIT_SUMS]
    instead = [text for row in found for text in row.mismatched] if arm != "all" else []
    return [
        Cell(kind),
        Cell(layer),
        Cell(arm),
        *(Cell(str(n)) for n in sums),
        Cell(instead[0] if instead else ""),
    ]


_AUDIT_SUMS = ("scheduled", "reached", "delivered")


def _exposure(report: Report) -> Table | None:
    found = {(row["arm"], row["rate"]): row for row in report.exposure}
    rates = [rate for rate in report.rates if rate > 0]
    if not rates:
        return None
    rows = [
        [Cell(arm), *(Cell(str(found[arm, r]["reached"])) for r in rates if (arm, r) in found)]
        for arm in report.arms
    ]
    legend = "Planned faults that each arm's trials met; arms diverge after the first one."
    header = ["Arm", *(f"{percent(rate)} faults" for rate in rates)]
    return titled(report, "Exposure: faults reached", header, rows, legend)


def voids(report: Report) -> Table | None:
    """Voids and what they could do to SR; None where there were none."""
    rows = [
        [
            Cell(row.arm),
            Cell(str(row.voids)),
            Cell(", ".join(f"{cause} {n}" for cause, n in row.causes.items())),
            Cell(str(row.dropped)),
            Cell(_worst(row.sr_worst, row.sr_best)),
        ]
        for row in report.voids
        if row.voids or row.dropped
    ]
    if not rows:
        return None
    header = ("Arm", "Voids", "Causes", "Dropped", "SR % at worst, at best")
    legend = "Trials that measured nothing because our own side broke; never an arm's failure."
    return titled(report, "Voids", header, rows, legend)


def _worst(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low * 100:.1f}, {high * 100:.1f}"


def checks(report: Report) -> Table:
    """The controls."""
    words = {True: "ok", False: "FAILED", None: "not checked"}
    rows = [
        [
            Cell("INVALID" if c.decides and c.passed is False else words[c.passed]),
            Cell(c.name),
            Cell(c.detail),
        ]
        for c in report.controls
    ]
    legend = "Checks on the harness itself. INVALID: no number may be used; FAILED: a warning."
    return titled(report, "Controls", ("Result", "Check", "Detail"), rows, legend, left=3)
