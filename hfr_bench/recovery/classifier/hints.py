"""How long a provider asks us to wait, wherever it says so (paper §4.3; RFC 9110, 10.2.3).

Three tiers. *Stated waits*: `retry-after` and its millisecond forms, fields of the body such as
Google's `retryDelay`, and prose ("try again in 7m12s"). They contradict each other in the wild,
and the largest wins: a stated wait is never undercut. Only where nothing is stated, and a limit was
hit, the time at which an exhausted limit *resets*. Nothing here raises, and no clock is read.
"""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_tz

from hfr_bench.model.attempt import Observation

_MAX_S = 1e9  # longer than thirty years: not a wait but a mistake
_READ = 20_000  # characters of a body; hints stand in short error bodies
_EPOCH_S = 1e9  # a bare number above is a point in time, not a wait
_EPOCH_MS = 1e11

_IN_S, _IN_MS = ("retry-after",), ("retry-after-ms", "x-ms-retry-after-ms")
_STATED = _IN_S + _IN_MS
_LIMITED = (403, 429)
_RESET = re.compile(r"(?:^|-)reset(?:-|$)")
_UNIT_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = (
    r"\d{1,12}(?:\.\d{0,12})?\s{0,2}"
    r"(?:milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)"
    r"(?![a-z])"
)
# "7m12s" has no space, "1 hour and 5 minutes" has words; a unit may be followed by a digit.
_JOIN = r"(?:\s{0,2}(?:,|and)?\s{0,2})"
_DURATION = re.compile(rf"{_PART}(?:{_JOIN}{_PART}){{0,4}}", re.A)
_PARTS = re.compile(r"(\d{1,12}(?:\.\d{0,12})?)\s{0,2}(ms|mil|mse|s|m|h|d)", re.A)
_PROSE = re.compile(
    r"(?:try(?:ing)?(?:[\w ,]{0,30}?) again(?: later)?|retry(?:ing)?(?: \w+){0,2}?|wait(?:ing)?"
    r"|sleep|available(?: again)?|resets?|back[ -]?off)"
    r"[ :=]{0,3}(?:(?:in|after|for|at least|about|approximately|around|another|up to|~)[ :=]{0,3})"
    rf"{{0,3}}({_PART}(?:{_JOIN}{_PART}){{0,4}})",
    re.A,
)
_ASKING = ("again", "retry", "wait", "reset", "available", "sleep", "back", "_time")
"""Words without which nobody asks for a wait."""
_BARE = re.compile(
    r"retry[ _-]?after['\"]?\s{0,2}[:=]?\s{0,2}(\d{1,12}(?:\.\d{1,12})?)(?![\w.])", re.A
)
# A field of a body, whatever the depth, also of JSON that was quoted once more.
_FIELD = re.compile(
    r"\\*[\"'](retry_?delay|retry_?after|resets_in|estimated_time|wait|retry_?in|cooldown_time)"
    r"(?:_?(seconds|secs?|s|ms|millis|milliseconds|time))?(?:_raw)?\\*[\"']"
    r"\s*:\s*(?:\\*[\"'])?(\d{1,12}(?:\.\d{1,12})?)\s*(ms|s)?(?![\w.])",
    re.A,
)


def retry_after_us(observation: Observation, *, now_s: float | None = None) -> int | None:
    """The wait that the response asks for, in microseconds, rounded up; None where none is told.

    A date is read against the response's own `date` header, or `now_s` (seconds since the epoch)
    where it has none; without either it says nothing.
    """
    headers, body = observation.headers, observation.body
    if "date" in headers:
        now_s = _date_s(_text(headers, "date")) or now_s
    waits: list[float] = []
    for name in _STATED:
        if name in headers:
            waits += _from_headers(headers, now_s)
            break
    if body:
        waits += _from_body(body[:_READ].lower())
    if not waits:
        for name in headers:
            if "reset" in name:
                waits += _from_resets(observation, now_s)
                break
    if not waits:
        return None
    kept = [wait for wait in waits if 0 <= wait <= _MAX_S]  # also drops NaN
    return math.ceil(max(kept) * 1_000_000) if kept else None


def _from_headers(headers: Mapping[str, str], at_s: float | None) -> Iterator[float]:
    for name in _IN_S:
        stated = _text(headers, name)
        if not stated:
            continue
        number = _number(stated)
        if number is not None:
            yield number
        elif (duration := _duration_s(stated.lower())) is not None:
            yield duration
        elif at_s is not None and (then_s := _date_s(stated)) is not None:
            yield max(0.0, then_s - at_s)
    for name in _IN_MS:
        number = _number(_text(headers, name))
        if number is not None:
            yield number / 1000


def _from_body(text: str) -> Iterator[float]:
    for word in _ASKING:
        if word in text:
            break
    else:
        return
    if "retry" in text or "resets_in" in text or "_time" in text or "wait" in text:
        for field in _FIELD.finditer(text):
            unit = field[4] or field[2] or "s"
            yield float(field[3]) * (1e-3 if unit.startswith("m") else 1.0)
    for prose in _PROSE.finditer(text):
        seconds = _duration_s(prose[1])
        if seconds is not None:
            yield seconds
    if "after" in text:
        for bare in _BARE.finditer(text):
            yield float(bare[1])


def _from_resets(observation: Observation, at_s: float | None) -> Iterator[float]:
    """When the limits that are used up are full again; also those that do not tell what is left.

    Providers send these headers with every response: they mean something only if a limit was hit.
    """
    headers = observation.headers
    limited = observation.status in _LIMITED
    for name in headers:
        found = _RESET.search(name)
        if found is None or "retry" in name:
            continue
        left = _number(_text(headers, name[: found.start()] + found[0].replace("reset", "remaining")
                             + name[found.end() :]))  # fmt: skip
        if left == 0 or (left is None and limited):
            until = _until_s(_text(headers, name), at_s)
            if until is not None:
                yield until


def _until_s(stated: str, at_s: float | None) -> float | None:
    """Seconds until a reset that is told as a wait, or as a time (epoch or ISO 8601)."""
    number = _number(stated)
    if number is not None and number < _EPOCH_S:
        return number
    if number is None and (duration := _duration_s(stated.lower())) is not None:
        return duration
    if at_s is None:
        return None
    if number is None:
        number = _date_s(stated)
    elif number > _EPOCH_MS:
        number /= 1000
    return None if number is None else max(0.0, number - at_s)


def _duration_s(text: str) -> float | None:
    """`7m12s`, `120ms`, `1 hour and 5 minutes` in seconds; None if it is nothing of the kind."""
    whole = _DURATION.fullmatch(text.strip())
    if whole is None:
        return None
    units = {"mil": "ms", "mse": "ms"}
    return sum(
        float(number) * _UNIT_S[units.get(unit, unit)] for number, unit in _PARTS.findall(whole[0])
    )


def _date_s(text: str) -> float | None:
    """An HTTP date (any of RFC 9110's three forms) or ISO 8601 as seconds since the epoch."""
    if not text:
        return None
    try:
        if text[:4].isdigit():
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        parts = parsedate_tz(text)
        if parts is None:
            return None
        return datetime(*parts[:6], tzinfo=UTC).timestamp() - (parts[9] or 0)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _number(text: str) -> float | None:
    """A finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _text(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    return value.strip() if isinstance(value, str) else "" if value is None else str(value)
