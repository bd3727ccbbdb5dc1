"""Lays the report's figures out, and writes them as SVG elements that stand in its page.

Only places are decided here. How things look (colours, in the dark too, and strokes) is in the
page's `report.css`. A drawing is as wide as its names need, and a plane as high: none is cut, and
none lies on another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise, product
from math import ceil, floor
from typing import NamedTuple

# Lengths are in units of the drawing, which the page scales to the room that there is.
WIDTH = 400.0
LEAST = 200.0  # what names leave of it for the axis; else the drawing is wider
SIZE = 12.0  # of the text, as in report.css
ROW, LINE = 26.0, 16.0  # between two arms, and between two names beside a plane
GAP = 8.0
AXIS = 40.0  # under the plot: values and label
ROOM = 24.0  # on both sides of the plot, for the outermost values


Point = tuple[float, float]


class Mark(NamedTuple):
    """A value with its bounds (None: no interval), in the unit that is drawn."""

    label: str
    value: float
    bounds: tuple[float, float] | None
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

    @property
    def name(self) -> str:
        return f"{self.label} {self.harm}/{self.n}"


class Scale(NamedTuple):
    """Values from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values, and how they are written: as many as stand side by side."""
        for exponent, digits in product(range(-9, 16), ("1", "2", "2.5", "5")):
            step = float(f"{digits}e{exponent}")
            apart = step / (self.high - self.low) * (self.end - self.start)
            if apart >= 3 * SIZE:
                places = max(0, digits.count(".") - exponent)
                numbers = range(ceil(self.low / step), floor(self.high / step) + 1)
                made = [(n * step, f"{n * step:.{places}f}") for n in numbers]
                if all(wide(text) + GAP <= apart for _, text in made):
                    return [(value, text) for value, text in made if self._has_room(value, text)]
        return []

    def _has_room(self, value: float, text: str) -> bool:
        middle, half = self.at(value), 0.5 * wide(text)
        return self.start - ROOM <= middle - half and middle + half <= self.end + ROOM


def forest(marks: Sequence[Mark], unit: str) -> str:
    """A row an arm, top down; the line of no difference; hollow without an interval."""
    ends = [0.0, *(end for mark in marks for end in (mark.value, *(mark.bounds or ())))]
    low, high = (min(ends), max(ends)) if any(ends) else (-1.0, 1.0)
    pad = 0.08 * (high - low)
    left = max(ROOM, *(wide(mark.label) + GAP for mark in marks))
    right = left + max(LEAST, WIDTH - left - ROOM)
    bottom = ROW * len(marks) + GAP
    scale = Scale(low - pad, high + pad, left, right)
    parts = _below(scale, 0.0, bottom, unit)
    parts.append(_line("zero", (scale.at(0.0), 0.0), (scale.at(0.0), bottom)))
    for row, mark in enumerate(marks):
        look, y = _look(mark), ROW * (row + 0.5) + 0.5 * GAP
        parts.append(_text(f"end {look}", (left - GAP, y), mark.label))
        if mark.bounds is not None:
            start, end = map(scale.at, mark.bounds)
            parts.append(_line(look, (start, y), (end, y)))
        parts.append(_point(mark, (scale.at(mark.value), y), filled=mark.bounds is not None))
    return _drawing(right + ROOM, bottom + AXIS, parts)


def plane(dots: Sequence[Dot], front: Sequence[Dot], label: str) -> str:
    """Points with their intervals, a thin line along the front, names on the right."""
    names = max(wide(dot.name) for dot in dots)
    left, top = wide("100") + GAP, 1.5 * LINE
    right = left + max(LEAST, WIDTH - left - 3 * GAP - names)
    bottom = top + LINE * max(14, len(dots))
    most = max(end for dot in dots for end in (dot.x, *(dot.x_bounds or ())))
    xs, ys = Scale(0.0, 1.05 * most or 1.0, left, right), Scale(-3.0, 103.0, bottom, top)
    parts = [_text("start", (0.0, 0.5 * LINE), "SR %")]
    for y, share in ((ys.at(share), share) for share in range(0, 101, 20)):
        parts.append(_line("grid", (left, y), (right, y)))
        parts.append(_text("end value", (left - GAP, y), str(share)))
    parts += _below(xs, top, bottom, label)
    parts += _beside(dots, xs, ys)
    for one, other in pairwise((xs.at(dot.x), ys.at(dot.y)) for dot in front):
        parts.append(_line("front", one, other))
    for dot in dots:
        look, (x, y) = f"thin {_look(dot)}", (xs.at(dot.x), ys.at(dot.y))
        if dot.x_bounds is not None:
            start, end = map(xs.at, dot.x_bounds)
            parts.append(_line(look, (start, y), (end, y)))
        if dot.y_bounds is not None:
            start, end = map(ys.at, dot.y_bounds)
            parts.append(_line(look, (x, start), (x, end)))
    parts += [_point(dot, (xs.at(dot.x), ys.at(dot.y)), filled=dot.harm > 0) for dot in dots]
    return _drawing(right + 3 * GAP + names, bottom + AXIS, parts)


def wide(text: str) -> float:
    """The most that a text takes: a page falls back on any font, this is a wide one's."""
    signs = {**dict.fromkeys("fijlrt.,:;-/ ", 0.42), **dict.fromkeys("mwMW%+$", 1.0)}
    return SIZE * sum(signs.get(sign, 0.65) for sign in text)


def _below(scale: Scale, top: float, bottom: float, label: str) -> list[str]:
    """The axis under a plot: values, their lines through the plot, and what they are."""
    parts = [_line("grid", (scale.start, bottom), (scale.end, bottom))]
    for value, text in scale.ticks():
        x = scale.at(value)
        parts.append(_line("grid", (x, top), (x, bottom + 0.5 * GAP)))
        parts.append(_text("mid value", (x, bottom + 1.5 * GAP), text))
    middle = 0.5 * (scale.start + scale.end)
    return [*parts, _text("mid", (middle, bottom + AXIS - GAP), label)]


def _beside(dots: Sequence[Dot], xs: Scale, ys: Scale) -> list[str]:
    """Names in a column on the right, in the order of the points, each with a line to its own."""
    parts, x, y = list[str](), xs.end + 2 * GAP, ys.end - LINE
    ranked = sorted(dots, key=lambda dot: (-dot.y, dot.x))
    for number, dot in enumerate(ranked, 1):
        # Beside its point, but below the last name, and with room for those that follow.
        lowest = ys.start - LINE * (len(ranked) - number)
        y = min(max(ys.at(dot.y), y + LINE), lowest)
        parts.append(_line("leader", (xs.at(dot.x), ys.at(dot.y)), (x - 2.0, y)))
        parts.append(_text(_look(dot), (x, y), dot.name))
    return parts


# -- elements ---------------------------------------------------------------------------------


def _look(of: Mark | Dot) -> str:
    return "yardstick" if of.yardstick else "arm"


def _line(look: str, start: Point, end: Point) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line class="{look}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _point(of: Mark | Dot, at: Point, *, filled: bool) -> str:
    """A disk; a yardstick's is a diamond."""
    look, (x, y) = _look(of) if filled else f"{_look(of)} hollow", at
    if of.yardstick:
        return f'<path class="{look}" d="M{x:.1f} {y:.1f}m0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z"/>'
    return f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'


def _text(look: str, at: Point, text: str) -> str:
    """A text, halfway up its letters; `look` says which end of it is meant."""
    x, y = at
    return f'<text class="{look}" x="{x:.1f}" y="{y + 0.35 * SIZE:.1f}">{escape(text)}</text>'


def _drawing(width: float, height: float, parts: Sequence[str]) -> str:
    return "\n".join([f'<svg viewBox="0 0 {width:.0f} {height:.0f}">', *parts, "</svg>"])
