"""Quantities made comparable: numbers, money, distances, durations, dates, months, coordinates.

Pure. Each reader takes a value as `texts.plain` left it and raises ValueError if it is no such
quantity. What is accepted, and how much two values may differ, are Verified's rules; the readers
are ours and know English notation only.
"""

import calendar
import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from hfr_bench.suites.webarena.texts import number_in_words

MONEY_APART = Decimal("0.1")
METRES_APART, METRES_SHARE = Decimal(10), Decimal("0.02")
SECONDS_APART, SECONDS_SHARE = 180.0, 0.10
DEGREES_APART = 1e-5

_YES, _NO = ("true", "yes", "y", "1", "t", "on"), ("false", "no", "n", "0", "f", "off")
_METRES = {
    "mm millimeter millimeters millimetre millimetres": "0.001",
    "cm centimeter centimeters centimetre centimetres": "0.01",
    "m meter meters metre metres": "1",
    "k km kilometer kilometers kilometre kilometres": "1000",
    "mi mile miles": "1609.344",
    "ft foot feet": "0.3048",
    "yd yard yards": "0.9144",
    "in inch inches": "0.0254",
}
_UNIT = MappingProxyType(
    {name: Decimal(size) for names, size in _METRES.items() for name in names.split()}
)
_SECONDS = (
    (r"y|ys|yr|yrs|year|years", 365 * 86400),
    (r"mo|mos|mth|mths|month|months", 30 * 86400),
    (r"w|wk|wks|week|weeks", 7 * 86400),
    (r"d|dy|dys|day|days", 86400),
    (r"h|hr|hrs|hour|hours", 3600),
    (r"m|min|mins|minute|minutes", 60),
    (r"s|sec|secs|second|seconds", 1),
    (r"ms|msec|msecs|millis|millisecond|milliseconds", 0.001),
)
_PARTS = re.compile(
    r"[+-]?\s*"
    + r"\s*".join(rf"(?:([\d.]+)\s*(?:{names})(?![a-z])\s*[,/]?)?" for names, _ in _SECONDS)
)
_CLOCK = re.compile(r"[+-]?\s*(?:(?:(\d+):)?(\d+):)?(\d{1,2})?:(\d{2}(?:\.\d+)?)")
_AMOUNT = re.compile(r"\.?\d[\d\s.,']*(?=[^%\d]|$)")
_LENGTH = re.compile(r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)?\s*([a-z]+)")
_PAIR = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)[\s,;]+([+-]?\d+(?:\.\d+)?)\s*")
_NAMES = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}
_WEEKDAYS = {name.lower() for names in (calendar.day_name, calendar.day_abbr) for name in names} | {
    "tues",
    "thur",
    "thurs",
    "wednes",
}
_FILLERS = {"of", "at", "on", "and", "the", "st", "nd", "rd", "th", "t", "a", "m", "z", "utc"}


def number(value: Any) -> float:
    """A number: `1,234.5`, `twenty three`."""
    if isinstance(value, int | float):
        return float(value)
    text = str(value or "")
    try:
        return float(text.replace(",", "").replace(" ", ""))
    except ValueError:
        return number_in_words(text)


def boolean(value: Any) -> bool:
    """A yes or no, in words, letters or digits."""
    if isinstance(value, bool | int | float):
        return bool(value)
    if value in _YES or value in _NO:
        return value in _YES
    raise ValueError(f"neither yes nor no: {value!r}")


def money(value: Any) -> Decimal:
    """An amount, whatever its currency: `$1,234.50`, `1.234,50 eur`, `-$5`, `free`.

    Verified takes the last separator for the one before the fraction: `1,234` is a little over one.
    """
    text = str(value if value is not None else "")
    found = _AMOUNT.search(text.replace("-", "") if text.startswith("-") else text)
    if not found and "free" in text:
        return Decimal(0)
    if not found:
        raise ValueError(f"no amount: {value!r}")
    digits = re.sub(r"[\s']", "", found.group(0)).rstrip(".,")
    point = "." if text.rfind(".") > text.rfind(",") else ","
    digits = digits.replace("," if point == "." else ".", "").replace(point, ".")
    try:
        return Decimal(digits) * (-1 if text.startswith("-") else 1)
    except ArithmeticError:
        raise ValueError(f"no amount: {value!r}") from None


def metres(value: Any) -> Decimal:
    """A distance with its unit: `2km`, `1.4 miles`, `110k`. A bare number is none."""
    found = _LENGTH.fullmatch(str(value or "").strip(" ."))
    if not found or found.group(2) not in _UNIT:
        raise ValueError(f"no distance with a unit: {value!r}")
    return Decimal(found.group(1) or 1) * _UNIT[found.group(2)]


def seconds(value: Any) -> float:
    """A duration: `1hr 35min`, `01:33:00`, `4:13` (minutes), `1:35 hours`; no bare number."""
    text = re.sub(r"(\d+):(\d+)\s*hours?", r"\1h\2m", str(value or "").strip())
    sign = -1 if text.startswith("-") else 1
    if clock := _CLOCK.fullmatch(text):
        days, hours, minutes, rest = clock.groups()
        whole = int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes or 0) * 60
        return sign * (whole + float(rest))
    parts = _PARTS.fullmatch(text)
    if not parts or not any(parts.groups()):
        raise ValueError(f"no duration with a unit: {value!r}")
    sizes = [size for _, size in _SECONDS]
    return sign * sum(float(n) * size for n, size in zip(parts.groups(), sizes, strict=True) if n)


def month(value: Any) -> str:
    """A month's English name: of `jan`, `01`, `march 2022`."""
    text = str(value if value is not None else "").strip()
    if isinstance(value, float) and value == int(value):
        text = str(int(value))
    if re.fullmatch(r"[+-]?\d+", text):
        if not 1 <= int(text) <= 12:
            raise ValueError(f"no month has the number {text}")
        return calendar.month_name[int(text)]
    return calendar.month_name[_read_date(text, dt.date(2000, 1, 1)).month]


def date(value: Any) -> str:
    """A day as YYYY-MM-DD: of `march 2, 2022`, `2nd mar 2022`, `03/02/2022` (month first)."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"no date: {value!r}")
    return _read_date(value, None).isoformat()


def _read_date(text: str, default: dt.date | None) -> dt.date:
    text = re.sub(
        r"[t ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*([ap]\.?m\.?)?(z|utc|[+-]\d\d:?\d\d)?$",
        "",
        text.strip().lower(),
    )
    named, numbers = [], []
    for word in re.findall(r"[a-z]+|\d+|[^\sa-z\d]", text):
        if word.isdigit():
            numbers.append(word)
        elif word in _NAMES:
            named.append(_NAMES[word])
        elif word not in _WEEKDAYS and word not in _FILLERS and word not in ",./-'":
            raise ValueError(f"no date: {text!r}")
    if len(named) > 1 or not (named or numbers):
        raise ValueError(f"no date: {text!r}")
    if named:
        return _with_name(named[0], numbers, text, default)
    return _all_digits(numbers, text)


def _with_name(month: int, numbers: list[str], text: str, default: dt.date | None) -> dt.date:
    years = [n for n in numbers if len(n) > 2 or int(n) > 31]
    days = [n for n in numbers if n not in years]
    if len(days) == 2 and not years:
        years = [days.pop()]
    if len(years) > 1 or len(days) > 1 or ((not years or not days) and default is None):
        raise ValueError(f"no whole date: {text!r}")
    base = default or dt.date(2000, 1, 1)
    year = _year(years[0]) if years else base.year
    return dt.date(year, month, int(days[0]) if days else base.day)


def _all_digits(numbers: list[str], text: str) -> dt.date:
    if len(numbers) == 1 and len(numbers[0]) == 8:
        numbers = [numbers[0][:4], numbers[0][4:6], numbers[0][6:]]
    if len(numbers) != 3:
        raise ValueError(f"no whole date: {text!r}")
    first, second, third = numbers
    if len(first) == 4:
        return dt.date(int(first), int(second), int(third))
    if int(first) > 12 >= int(second):
        first, second = second, first
    return dt.date(_year(third), int(first), int(second))


def _year(text: str) -> int:
    year = int(text)
    if len(text) > 2:
        return year
    return year + (2000 if year < 77 else 1900)


def coordinates(value: Any) -> tuple[float, float]:
    """(latitude, longitude) in degrees: of a mapping, a pair, or `40.44, -79.94`.

    Verified reads no points of the compass either: it has made them small letters by then.
    """
    if isinstance(value, Mapping):
        found = [_entry(value, names) for names in (("lat", "latitude"), ("lon", "longitude"))]
        return _placed(float(found[0]), float(found[1]))
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        return _placed(float(value[0]), float(value[1]))
    read = _PAIR.fullmatch(value) if isinstance(value, str) else None
    if not read:
        raise ValueError(f"no coordinates: {value!r}")
    return _placed(float(read[1]), float(read[2]))


def _entry(value: Mapping[Any, Any], names: tuple[str, str]) -> Any:
    """The value whose key is a beginning of the long name (`lat`, `latit`), or `lng`."""
    for key, found in value.items():
        low = str(key).lower()
        if (len(low) >= 2 and names[1].startswith(low)) or (low == "lng" and names[0] == "lon"):
            return found
    raise ValueError(f"no {names[1]} in {dict(value)!r}")


def _placed(latitude: float, longitude: float) -> tuple[float, float]:
    if not (math.isfinite(latitude) and math.isfinite(longitude)) or abs(latitude) > 90:
        raise ValueError(f"no place on earth: {latitude}, {longitude}")
    return latitude, (longitude + 180.0) % 360.0 - 180.0 if abs(longitude) > 180 else longitude


def same_money(one: Decimal, other: Decimal) -> bool:
    """Within a tenth of the currency's unit."""
    return abs(one - other) <= MONEY_APART


def same_distance(one: Decimal, other: Decimal) -> bool:
    """Within ten metres, or 2 % of the longer."""
    return abs(one - other) <= max(METRES_APART, METRES_SHARE * max(one, other))


def same_duration(one: float, other: float) -> bool:
    """Within three minutes, or 10 % of the longer."""
    return abs(one - other) <= max(SECONDS_APART, SECONDS_SHARE * max(one, other))


def same_place(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Within about a metre."""
    return all(abs(a - b) <= DEGREES_APART for a, b in zip(one, other, strict=True))
