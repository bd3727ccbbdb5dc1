"""Where the shapes of two slides stand: what compare_pptx_files examines of it.

Some rules were made for one task each, with its slide, its text and its limit; they are upstream's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

_OFF = frozenset(
    (
        *("title_bottom_position", "table_bottom_position", "right_position", "top_position"),
        *("shape_for_shift_size", "image_size", "modify_height"),
    )
)
_TABLE, _PICTURE, _FREEFORM = 19, 13, 5
_LOW, _RIGHT, _HIGH = 3_600_000, 4_320_000, 1_980_000
_TITLE, _TASK = "Product Comparison", "Elaborate on what you want to discuss."


@dataclass(frozen=True, slots=True)
class Examined:
    """What is examined."""

    options: Mapping[str, Any]

    def on(self, name: str) -> bool:
        return bool(self.options.get(f"examine_{name}", name not in _OFF))

    def near(self, one: Any, other: Any, *sides: str) -> bool:
        """Whether sides (all four if none is named) differ by no more than the tolerance."""
        named = sides or ("left", "top", "width", "height")
        return all(self._near(getattr(one, side), getattr(other, side)) for side in named)

    def _near(self, one: float, other: float) -> bool:
        if one == other:
            return True
        if one == 0 or other == 0:
            return False
        limit = self.options.get("approximately_tolerance", 0.005)
        return bool(abs(one - other) / max(abs(one), abs(other)) <= limit)


def placed(asked: Examined, number: int, one: Any, other: Any) -> bool:
    """Whether two shapes of the slide `number` stand where each examined rule wants them."""
    return all(rule(asked, number, one, other) for name, rule in RULES.items() if asked.on(name))


def _said(one: Any, other: Any) -> bool:
    """Whether both can hold text, and hold the same."""
    return hasattr(one, "text") and hasattr(other, "text") and bool(one.text == other.text)


def _types(one: Any, other: Any, kind: int) -> bool:
    return bool(one.shape_type == kind and other.shape_type == kind)


def _title_bottom(asked: Examined, _: int, one: Any, other: Any) -> bool:
    if _said(one, other):
        return bool(one.text != _TITLE or (one.top > other.top and one.top >= _LOW))
    return asked.near(one, other)


def _table_bottom(asked: Examined, number: int, one: Any, other: Any) -> bool:
    if number == 3 and _types(one, other, _TABLE):
        return bool(one.top > other.top and one.top >= _LOW)
    return asked.near(one, other)


def _right(_: Examined, number: int, one: Any, other: Any) -> bool:
    if number != 2 or hasattr(one, "text") or hasattr(other, "text"):
        return True
    return bool(one.left > other.left and one.left >= _RIGHT)


def _top(_: Examined, number: int, one: Any, other: Any) -> bool:
    if number != 2 or not _types(one, other, _PICTURE):
        return True
    return bool(one.top < other.top and one.top <= _HIGH)


def _shift(asked: Examined, _: int, one: Any, other: Any) -> bool:
    return asked.near(one, other) or (_said(one, other) and bool(one.text == _TASK))


def _shape(asked: Examined, _: int, one: Any, other: Any) -> bool:
    return asked.near(one, other)


def _image_size(asked: Examined, _: int, one: Any, other: Any) -> bool:
    if _types(one, other, _PICTURE):
        return asked.near(one, other, "width", "height")
    return asked.near(one, other)


def _height(asked: Examined, _: int, one: Any, other: Any) -> bool:
    """Of what holds no text, and of what is drawn freely, the height alone."""
    wordless = not hasattr(one, "text") and not hasattr(other, "text")
    if wordless or _types(one, other, _FREEFORM):
        return asked.near(one, other, "height")
    return asked.near(one, other)


RULES: Mapping[str, Callable[[Examined, int, Any, Any], bool]] = MappingProxyType(
    {
        "title_bottom_position": _title_bottom,
        "table_bottom_position": _table_bottom,
        "right_position": _right,
        "top_position": _top,
        "shape_for_shift_size": _shift,
        "shape": _shape,
        "image_size": _image_size,
        "modify_height": _height,
    }
)
