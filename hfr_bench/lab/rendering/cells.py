"""What a report's tables are made of: cells, titles, the order of the arms.

Rounding and units are decided here once, for the terminal, Markdown and HTML alike.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import NamedTuple

from hfr_bench.model.report import (
    EXPLICIT,
    MIXED,
    SILENT,
    Estimate,
    HypothesisRow,
    PairedEstimate,
    Report,
)
from hfr_bench.model.terms import Origin
from hfr_bench.stats.further import FURTHER
from hfr_bench.stats.metrics import METRICS as OF_RESULTS
from hfr_bench.stats.metrics import Kind

METRICS = OF_RESULTS | FURTHER

ROLES = {
    "oracle_recovery": "upper bound: is told the truth",
    "always_escalate": "gives up at the first failure",
    "blind_resend": "known bad: resends at once",
    "random_legal": "chance: any legal move",
}
"""Strategies that measure the experiment itself; nobody would run one."""

EXHAUSTIVE, ONE_FAULT = "exhaustive-1", "one fault a trial"
FORK, FIRST_FAULT = "fork", "one first fault, then drawn"
GEAR = ("ledger", "query", "ladder", "verifier", "truth")


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


# -- arms, rates, titles ----------------------------------------------------------------------


def yardsticks(report: Report) -> dict[str, str]:
    """Arms that are yardsticks, and what each stands for."""
    found = {str(row["arm"]): ROLES.get(str(row["strategy"]), "") for row in report.capability}
    return {arm: role for arm, role in found.items() if role}


def ordered(report: Report) -> tuple[str, ...]:
    """The arms as every table lists them: as registered, the yardsticks after all others."""
    last = yardsticks(report)
    return tuple(sorted(report.arms, key=lambda arm: arm in last))


def stressed_rates(report: Report) -> tuple[float, ...]:
    """The rates above 0."""
    return tuple(rate for rate in report.rates if rate > 0)


def single_rates(report: Report) -> tuple[float, ...]:
    """The rates above 0 that have numbers of their own; none where one rate is all there is."""
    rates = stressed_rates(report)
    return rates if len(rates) > 1 else ()


Find = Callable[[str, str, float | str], Estimate | None]


def finder(report: Report) -> Find:
    """Looks up an estimate by metric, arm and rate, or by metric, arm and pool."""
    found = {(e.metric, e.arm, e.pool or e.rate): e for e in report.estimates}
    return lambda metric, arm, where: found.get((metric, arm, where))


def faulty(report: Report) -> str:
    """The faults of all rates above 0, as a reader names them; empty without any."""
    rates = stressed_rates(report)
    if len(rates) < 2:
        return named(report, rates[0]) if rates else ""
    return f"{rates[0] * 100:.3g}-{percent(rates[-1])} faults, pooled"


def named(report: Report, where: float | str) -> str:
    """A rate or pool as a title names it."""
    words = {EXPLICIT: "explicit kinds only", SILENT: "silent kinds only", MIXED: "both kinds"}
    if isinstance(where, str):
        return faulty(report) + (f", {words[where]}" if where in words else "")
    if report.design == EXHAUSTIVE and where:
        return ONE_FAULT
    if report.design == FORK and where:
        return FIRST_FAULT
    return f"{percent(where)} faults" if where else "no faults"


def short(report: Report, where: float | str) -> str:
    """The same where the word faults is said already."""
    return named(report, where).replace(" faults", "")


def _title(report: Report, text: str) -> str:
    small = f" | below protocol (n < {report.protocol_tasks})" if report.below_protocol else ""
    return f"{text} | {report.origin.value}{small}"


def flat(name: str) -> str:
    """A column's name on one line."""
    return name.replace("-\n", "-").replace("/\n", "/").replace("\n", " ").strip()


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
        case "ppm":
            return f"{value / 1e4:.1f}"
    return f"{value:.2f}"


def head(metric: str, report: Report) -> str:
    """A column's name with its unit; money that no model was paid is labelled as modelled."""
    found = METRICS[metric]
    money = "$" if report.origin is Origin.LIVE else "$ modelled"
    unit = {"share": "%", "us": "s", "microusd": money, "ppm": "pp"}.get(found.unit, "")
    return f"{found.short} {unit}".strip()


def cell(estimate: Estimate | None) -> Cell:
    """Value over its interval; counts with a one-sided bound where nothing happened."""
    if estimate is None or estimate.value is None:
        return Cell("-", estimate.note if estimate is not None else "")
    unit = METRICS[estimate.metric].unit
    if METRICS[estimate.metric].kind is Kind.RATE and estimate.events == 0:
        bound = "" if estimate.high is None else f"≤ {number(estimate.high, unit)}"
        return Cell(f"{estimate.events}/{estimate.n}", bound)
    main = number(estimate.value, unit) + exact_mark(estimate.method)
    return Cell(main, one_sided(estimate, unit) or bounds_of(estimate.low, estimate.high, unit))


def one_sided(estimate: Estimate, unit: str) -> str:
    """The only bound of a share that no trial had, or every one; empty for any other value."""
    if estimate.method != "exact" or estimate.low is None or estimate.high is None:
        return ""
    if estimate.events == 0:
        return f"≤ {number(estimate.high, unit)}"
    every = estimate.events == estimate.n and METRICS[estimate.metric].kind is Kind.PROPORTION
    return f"≥ {number(estimate.low, unit)}" if every else ""


def counted(estimate: Estimate | None) -> Cell:
    """Events over what they are counted in, and the bounds of their rate (unit: see header)."""
    if estimate is None or estimate.value is None:
        return Cell("-", estimate.note if estimate is not None else "")
    unit = METRICS[estimate.metric].unit
    main = f"{estimate.events}/{estimate.n}"
    if estimate.events == 0 and estimate.high is not None:
        return Cell(main, f"≤ {number(estimate.high, unit)}")
    if bound := one_sided(estimate, unit):
        return Cell(main, bound)
    value = f"{number(estimate.value, unit)}{exact_mark(estimate.method)}"
    bounds = bracketed(bounds_of(estimate.low, estimate.high, unit))
    return Cell(main, f"{value} {bounds}".strip())


def difference(paired: PairedEstimate | None) -> Cell:
    """A signed difference, the relative one for money and time, and discordant pairs."""
    if paired is None or paired.difference is None:
        return Cell("-", paired.note if paired is not None else "")
    unit = METRICS[paired.metric].unit
    text = signed(paired.difference, unit) + exact_mark(paired.method)
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


def exact_mark(method: str) -> str:
    """The asterisk of an exact interval."""
    return "*" if method == "exact" else ""


def unbounded(find: Find, metrics: Iterable[str], arms: Iterable[str], where: float | str) -> str:
    """For a legend: which values of a table stand without an interval, and why; "" if none do."""
    why: dict[str, dict[str, None]] = {}
    for metric, arm in product(metrics, arms):
        one = find(metric, arm, where)
        if one is not None and one.value is not None and one.low is None and one.note:
            short = flat(METRICS[metric].short)
            why.setdefault(one.note.removesuffix(": no interval"), {})[short] = None
    told = (f"{', '.join(names)} ({note})" for note, names in why.items())
    return f" Without interval: {'; '.join(told)}." if why else ""


# -- of the first page ------------------------------------------------------------------------


def rounded(value: float, unit: str) -> str:
    """A value in as few digits as a first look needs; a share is 0 or 100 only if it is."""
    if unit == "share":
        if 0 < value < 0.005:
            return "<1"
        return ">99" if 0.995 <= value < 1 else f"{value * 100:.0f}"
    if unit in ("per_1000", "us"):
        shown = value / 1e6 if unit == "us" else value
        return f"{shown:.0f}" if shown == 0 or shown >= 10 else f"{shown:.1f}"
    return number(value, unit)


def brief(estimate: Estimate | None, *, bounds: bool = True) -> Cell:
    """A rounded value, or events over what they are counted in; the interval in brackets."""
    if estimate is None or estimate.value is None:
        return Cell("-")
    metric = METRICS[estimate.metric]
    main = rounded(estimate.value, metric.unit)
    if metric.kind is Kind.RATE:
        main = f"{estimate.events}/{estimate.n}"
    if not bounds or estimate.low is None or estimate.high is None:
        return Cell(main)
    low, high = rounded(estimate.low, metric.unit), rounded(estimate.high, metric.unit)
    if estimate.events == 0:
        return Cell(main, f"≤ {high}")
    if one_sided(estimate, metric.unit):
        return Cell(main, f"≥ {low}*")
    return Cell(main, bracketed(f"{low}, {high}") + exact_mark(estimate.method))


def brief_difference(paired: PairedEstimate | HypothesisRow | None, note: str = "") -> Cell:
    """A signed difference with its interval in brackets, or why there is none."""
    if paired is None or paired.difference is None:
        return Cell("-", note)
    unit = METRICS[paired.metric].unit
    bounds = bracketed(bounds_of(paired.low, paired.high, unit))
    mark = exact_mark(paired.method)
    return Cell(signed(paired.difference, unit), bounds + mark if bounds else note)
