"""Secrets in layouts that no list of forms has: broken over lines, spaced, reversed, packed.

    data -> without all but letters and digits, in small letters -> the secret, its reverse, its
            hexadecimal and base64 forms, treated alike; its first and its last half
         -> what is gzip or zlib within base64, unpacked -> looked through again

Letters and digits of a secret must be many and mixed, or ordinary words would be taken for it.
"""

import base64
import re
import zlib
from collections.abc import Iterable, Iterator

CORE_MIN = 12
"""Letters and digits that a secret must have to be looked for in this way."""
UNPACKED_MAX = 1024**2
"""Bytes of one packed text that are looked at."""

_KEPT = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DROPPED = bytes(set(range(256)) - set(_KEPT))
_SMALL = bytes(range(256)).lower()
_BREAKS = (b"\\n", b"\\r", b"\\t")  # of lines within JSON: their letters are no text
# The first bytes of gzip (1f 8b 08) and of zlib's streams (78 01, 78 5e, 78 9c, 78 da) in base64.
_MARKS = (b"H4sI", b"eAE", b"eF4", b"eJ", b"eNo", b"eNq", b"eNp", b"eNr")
_PACKED = re.compile(rb"(?:H4sI|eAE|eF4|eJ|eN[opqr])[A-Za-z0-9+/_-]{8,}")


def folded(data: bytes) -> bytes:
    """Its ASCII letters and digits alone, the letters small."""
    for mark in _BREAKS:
        data = data.replace(mark, b"")
    return data.translate(_SMALL, _DROPPED)


class Folded:
    """What to look for of one secret, in folded data; nothing for one that is made of words.

    `name`: of the variable that holds it.
    """

    def __init__(self, name: str, secret: str) -> None:
        self.name = name
        raw = secret.encode(errors="surrogateescape")
        core = folded(raw)
        mixed = not core.isalpha() or raw not in (raw.lower(), raw.upper(), raw.capitalize())
        self.needles: tuple[bytes, ...] = ()
        if len(core) >= CORE_MIN and mixed:
            packed = [base64.b64encode(b"\0" * n + raw)[-(-8 * n // 6) : -4] for n in range(3)]
            packed.append(base64.b32encode(raw)[:-8] or core)
            codes = [form % sign for form in (b"u%04x", b"x%02x") for sign in raw]
            spelt = b"".join(codes[: len(raw)]), b"".join(codes[len(raw) :])
            forms = (core, core[::-1], raw.hex().encode(), *spelt, *map(folded, packed))
            forms += tuple(filter(_telling, (core[: -(-len(core) // 2)], core[len(core) // 2 :])))
            self.needles = tuple(dict.fromkeys(form for form in forms if len(form) >= CORE_MIN))


def _telling(half: bytes) -> bool:
    """Whether half a secret (in whatever two it is cut, one half is whole) is nothing common."""
    return len(half) >= CORE_MIN and not half.isalpha() and not half.isdigit()


def found(secrets: Iterable[Folded], data: bytes) -> Iterator[tuple[str, int]]:
    """Each secret that is in the data, and the line (from 1) on which it begins."""
    wanted = [secret for secret in secrets if secret.needles]
    if not wanted:
        return
    small = folded(data)
    for secret in wanted:
        places = [at for needle in secret.needles if (at := small.find(needle)) >= 0]
        if places:
            yield secret.name, _line(data, min(places))


def _line(data: bytes, at: int) -> int:
    """The line that holds a place of the folded data."""
    seen = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        seen += len(folded(line))
        if seen > at:
            return number
    return 1


def unpacked(data: bytes) -> Iterator[tuple[int, bytes]]:
    """What stands packed (gzip, zlib) within base64: its line, and its beginning unpacked."""
    if not any(mark in data for mark in _MARKS):
        return
    for match in _PACKED.finditer(data):
        text = match.group().translate(bytes.maketrans(b"-_", b"+/"))
        if inner := _inflated(base64.b64decode(text + b"=" * (-len(text) % 4 % 3))):
            yield data.count(b"\n", 0, match.start()) + 1, inner


def _inflated(data: bytes) -> bytes:
    """b"" for what only looked as if it were packed."""
    try:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(data, UNPACKED_MAX)
    except zlib.error:
        return b""
