"""Nested values read by a schema, and compared. Pure; the rules are WebArena-Verified's.

What is expected is read strictly: a value that is not of its type is a defect of the task. What an
agent or a site gave is read leniently: such a value stays as it is, and equals nothing typed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hfr_bench.suites.webarena.typed import Value, typed
from hfr_bench.suites.webarena.urls import Reading


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads values by a JSON schema (`type`, `format`, `items`, `properties`)."""

    reading: Reading
    strict: bool

    def array(self, value: Any, schema: Mapping[str, Any]) -> tuple[Any, ...]:
        """A list, each item by the schema's `items`; a lone value is a list of one.

        Raises ValueError: the schema is of no list, or (strict) the value does not fit.
        """
        if schema.get("type", "array") != "array":
            raise ValueError(f"the answer's schema is of no list: {dict(schema)!r}")
        items = schema.get("items") or {}
        if items.get("type") == "object":
            return tuple(self._deep(item, items) for item in value)
        return tuple(self.single(item, kind_of(items)) for item in value)

    def mapping(self, value: Any, schema: Mapping[str, Any]) -> Any:
        """An object, each value by its property's schema, or as a string where there is none."""
        if isinstance(value, str):
            value = _object_in(value)
        if not isinstance(value, Mapping):
            if self.strict:
                raise ValueError(f"expected an object, not {value!r}")
            return value
        properties = schema.get("properties") or {}
        return {
            name: None if held is None else self._property(held, properties.get(name))
            for name, held in value.items()
        }

    def single(self, value: Any, kind: str) -> Any:
        """A value of a type; what does not fit as it is, or (strict) a ValueError."""
        try:
            return typed(value, kind, self.reading)
        except (ValueError, TypeError, ArithmeticError):
            if self.strict:
                raise
            return value

    def _property(self, value: Any, schema: Mapping[str, Any] | None) -> Any:
        if schema is None:
            return self.single(value, "string")
        if schema.get("type") == "object":
            return self.mapping(value, schema)
        if schema.get("type") != "array":
            return self.single(value, kind_of(schema))
        if isinstance(value, str):
            value = _list_in(value)
        if not isinstance(value, list | tuple):
            if self.strict:
                raise ValueError(f"expected a list, not {value!r}")
            return value
        return self.array(value, schema)

    def _deep(self, value: Any, schema: Mapping[str, Any]) -> Any:
        if isinstance(value, list | tuple):
            return tuple(self.mapping(item, schema) for item in value)
        return self.mapping(value, schema)


def kind_of(schema: Mapping[str, Any]) -> str:
    """The type that a schema names: its format before its type."""
    return str(schema.get("format") or schema.get("type") or "string")


def _object_in(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def _list_in(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, list) else text


def difference(
    expected: Any, actual: Any, *, ordered: bool = False, more: bool = False, at: str = ""
) -> str:
    """What first differs, in words; "" if nothing does. `more`: objects may have further names."""
    if expected is None or actual is None:
        return "" if expected is actual else f"{at or 'it'}: {_shown(actual)}"
    if isinstance(expected, Mapping):
        return _objects(expected, actual, ordered=ordered, more=more, at=at)
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple):
            return f"{at or 'it'}: no list, but {_shown(actual)}"
        if ordered:
            return _in_order(expected, actual, more=more, at=at)
        return _in_any_order(expected, actual, more=more, at=at)
    held = expected.equals(actual) if isinstance(expected, Value) else expected == actual
    return "" if held else f"{at or 'it'}: {_shown(actual)}"


def _objects(
    expected: Mapping[str, Any], actual: Any, *, ordered: bool, more: bool, at: str
) -> str:
    if not isinstance(actual, Mapping):
        return f"{at or 'it'}: no object, but {_shown(actual)}"
    missing, extra = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or (extra and not more):
        found = (f"without {sorted(missing)}" if missing else "") + (
            f" with {sorted(map(str, extra))}" if extra and not more else ""
        )
        return f"{at or 'it'}: {found.strip()}"
    found_at = (
        difference(
            held, actual[name], ordered=ordered, more=more, at=f"{at}.{name}" if at else name
        )
        for name, held in expected.items()
    )
    return next(filter(None, found_at), "")


def _in_order(expected: Any, actual: Any, *, more: bool, at: str) -> str:
    if len(expected) != len(actual):
        return f"{at}: {len(actual)} items"
    found = (
        difference(one, other, ordered=True, more=more, at=f"{at}[{place}]")
        for place, (one, other) in enumerate(zip(expected, actual, strict=True))
    )
    return next(filter(None, found), "")


def _in_any_order(expected: Any, actual: Any, *, more: bool, at: str) -> str:
    """Each expected item takes the first that fits it and is not taken, as Verified does."""
    left = list(actual)
    for place, one in enumerate(expected):
        fits = (i for i, other in enumerate(left) if not difference(one, other, more=more))
        taken = next(fits, None)
        if taken is None:
            return f"{at}: nothing fits item {place}"
        del left[taken]
    return f"{at}: {len(left)} more" if left else ""


def _shown(value: Any) -> str:
    shown = value.alternatives[0] if isinstance(value, Value) else value
    return repr(shown)[:80]
