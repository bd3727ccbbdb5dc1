"""Counter-based draws: chance keyed by where it is used, never by call order.

SHA-256 over the joined key, read as a 53-bit fraction: the same on any machine, in any language
and in any order. Two uses share a number only if they share the whole key.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")

_SCALE = 1 << 53


def uniform(*key: str | int) -> float:
    """A uniform number in [0, 1) that belongs to `key`."""
    text = "\x00".join(map(str, key))
    head = hashlib.sha256(text.encode()).digest()[:8]
    return (int.from_bytes(head, "big") >> 11) / _SCALE


def uniforms(before: Sequence[str | int], counts: Iterable[int], *after: str | int) -> list[float]:
    """`uniform(*before, n, *after)` for each n: what comes before n is hashed only once."""
    head = hashlib.sha256("".join(f"{part}\x00" for part in before).encode())
    tail = "".join(f"\x00{part}" for part in after)
    found = []
    for n in counts:
        whole = head.copy()
        whole.update(f"{n}{tail}".encode())
        found.append((int.from_bytes(whole.digest()[:8], "big") >> 11) / _SCALE)
    return found


def choose(weighted: Sequence[tuple[float, Item]], *key: str | int) -> Item:
    """One of the items, with the given weights. Raises ValueError if none weighs anything."""
    total = sum(weight for weight, _ in weighted)
    if total <= 0:
        raise ValueError("nothing to choose from: the weights add up to zero")
    left = uniform(*key) * total
    for weight, item in weighted:
        left -= weight
        if left < 0:
            return item
    return weighted[-1][1]
