"""Words made comparable: one spelling, no marks, no case. Pure; the rules are Verified's.

Where Verified transliterates every script (unidecode), only letters with a Latin base and common
signs are made ASCII here; what is left stays as it is, so equal texts stay equal.
"""

import re
import unicodedata
from collections.abc import Callable
from types import MappingProxyType

from hfr_bench.suites.webarena.urls import is_pattern

Derender = Callable[[str], str]
"""Text with the URLs of known sites as placeholders."""

_HYPHENS = "[-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad]"
_BY_LETTERS = re.compile(rf"(?<=[a-zA-Z]){_HYPHENS}|{_HYPHENS}(?=[a-zA-Z])")
_MARKS = dict.fromkeys(map(ord, "\u2122\u00ae\u2120\u00a9"))
_ASCII = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u02bc\u02b9"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-"),
    **dict.fromkeys(map(ord, "\u2014\u2015"), "--"),
    **dict.fromkeys(map(ord, "\u2022\u00b7"), "*"),
    **dict(
        zip(map(ord, "\u00df\u00e6\u00c6\u0153\u0152"), ("ss", "ae", "AE", "oe", "OE"), strict=True)
    ),
    **dict(
        zip(
            map(ord, "\u00f8\u00d8\u0142\u0141\u00f0\u00d0\u0111\u0110\u0131"),
            "oOlLdDdDi",
            strict=True,
        )
    ),
    **dict(zip(map(ord, "\u20ac\u00a3\u00a2\u00a5"), ("EUR", "PS", "C/", "Y="), strict=True)),
    **dict(zip(map(ord, "\u00ab\u00bb\u00bf\u00a1"), ("<<", ">>", "?", "!"), strict=True)),
    **dict(
        zip(map(ord, "\u00d7\u00b0\u2044\u00fe\u00de"), ("x", "deg", "/", "th", "Th"), strict=True)
    ),
}
_EDGES = "'\"`.,;:!?"
_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = MappingProxyType(
    {word: number for number, word in enumerate(_SMALL)}
    | {word: number * 10 for number, word in enumerate(_TENS, start=2)}
)
_SCALES = MappingProxyType({"thousand": 1000, "million": 10**6, "billion": 10**9})


def plain(text: str, derender: Derender | None = None) -> str:
    """A text as compared; a pattern and the empty text stay as they are."""
    if not text or is_pattern(text):
        return text
    if derender and "http" in text:
        text = derender(text)
    text = unicodedata.normalize("NFKC", text.translate(_MARKS))
    text = _BY_LETTERS.sub(" ", text)
    text = "".join(map(_kept, text)).translate(_ASCII)
    text = "".join(map(_base, text))
    return re.sub(r"\s+", " ", text.strip()).casefold()


def trimmed(text: str) -> str:
    """A text without the quotes and stops around it."""
    return text.strip(_EDGES)


def likeness(one: str, other: str) -> int:
    """How alike two names are, 0 to 100, whatever the order of their words.

    Twice the longest common subsequence over both lengths, of the sorted words.
    """
    one, other = _sorted_words(one), _sorted_words(other)
    if not one or not other:
        return 0
    row = [0] * (len(other) + 1)
    for letter in one:
        before = 0
        for place, against in enumerate(other, start=1):
            kept = row[place]
            row[place] = before + 1 if letter == against else max(row[place], row[place - 1])
            before = kept
    return round(200 * row[-1] / (len(one) + len(other)))


def number_in_words(text: str) -> float:
    """The number that English words name, such as `twenty three`. Raises ValueError."""
    total, part, seen = 0, 0, False
    words = [word for word in text.replace("-", " ").lower().split() if word != "and"]
    for word in words:
        if word in _NUMBERS:
            part += _NUMBERS[word]
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
        else:
            continue
        seen = True
    if not seen:
        raise ValueError(f"no number: {text!r}")
    return float(total + part)


def _sorted_words(text: str) -> str:
    return " ".join(sorted(re.sub(r"\W", " ", text).lower().split()))


def _kept(letter: str) -> str:
    if unicodedata.category(letter)[0] != "C":
        return letter
    return " " if letter in "\t\n\r" else ""


def _base(letter: str) -> str:
    """The letter under an accent; a letter of another script as it is."""
    if letter.isascii():
        return letter
    base = unicodedata.normalize("NFKD", letter)
    bare = "".join(part for part in base if not unicodedata.combining(part))
    return bare if bare.isascii() else letter
