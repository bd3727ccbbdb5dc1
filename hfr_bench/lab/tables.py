"""A report as titled tables of short cells: what Markdown and the terminal both print.

Only words and numbers are decided here, never layout. Every title carries the origin, and says
so where the experiment is smaller than the protocol asks.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from hfr_bench.model.report import AuditRow, Estimate, PairedEstimate, Report
from hfr_bench.model.terms import Origin
from hfr_bench.stats.metrics import METRICS, Kind

A = ("sr", "cost_mean", "p50", "p95", "dup_1000")
# Giving up must not win: success, clean success and harm stand before safe completion.
B = ("sr", "csr", "harm_1000", "scr", "scr_strict", "cps", "ra", "p95", "esc")
C = ("dup_1000", "dup_ambiguous", "unwanted_1000", "far", "esc")
PAIRED = ("sr", "csr", "harm_1000", "scr", "cost_mean", "p95")

PAIRING = (
    "Every arm met the same tasks, seeds and planned faults; only its recovery differs. "
    "Compare arms by the paired differences, not by whether their intervals overlap."
)
ORDER = (
    "Read success, clean success and harm before safe completion: an arm that gives up early "
    "completes safely and achieves nothing."
)
COUNTS = (
    "k/n counts events: 0/63 with ≤ 46.4 means that none was seen, and that up to 46.4 per 1000 "
    "cannot be excluded. An asterisk marks exact intervals (few events); - is undefined."
)
REHEARSAL = (
    "Rehearsal: a script plays the model, so SR restates the script and money is modelled. "
    "Effects, harm and delivery are real."
)


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
    """All tables of a report, in reading order."""
    estimates = {(e.metric, e.arm, e.rate): e for e in report.estimates}
    find = lambda metric, arm, rate: estimates.get((metric, arm, rate))  # noqa: E731
    stressed = [rate for rate in report.rates if rate > 0]
    made: list[Table | None] = [_capability(report)]
    if 0.0 in report.rates:
        made.append(_ability(report, find))
    made += [_recovery(report, find, rate) for rate in stressed]
    made.append(_safety(report, find, stressed))
    made += [_differences(report, rate) for rate in report.rates]
    made += [_audit(report), _exposure(report), _voids(report), _controls(report)]
    return tuple(table for table in made if table is not None)


def verdict(report: Report) -> str:
    """Whether the report may be believed, in one line."""
    done = f"{report.trials_analysed} of {report.trials_planned} planned trials analysed"
    if not report.valid:
        return f"INVALID: see the delivery audit and the notes; {done}. Do not use the numbers."
    state = "complete" if report.complete else "INCOMPLETE"
    failed = sum(control.passed is False for control in report.controls)
    return f"valid, {state}: {done}" + (f"; {failed} control(s) FAILED" if failed else "")


def facts(report: Report) -> tuple[tuple[str, str], ...]:
    """What was run, as name and value."""
    rates = ", ".join(percent(rate) for rate in report.rates)
    size = f"{report.tasks} tasks x {report.seeds} seed(s) x {len(report.rates)} fault rates"
    return (
        ("verdict", verdict(report)),
        ("origin", report.origin.value),
        ("size", f"{size} ({rates}) x {len(report.arms)} arms"),
        ("controls", f"{report.control_trials} further control trials"),
        ("dropped", f"{report.groups_dropped} pair groups"),
        ("baseline", report.baseline),
        ("intervals", f"{report.level:.0%}, {report.resamples} resamples of tasks"),
        ("prereg", report.prereg_digest[:16]),
        ("traces", report.traces_digest[:16]),
        ("harness", report.harness_version),
    )


def guide(report: Report) -> tuple[str, ...]:
    """How to read it, in a few sentences; then each metric's name spelled out."""
    shown = dict.fromkeys((*A, *B, *C, *PAIRED))
    legend = [f"{METRICS[m].short}: {METRICS[m].title}" for m in shown]
    rehearsal = [REHEARSAL] if report.origin is Origin.REHEARSAL else []
    return (PAIRING, ORDER, COUNTS, *rehearsal, *legend)


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
    return Cell(number(estimate.value, unit) + mark, _bounds(estimate.low, estimate.high, unit))


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
    bounds = _bounds(estimate.low, estimate.high, unit)
    return Cell(main, f"{value} [{bounds}]" if bounds else value)


def difference(paired: PairedEstimate | None) -> Cell:
    """A signed difference, the relative one for money and time, and discordant pairs."""
    if paired is None or paired.difference is None:
        return Cell("-", paired.note if paired is not None else "")
    unit = METRICS[paired.metric].unit
    mark = "*" if paired.method == "exact" else ""
    text = ("+" if paired.difference > 0 else "") + number(paired.difference, unit) + mark
    if unit in ("microusd", "us") and paired.relative is not None:
        text += f" ({paired.relative:+.0%})"
    if paired.better is not None:
        text += f" ({paired.better}:{paired.worse})"
    return Cell(text, _bounds(paired.low, paired.high, unit) or paired.note)


def _bounds(low: float | None, high: float | None, unit: str) -> str:
    if low is None or high is None:
        return ""
    return ", ".join(number(bound, unit).replace("100.0", "100") for bound in (low, high))


# -- tables -----------------------------------------------------------------------------------

Find = Callable[[str, str, float], Estimate | None]


def _title(report: Report, text: str) -> str:
    small = f" | below protocol (n < {report.protocol_tasks})" if report.below_protocol else ""
    return f"{text} | {report.origin.value}{small}"


def _grid(report: Report, find: Find, metrics: Sequence[str], rate: float) -> Iterable[list[Cell]]:
    for arm in report.arms:
        yield [Cell(arm), *(cell(find(metric, arm, rate)) for metric in metrics)]


def _table(
    report: Report,
    text: str,
    header: Iterable[str],
    rows: Iterable[Sequence[Cell]],
    legend: str = "",
    left: int = 1,
) -> Table:
    return Table(
        _title(report, text), tuple(header), tuple(tuple(row) for row in rows), legend, left
    )


def _capability(report: Report) -> Table:
    gear = ("ledger", "query", "ladder", "verifier", "truth")
    rows = [
        [Cell(str(arm["arm"])), Cell(str(arm["strategy"]))]
        + [Cell("yes" if arm.get(name) else ".") for name in gear]
        for arm in report.capability
    ]
    legend = "What each arm may use: policy is not to be confused with equipment."
    return _table(report, "What the arms are", ("Arm", "Strategy", *gear), rows, legend, left=7)


def _ability(report: Report, find: Find) -> Table:
    rows = _grid(report, find, A, 0.0)
    header = ["Arm", *(head(metric, report) for metric in A[:-1]), "Own dup/1000"]
    legend = "No faults: what recovery costs when nothing fails, and the arm's own duplicates."
    return _table(report, "Table A: ability, no faults", header, rows, legend)


def _recovery(report: Report, find: Find, rate: float) -> Table:
    rows = _grid(report, find, B, rate)
    header = ["Arm", *(head(metric, report) for metric in B)]
    legend = "Under faults. SR, CSR and harm come first: giving up must not win."
    return _table(report, f"Table B: recovery, {percent(rate)} faults", header, rows, legend)


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
    return _table(report, "Table C: safety", header, rows, legend, left=2) if rows else None


def _differences(report: Report, rate: float) -> Table | None:
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
    return _table(report, f"Paired differences, {percent(rate)} faults", header, rows, legend)


def _audit(report: Report) -> Table:
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
    legend = "Recomputed from what the outer recorder saw. Reached must equal delivered."
    return _table(report, "Delivery audit", header, rows, legend, left=3)


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
    return _table(report, "Exposure: faults reached", header, rows, legend)


def _voids(report: Report) -> Table | None:
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
    return _table(report, "Voids", header, rows, legend)


def _worst(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low * 100:.1f}, {high * 100:.1f}"


def _controls(report: Report) -> Table:
    words = {True: "ok", False: "FAILED", None: "not checked"}
    rows = [[Cell(words[c.passed]), Cell(c.name), Cell(c.detail)] for c in report.controls]
    legend = "Checks on the harness itself, not on the arms."
    return _table(report, "Controls", ("Result", "Check", "Detail"), rows, legend, left=3)
