"""Wrong answers that look right: one deterministic edit of a real answer, keyed by its event.

Pure. An edit never gives back what it was given; where its own way is barred (no number, no other
row, no JSON at all) it takes the next plainer one.
"""

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from hfr_bench.faults.draw import uniform

Path = tuple[str | int, ...]
"""Keys and indices from the top of a JSON value down."""

Found = tuple[Path, Any]

_PROSE = re.compile(r"note|text|comment|message|description|body|reason|review|subject|resolution")
_DIGITS = re.compile(r"\d+")
_OFF = (1, -1, 2, 10)


def altered(edit: str, body: str, key: str, text: str = "") -> str:
    """An answer's body after an edit (`model.effects.Alter`); `key` draws the place.

    Raises KeyError for an edit that is not known.
    """
    if edit == "truncated":
        return _cut(body, key)
    change = _EDITS[edit]
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict | list):
        return _text(body, key, text)
    for way in change:
        made = way(value, key, text)
        if made is not None:
            changed = json.dumps(made, ensure_ascii=False)
            if json.loads(changed) != value:
                return changed
    return _text(body, key, text)


# -- ways: each gives a changed copy, or None where it cannot --------------------------------------


def _number(value: Any, key: str, _: str) -> Any:
    """One number a little off: an integer by 1, 2 or 10, another by a tenth."""
    numbers = [one for one in _leaves(value) if _is_number(one[1])]
    if not numbers:
        return None
    path, old = _pick(numbers, key, "number")
    if isinstance(old, int):
        off = _pick([step for step in _OFF if old + step >= 0 or old < 0], key, "off")
        return _put(value, path, old + off)
    return _put(value, path, round(old * 1.1, 2) if old else 1.0)


def _row(value: Any, key: str, _: str) -> Any:
    """A word of one row in the place of another row's, under the same name."""
    rows: dict[tuple[Path, str], list[Found]] = {}
    for path, word in _leaves(value):
        if isinstance(word, str) and len(path) >= 2 and isinstance(path[-1], str):
            rows.setdefault((path[:-2], path[-1]), []).append((path, word))
    swaps = [
        (path, other)
        for found in rows.values()
        for path, word in found
        for other in sorted({str(w) for _, w in found} - {word})
    ]
    if not swaps:
        return None
    path, other = _pick(swaps, key, "row")
    return _put(value, path, other)


def _digits(value: Any, key: str, _: str) -> Any:
    """A word in which one digit is another."""
    words = [(p, w) for p, w in _leaves(value) if isinstance(w, str) and _DIGITS.search(w)]
    if not words:
        return None
    path, word = _pick(words, key, "digits")
    return _put(value, path, _other_digits(word, key))


def _flag(value: Any, key: str, _: str) -> Any:
    flags = [one for one in _leaves(value) if isinstance(one[1], bool)]
    if not flags:
        return None
    path, old = _pick(flags, key, "flag")
    return _put(value, path, not old)


def _fewer(value: Any, key: str, _: str) -> Any:
    """One entry of the top less."""
    if not value:
        return None
    gone = _pick(list(value), key, "gone") if isinstance(value, dict) else len(value) - 1
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if name != gone}
    return value[:-1]


def _one_more(value: Any, _key: str, _: str) -> Any:
    return {**value, "total": 1} if isinstance(value, dict) else [*value, {}]


def _instruct(value: Any, key: str, text: str) -> Any:
    """The text at the end of a field that people write in, else of any word."""
    words = [one for one in _leaves(value) if isinstance(one[1], str)]
    prose = [one for one in words if one[0] and _PROSE.search(str(one[0][-1]).lower())]
    if not words:
        return {**value, "note": text} if isinstance(value, dict) else [*value, {"note": text}]
    path, word = _pick(prose or words, key, "field")
    return _put(value, path, f"{word} {text}".strip())


def _black(value: Any, _key: str, _: str) -> Any:
    """Of an answer that names a picture by its digest: a black one of its size."""
    if not isinstance(value, dict) or not isinstance(value.get("screenshot"), str):
        return None
    width, height = _size(value.get("width")), _size(value.get("height"))
    if not width or not height:
        return None
    return {**value, "screenshot": f"sha256:{hashlib.sha256(black(width, height)).hexdigest()}"}


def _no_elements(value: Any, _key: str, _: str) -> Any:
    """Of an answer that holds a tree, one line an element: none of them."""
    if not isinstance(value, dict) or not isinstance(value.get("accessibility_tree"), str):
        return None
    none = hashlib.sha256(b"").hexdigest()
    return {**value, "digest": none, "elements": 0, "accessibility_tree": ""}


Way = Callable[[Any, str, str], Any]

_WRONG: tuple[Way, ...] = (_digits, _flag, _fewer, _one_more)
_EDITS: dict[str, tuple[Way, ...]] = {
    "number": (_number, _row, *_WRONG),
    "row": (_row, _number, *_WRONG),
    "instruction": (_instruct, _one_more),
    "black": (_black, *_WRONG),
    "no_elements": (_no_elements, *_WRONG),
}


def black(width: int, height: int) -> bytes:
    """A black PNG (one bit a pixel), stored as it is, so that its bytes are the same everywhere."""
    rows = bytes(1 + (width + 7) // 8) * height
    blocks = [rows[at : at + 65535] for at in range(0, len(rows), 65535)] or [b""]
    stored = b"".join(
        struct.pack("<BHH", n == len(blocks), len(block), len(block) ^ 0xFFFF) + block
        for n, block in enumerate(blocks, 1)
    )
    packed = b"\x78\x01" + stored + struct.pack(">I", zlib.adler32(rows))
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, held: bytes) -> bytes:
    return struct.pack(">I", len(held)) + kind + held + struct.pack(">I", zlib.crc32(kind + held))


def _size(value: object) -> int:
    """The value as a picture's width or height; 0 if it is none."""
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1 << 14
    return value if isinstance(value, int) and fits else 0


# -- plain text and helpers ------------------------------------------------------------------------


def _cut(body: str, key: str) -> str:
    """The beginning of an answer: at least a tenth of it is missing, and at most nine."""
    kept = int(len(body) * (0.1 + 0.8 * uniform("kept", key)))
    return body[:kept] if kept or body else "null"


def _text(body: str, key: str, text: str) -> str:
    """Of an answer that is no JSON object: an instruction behind it, else another number or word.

    The last resort for one without digits is that its last word is missing.
    """
    if text:
        return f"{body}\n{text}"
    if _DIGITS.search(body):
        return _other_digits(body, key)
    shorter = body.rstrip().rpartition(" ")[0]
    return shorter or ("null" if body != "null" else "{}")


def _other_digits(text: str, key: str) -> str:
    """One run of digits is counted on by 1 to 8 in its last place."""
    run = _pick(list(_DIGITS.finditer(text)), key, "run")
    last = run.end() - 1
    step = 1 + int(uniform("step", key) * 8)
    return f"{text[:last]}{(int(text[last]) + step) % 10}{text[last + 1 :]}"


def _leaves(value: Any, path: Path = ()) -> Iterator[Found]:
    """Every value that holds no other, with its path, in order."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, (*path, name))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _leaves(one, (*path, index))
    else:
        yield path, value


def _put(value: Any, path: Path, new: Any) -> Any:
    """A copy with another value at a path."""
    if not path:
        return new
    head, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {n: _put(one, rest, new) if n == head else one for n, one in value.items()}
    return [_put(one, rest, new) if n == head else one for n, one in enumerate(value)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _pick(items: list[Any], *key: str) -> Any:
    return items[int(uniform(*key) * len(items))]
