"""The report's figures as inline SVG: paired differences, and success against what it takes.

Drawn by matplotlib without any display. Text stays text; colours are CSS variables of the page, so
that a figure follows its dark mode; identifiers are derived from the figure's key, so that the
same report gives the same bytes. Yardsticks are grey and hollow: nobody would run one.
"""

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

from hfr_bench.lab.cells import (
    bounds_of,
    faulty,
    finder,
    head,
    named,
    ordered,
    signed,
    yardsticks,
)
from hfr_bench.model.report import POOLED, Estimate, PairedEstimate, Report
from hfr_bench.stats.metrics import METRICS

DIFFERING = ("sr", "harm_1000", "cost_mean")
AGAINST = ("cost_mean", "p95")
WIDTH, ROW = 4.6, 0.3  # inches, at 72 units each; the page scales them

# Colours that nothing else has, and what the page says instead of them.
_INK, _DIM, _GRID, _MARK = "#010203", "#040506", "#070809", "#0a0b0c"
_PAPER = "#0d0e0f"
_VARIABLES = {
    _INK: "var(--ink)",
    _DIM: "var(--dim)",
    _GRID: "var(--line)",
    _MARK: "var(--mark)",
    _PAPER: "var(--paper)",
}
_STYLE = {
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _DIM,
    "ytick.color": _DIM,
    "axes.unicode_minus": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


class Figure(NamedTuple):
    """An SVG element, its title, and in words what it shows."""

    key: str
    title: str
    alt: str
    svg: str


class Mark(NamedTuple):
    """A value with its bounds (None: no interval), in the unit that is drawn."""

    label: str
    value: float
    low: float | None
    high: float | None
    yardstick: bool
    text: str


@dataclass(frozen=True, slots=True)
class Dot:
    """An arm in a plane: success against what it takes. `harm`: harmful effects of `n` trials."""

    label: str
    x: float
    y: float
    x_bounds: tuple[float, float] | None
    y_bounds: tuple[float, float] | None
    harm: int
    n: int
    yardstick: bool

    @property
    def text(self) -> str:
        return f"{self.label}: {self.y:.0f} %, {self.x:.4g}, harm {self.harm}/{self.n}"


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
    with style.context(["default", _STYLE | {"svg.hashsalt": key}]):
        canvas = Canvas(figsize=(WIDTH, 0.75 + ROW * len(marks)), layout="constrained")
        _draw_forest(canvas.subplots(), marks, unit)
        svg = _svg(canvas, key)
    return Figure(key, title, "; ".join(mark.text for mark in marks), svg)


def _mark(paired: PairedEstimate, *, yardstick: bool) -> Mark:
    unit = METRICS[paired.metric].unit
    scaled = [_scale(v, unit) for v in (paired.difference, paired.low, paired.high)]
    bounds = bounds_of(paired.low, paired.high, unit)
    note = f"[{bounds}]" if bounds else paired.note
    value = signed(paired.difference or 0.0, unit)
    return Mark(
        paired.arm, scaled[0] or 0.0, scaled[1], scaled[2], yardstick,
        f"{paired.arm} {value} {note}".strip(),
    )  # fmt: skip


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
    with style.context(["default", _STYLE | {"svg.hashsalt": key}]):
        canvas = Canvas(figsize=(WIDTH, 3.3), layout="constrained")
        _draw_plane(canvas.subplots(), dots, front, label)
        svg = _svg(canvas, key)
    words = f"Not dominated in success, {METRICS[metric].short.lower()} and harm: " + ", ".join(
        dot.label for dot in front
    )
    return Figure(key, title, "; ".join([*(dot.text for dot in dots), words]), svg)


def _dot(arm: str, x: Estimate, y: Estimate, harm: Estimate, *, yardstick: bool) -> Dot | None:
    if x.value is None or y.value is None or harm.events is None:
        return None
    unit = METRICS[x.metric].unit
    return Dot(
        arm, _scale(x.value, unit) or 0.0, y.value * 100, _bounds(x), _bounds(y),
        harm.events, harm.n, yardstick,
    )  # fmt: skip


def _bounds(estimate: Estimate) -> tuple[float, float] | None:
    unit = METRICS[estimate.metric].unit
    low, high = _scale(estimate.low, unit), _scale(estimate.high, unit)
    return None if low is None or high is None else (low, high)


def _scale(value: float | None, unit: str) -> float | None:
    """A value in the unit that is drawn: percent, dollars, seconds."""
    if value is None:
        return None
    return value * {"share": 100.0, "microusd": 1e-6, "us": 1e-6}.get(unit, 1.0)


# -- how it is drawn --------------------------------------------------------------------------


def _draw_forest(axes: Axes, marks: Sequence[Mark], unit: str) -> None:
    """A row an arm, top down; the line of no difference; hollow without an interval."""
    axes.axvline(0, color=_DIM, linewidth=1)
    for row, mark in enumerate(marks):
        colour = _DIM if mark.yardstick else _MARK
        bounded = mark.low is not None and mark.high is not None
        if bounded:
            axes.plot([mark.low or 0, mark.high or 0], [row, row], color=colour, linewidth=2)
        axes.plot(
            [mark.value], [row], marker="D" if mark.yardstick else "o", markersize=7,
            color=colour, markerfacecolor=colour if bounded else _PAPER,
        )  # fmt: skip
    axes.set_yticks(range(len(marks)), [mark.label for mark in marks])
    for label, mark in zip(axes.get_yticklabels(), marks, strict=True):
        label.set_color(_DIM if mark.yardstick else _INK)
    axes.tick_params(left=False)
    axes.set_ylim(len(marks) - 0.4, -0.6)
    axes.margins(x=0.08)
    if not any(bound for mark in marks for bound in (mark.value, mark.low, mark.high)):
        axes.set_xlim(-1, 1)  # nothing differs: no axis of tiny fractions
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x", color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel(unit)


def _draw_plane(axes: Axes, dots: Sequence[Dot], front: Sequence[Dot], label: str) -> None:
    """Points with their intervals, a thin line along the front, names on the right."""
    axes.plot([d.x for d in front], [d.y for d in front], color=_MARK, linewidth=1, dashes=(4, 3))
    for dot in dots:
        colour = _DIM if dot.yardstick else _MARK
        for xs, ys in ((dot.x_bounds, (dot.y, dot.y)), ((dot.x, dot.x), dot.y_bounds)):
            if xs is not None and ys is not None:
                axes.plot(xs, ys, color=colour, linewidth=1, alpha=0.45)
        axes.plot(
            [dot.x], [dot.y], marker="D" if dot.yardstick else "o", markersize=8,
            color=colour, markerfacecolor=_PAPER if dot.harm == 0 else colour, zorder=3,
        )  # fmt: skip
    axes.set_ylim(-3, 103)
    axes.set_xlim(left=0)
    axes.locator_params(axis="x", nbins=4)
    axes.grid(color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel(label)
    axes.set_ylabel("SR %")
    _name_dots(axes, dots)


def _name_dots(axes: Axes, dots: Sequence[Dot]) -> None:
    """Names in a column on the right, in the order of the points, each with a line to its own."""
    least = 9.5  # percentage points between two names
    ranked = sorted(dots, key=lambda dot: (-dot.y, dot.x))
    places = [dot.y for dot in ranked]
    places[0] = min(places[0], 100.0)
    for i in range(1, len(places)):
        places[i] = min(places[i], places[i - 1] - least)
    if places[-1] < 0:  # too low: push up from below
        places[-1] = 0.0
        for i in range(len(places) - 2, -1, -1):
            places[i] = max(places[i], places[i + 1] + least)
    edge = axes.get_xlim()[1]
    for dot, place in zip(ranked, places, strict=True):
        axes.plot(
            [dot.x, edge * 1.03], [dot.y, place], color=_DIM, linewidth=0.5, clip_on=False,
            alpha=0.8,
        )  # fmt: skip
        axes.text(
            edge * 1.04, place, f"{dot.label}  {dot.harm}/{dot.n}", va="center", fontsize=9,
            color=_DIM if dot.yardstick else _INK,
        )  # fmt: skip
    axes.set_xlim(0, edge)


def _svg(canvas: Canvas, key: str) -> str:
    """The drawing as an element to stand in a page: no prolog, no styles of its own."""
    out = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    FigureCanvasSVG(canvas).print_svg(out, metadata=nothing)  # type: ignore[no-untyped-call]
    text = out.getvalue()
    text = text[text.index("<svg") :].rstrip()
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{key}-", text)
    text = re.sub(r"font-family: [^;]*; ", "", text)  # the page's own
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return re.sub(r"\s*\n\s*", "\n", text)
