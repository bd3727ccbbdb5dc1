"""Counter-based draws: chance keyed by where it is used, never by call order.

SHA-256 over the joined key, read as a 53-bit fraction: the same on any machine, in any language
and in any order. Two uses share a number only if they share the whole key.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TypeVar

Item = TypeVar("Item")

_SCALE = 1 << 53
_number = int.from_bytes


def uniform(*key: str | int) -> float:
    """A uniform number in [0, 1) that belongs to `key`."""
    digest = sha256("\x00".join(map(str, key)).encode()).digest()
    return (_number(digest[:8], "big") >> 11) / _SCALE


def joined(*key: str | int) -> str:
    """Parts of a key as one part: a key has the same draws either way."""
    return "\x00".join(map(str, key))


def uniforms(before: Sequence[str | int], counts: Iterable[int], *after: str | int) -> list[float]:
    """`uniform(*before, n, *after)` for each n: what is around n is put together only once."""
    head = "".join(f"{part}\x00" for part in before).encode()
    tail = "".join(f"\x00{part}" for part in after)
    ends = [f"{n}{tail}".encode() for n in counts]
    return [(_number(sha256(head + end).digest()[:8], "big") >> 11) / _SCALE for end in ends]


def choose(weighted: Sequence[tuple[float, Item]], *key: str | int) -> Item:
    """One of the items, with the given weights. Raises ValueError if none weighs anything."""
    total = sum([weight for weight, _ in weighted])
    if total <= 0:
        raise ValueError("nothing to choose from: the weights add up to zero")
    if len(weighted) == 1:  # whatever would be drawn
        return weighted[0][1]
    left = uniform(*key) * total
    for weight, item in weighted:
        left -= weight
        if left < 0:
            return item
    return weighted[-1][1]
