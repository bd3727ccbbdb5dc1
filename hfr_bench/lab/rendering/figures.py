"""The report's figures as inline SVG: paired differences, and success against what it takes.

What they show is decided here, where it lies on the paper in `drawing.py`. The same report
gives the same bytes. Yardsticks are grey: nobody would run one.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hfr_bench.lab.rendering.cells import (
    bounds_of,
    faulty,
    finder,
    head,
    named,
    ordered,
    signed,
    yardsticks,
)
from hfr_bench.lab.rendering.drawing import Dot, Mark, forest, plane
from hfr_bench.model.report import POOLED, Estimate, PairedEstimate, Report
from hfr_bench.stats.metrics import METRICS

DIFFERING = ("sr", "harm_1000", "cost_mean")
AGAINST = ("cost_mean", "p95")


class Figure(NamedTuple):
    """An SVG element, its title, and in words what it shows."""

    key: str
    title: str
    alt: str
    svg: str


def forests(report: Report) -> tuple[Figure, ...]:
    """Paired differences over all rates above 0, against the baseline: a figure a metric."""
    made = (_forest(report, metric) for metric in DIFFERING)
    return tuple(figure for figure in made if figure is not None)


def planes(report: Report, where: float | str = POOLED) -> tuple[Figure, ...]:
    """Success against cost and against p95, at a rate or over all above 0."""
    made = (_plane(report, metric, where) for metric in AGAINST)
    return tuple(figure for figure in made if figure is not None)


def undominated(dots: Iterable[Dot]) -> tuple[Dot, ...]:
    """Those that no other matches in success, cost and harm and beats in one, cheapest first."""
    all_ = tuple(dots)

    def beats(other: Dot, one: Dot) -> bool:
        ours, theirs = (one.y, -one.x, -one.harm), (other.y, -other.x, -other.harm)
        return ours != theirs and all(b >= a for a, b in zip(ours, theirs, strict=True))

    kept = [one for one in all_ if not any(beats(other, one) for other in all_)]
    return tuple(sorted(kept, key=lambda dot: (dot.x, dot.y)))


# -- what is drawn ----------------------------------------------------------------------------


def _forest(report: Report, metric: str) -> Figure | None:
    found = {
        p.arm: p
        for p in report.contrasts
        if p.pool == POOLED and p.metric == metric and p.against == report.baseline
    }
    apart = yardsticks(report)
    marks = [
        _mark(found[arm], yardstick=arm in apart)
        for arm in ordered(report)
        if arm in found and found[arm].difference is not None
    ]
    if not marks:
        return None
    unit = head(metric, report).replace("%", "percentage points")
    title = f"{unit}: arm minus {report.baseline}, {faulty(report)}"
    key = f"difference-{metric}"
    return Figure(key, title, "; ".join(mark.text for mark in marks), forest(marks, unit))


def _mark(paired: PairedEstimate, *, yardstick: bool) -> Mark:
    unit = METRICS[paired.metric].unit
    bounds = bounds_of(paired.low, paired.high, unit)
    note = f"[{bounds}]" if bounds else paired.note
    text = f"{paired.arm} {signed(paired.difference or 0.0, unit)} {note}".strip()
    value = _scale(paired.difference, unit) or 0.0
    return Mark(paired.arm, value, _bounds(paired), yardstick, text)


def _plane(report: Report, metric: str, where: float | str) -> Figure | None:
    find, apart = finder(report), yardsticks(report)
    dots = []
    for arm in ordered(report):
        x, y, harm = (find(name, arm, where) for name in (metric, "sr", "harm_1000"))
        if x is not None and y is not None and harm is not None:
            dot = _dot(arm, x, y, harm, yardstick=arm in apart)
            dots += [dot] if dot is not None else []
    if not dots:
        return None
    label = head(metric, report) + (" of a trial" if metric == "cost_mean" else "")
    title = f"Success against {METRICS[metric].short.lower()}, {named(report, where)}"
    key = f"plane-{metric}-{where}".replace(".", "_").replace(">", "")
    front = undominated(dot for dot in dots if not dot.yardstick)
    words = f"Not dominated in success, {METRICS[metric].short.lower()} and harm: " + ", ".join(
        dot.label for dot in front
    )
    alt = "; ".join([*(dot.text for dot in dots), words])
    return Figure(key, title, alt, plane(dots, front, label))


def _dot(arm: str, x: Estimate, y: Estimate, harm: Estimate, *, yardstick: bool) -> Dot | None:
    if x.value is None or y.value is None or harm.events is None:
        return None
    unit = METRICS[x.metric].unit
    return Dot(
        arm, _scale(x.value, unit) or 0.0, y.value * 100, _bounds(x), _bounds(y),
        harm.events, harm.n, yardstick,
    )  # fmt: skip


def _bounds(estimate: Estimate | PairedEstimate) -> tuple[float, float] | None:
    unit = METRICS[estimate.metric].unit
    low, high = _scale(estimate.low, unit), _scale(estimate.high, unit)
    return None if low is None or high is None else (low, high)


def _scale(value: float | None, unit: str) -> float | None:
    """A value in the unit that is drawn: percent, dollars, seconds."""
    if value is None:
        return None
    return value * {"share": 100.0, "microusd": 1e-6, "us": 1e-6}.get(unit, 1.0)
