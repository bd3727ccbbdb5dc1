"""Values with a type, as WebArena-Verified's schemas name them, and when two of them are equal.

Pure. A value may have alternatives: any of them will do. The type `full_address` is not here: no
public task uses it, and Verified reads it by a statistical parser.
"""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from hfr_bench.suites.webarena import quantities as q
from hfr_bench.suites.webarena.texts import Derender, likeness, plain, trimmed
from hfr_bench.suites.webarena.urls import Address, Reading, is_pattern, is_tame, read_address

ALIKE = 80
"""How alike two names of places must be, of 100 (`texts.likeness`)."""

_EMPTY = ("n/a", "na", "nan", "null", "none")
_MARKDOWN = (
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
    (re.compile(r"\n{3,}"), "\n\n"),
    (re.compile(r"^(\s*)(#{1,6})[ \t]+", re.MULTILINE), r"\1\2 "),
    (re.compile(r"^(\s*)[*+][ \t]+", re.MULTILINE), r"\1- "),
    (re.compile(r"^[ \t]+(-)", re.MULTILINE), r"  \1"),
    (re.compile(r"\[([^\]]*?)\n\s*([^\]]*?)\](\([^)]+\))"), r"[\1 \2]\3"),
)


class Kind(NamedTuple):
    """A type: how words are spelt before reading, how a value is read, when two are equal."""

    spell: Callable[[str, Derender], str]
    read: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a type (a key of KINDS, or `url`), with its alternatives."""

    kind: str
    alternatives: tuple[Any, ...]

    def equals(self, other: object) -> bool:
        """Whether some alternative of one equals some alternative of the other."""
        if isinstance(other, str) and self.kind == "string":
            other = Value("string", (_string(plain(other)),))
        if not isinstance(other, Value) or other.kind != self.kind:
            return False
        same = _same_address if self.kind == "url" else KINDS[self.kind].same
        return any(same(one, two) for one in self.alternatives for two in other.alternatives)


def typed(raw: Any, kind: str, reading: Reading) -> Value:
    """A value read as a type. Raises ValueError if it is none, or names no known type."""
    kind = "number" if kind == "integer" else kind
    if kind != "url" and kind not in KINDS:
        raise ValueError(f"no type {kind!r}: there are {', '.join((*KINDS, 'integer', 'url'))}")
    several = isinstance(raw, list | tuple)
    if kind == "coordinates" and several and len(raw) == 2:
        several = not all(isinstance(item, int | float | str) for item in raw)
    if several and len(raw) < 2:
        raise ValueError(f"{raw!r}: a list of alternatives has two or more")
    items = tuple(raw) if several else (raw,)
    if kind == "url":
        return Value(kind, tuple(read_address(_text(item), reading) for item in items))
    spell, read, _ = KINDS[kind]

    def derender(text: str) -> str:
        return reading.sites.derender(text, reading.among)

    spelt = [spell(item, derender) if isinstance(item, str) else item for item in items]
    return Value(kind, tuple(read(item) for item in spelt))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"no text: {value!r}")
    return value


def _bare(text: str, _: Derender) -> str:
    return text.strip()


def _spell_empty(text: str, _: Derender) -> str:
    return re.sub(r"\s*/\s*", "/", re.sub(r"\s+", " ", text.strip().lower()))


def _string(value: Any) -> str:
    if not value:
        return ""
    return value.strip() if is_pattern(value) else str(value).lower().strip()


def _same_string(one: str, other: str) -> bool:
    if _by_pattern(one, other, re.IGNORECASE):
        return True
    return one == other or trimmed(one) == trimmed(other)


def _by_pattern(expected: str, given: str, flags: re.RegexFlag) -> bool:
    """Whether one matches the other. Upstream takes a pattern from either side."""
    if is_pattern(expected) and _matches(expected, given, flags):
        return True
    return is_pattern(given) and is_tame(given) and _matches(given, expected, flags)


def _matches(pattern: str, text: str, flags: re.RegexFlag) -> bool:
    try:
        return re.fullmatch(pattern, text, flags) is not None
    except re.error:
        return False


def _name(value: Any) -> str:
    if value is None:
        raise ValueError("no name of a place")
    return str(value).lower().strip() if value else ""


def _same_name(one: str, other: str) -> bool:
    return one == other or bool(one and other and likeness(one, other) >= ALIKE)


def _list(value: Any) -> tuple[str, ...]:
    items = tuple(sorted(item.strip() for item in str(value or "").split(",") if item.strip()))
    if not items:
        raise ValueError(f"no list: {value!r}")
    return items


def _none(value: Any) -> None:
    if (value or isinstance(value, int | float)) and value not in _EMPTY:
        raise ValueError(f"not empty: {value!r}")


def _json(value: Any) -> str:
    return json.dumps(json.loads(_text(value)), sort_keys=True, ensure_ascii=False)


def _markdown(value: Any) -> str:
    text = _text(value).replace("\r\n", "\n").replace("\r", "\n")
    if not text:
        raise ValueError("an empty text")
    for pattern, instead in _MARKDOWN:
        text = pattern.sub(instead, text)
    text = re.sub(r"\[([^\]]+)\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    return re.sub(r"\(\s*([^)]+?)\s*\)", r"(\1)", text).strip()


def _base64(value: Any) -> str:
    text = _text(value)
    if is_pattern(text):
        return text
    if not text:
        raise ValueError("an empty text")
    found = base64.b64decode(text, validate=True).decode()
    return found.replace("\r\n", "\n").replace("\r", "\n").strip()


def _same_content(one: str, other: str) -> bool:
    return one == other or _by_pattern(one, other, re.DOTALL)


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other)


def _same_address(one: Address, other: Address) -> bool:
    return one.same_place(other) and same_query(one.query, other.query)


def same_query(expected: Any, actual: Any) -> bool:
    """Whether two queries agree: the first value of each name; a missing one is empty."""
    for name in {*expected, *actual}:
        one, other = (_first(query.get(name)) for query in (expected, actual))
        if isinstance(one, Value):
            pattern = next((a for a in one.alternatives if is_pattern(str(a))), None)
            plain_other = other.alternatives[0] if isinstance(other, Value) else other
            held = _found(pattern, plain_other) if pattern else one.equals(other)
        else:
            held = _found(one, other) if is_pattern(one) else one == other
        if not held:
            return False
    return True


def _first(values: Any) -> Any:
    if not values:
        return ""
    found = values[0] if isinstance(values, list | tuple) else values
    return "" if found is None else found


def _found(pattern: Any, text: Any) -> bool:
    shown = text.alternatives[0] if isinstance(text, Value) else text
    return re.match(str(pattern), str(shown)) is not None


KINDS = MappingProxyType(
    {
        "string": Kind(plain, _string, _same_string),
        "number": Kind(plain, q.number, _equal),
        "boolean": Kind(plain, q.boolean, _equal),
        "currency": Kind(plain, q.money, q.same_money),
        "distance": Kind(plain, q.metres, q.same_distance),
        "duration": Kind(plain, q.seconds, q.same_duration),
        "date": Kind(plain, q.date, _equal),
        "month": Kind(plain, q.month, _equal),
        "coordinates": Kind(plain, q.coordinates, q.same_place),
        "location-name": Kind(plain, _name, _same_name),
        "string_list": Kind(plain, _list, _equal),
        "null": Kind(_spell_empty, _none, _equal),
        "json": Kind(plain, _json, _equal),
        "markdown": Kind(_bare, _markdown, _equal),
        "base64": Kind(_bare, _base64, _same_content),
    }
)
