"""Stated waits, wherever they are stated, and never less than what was asked."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.attempt import Observation
from hfr_bench.recovery.classifier.hints import retry_after_us
from hfr_bench.testing.fakes import refused

DATE = "Wed, 21 Oct 2015 07:27:00 GMT"


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ("Try again in 7m12s.", 432),
        ("Please try again in 120ms.", 0.12),
        ("Try again in 60 seconds. Passed model=x", 60),
        ("please retry after 7 seconds", 7),
        ("Please wait 1h2m3s", 3723),
        ("Please retry in 26.5s.", 26.5),
        ("Request was throttled. Expected available in 86 seconds.", 86),
        ("try again after 1 hour and 5 minutes", 3900),
        ("Wait at least 10 seconds before the next call", 10),
        ("Retry your request after 20s", 20),
        ("please try again later in 2 minutes", 120),
        ("Please wait 5 minutes and try again.", 300),
        ("try again in 1 day", 86400),
        ("Limit resets in 3 hours", 10800),
        ("Retry after: 30", 30),
        ("Try again in 1s, or in any case wait 4 sec", 4),
        ('{"retryDelay": "17s"}', 17),
        ('{"error": {"details": [{"retryDelay": "3.5s"}]}}', 3.5),
        (json.dumps({"raw": '{"retryDelay": "26s"}'}), 26),
        ('{"retry_after": 64.57}', 64.57),
        ('{"retry_after_ms": 640}', 0.64),
        ('{"retryAfterMs": 5000, "retryAfter": 4}', 5),
        ('{"resets_in_seconds": 3600}', 3600),
        ('{"estimated_time": 20.0}', 20),
        ("timed out after 600 seconds", None),
        ("retry up to 3 times", None),
        ("in 60 seconds", None),
        ("try again in a few minutes", None),
        ("wait", None),
    ],
)
def test_prose_and_fields(body: str, seconds: float | None) -> None:
    got = retry_after_us(refused(429, body))
    assert got == (None if seconds is None else pytest.approx(seconds * 1e6, abs=1))


@pytest.mark.parametrize(
    ("headers", "us"),
    [
        ({"retry-after": "2"}, 2_000_000),
        ({"retry-after": "20s"}, 20_000_000),
        ({"retry-after-ms": "1500"}, 1_500_000),
        ({"x-ms-retry-after-ms": "1500.5"}, 1_500_500),
        ({"retry-after": "2", "retry-after-ms": "1500"}, 2_000_000),
        ({"retry-after": "1", "x-ms-retry-after-ms": "1500"}, 1_500_000),
        ({"retry-after": "1e300"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT", "date": DATE}, 60_000_000),
        ({"retry-after": "Wednesday, 21-Oct-15 07:28:00 GMT", "date": DATE}, 60_000_000),
        ({"retry-after": "Wed Oct 21 07:28:00 2015", "date": DATE}, 60_000_000),
        ({"retry-after": "Wed, 21 Oct 2015 07:20:00 GMT", "date": DATE}, 0),
        ({"retry-after": "Wed, 99 Oct 2015 07:20:00 GMT", "date": DATE}, None),
    ],
)
def test_headers(headers: dict[str, str], us: int | None) -> None:
    assert retry_after_us(Observation(answered=False, status=429, headers=headers)) == us


def test_a_date_may_be_read_against_a_clock_that_is_handed_in() -> None:
    stated = refused(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
    assert retry_after_us(stated, now_s=1_445_412_470.0) == 10_000_000
    assert retry_after_us(stated) is None


def test_the_largest_of_contradicting_waits_wins() -> None:
    seen = Observation(
        answered=False,
        status=429,
        headers={"retry-after": "2", "retry-after-ms": "1500"},
        body="retry after 7 seconds",
    )
    assert retry_after_us(seen) == 7_000_000


@pytest.mark.parametrize(
    ("status", "headers", "us"),
    [
        (429, {"x-ratelimit-reset-requests": "6m0s"}, 360_000_000),
        (429, {"x-ratelimit-reset-tokens": "120ms"}, 120_000),
        (429, {"ratelimit-reset": "9"}, 9_000_000),
        (500, {"x-ratelimit-reset-requests": "6m0s"}, None),  # it comes with every response
        (500, {"x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-requests": "0"}, 10**6),
        (429, {"x-ratelimit-reset-requests": "1h", "x-ratelimit-remaining-requests": "7"}, None),
        (429, {"x-ratelimit-reset-requests": "1h", "retry-after": "1"}, 1_000_000),
        (429, {"anthropic-ratelimit-tokens-reset": "2015-10-21T07:28:00Z"}, None),
        (
            429,
            {"anthropic-ratelimit-tokens-reset": "2015-10-21T07:28:00Z", "date": DATE},
            6 * 10**7,
        ),
        (403, {"x-ratelimit-reset": "1445412430", "date": DATE}, 10_000_000),
        (429, {"x-ratelimit-reset": "1445412430000", "date": DATE}, 10_000_000),
    ],
)
def test_resets_are_the_last_resort(status: int, headers: dict[str, str], us: int | None) -> None:
    assert retry_after_us(Observation(answered=False, status=status, headers=headers)) == us


NAMES = (
    "retry-after retry-after-ms x-ms-retry-after-ms date x-ratelimit-reset x-ratelimit-reset-tokens"
    " x-ratelimit-remaining-tokens anthropic-ratelimit-reset"
)
names = st.sampled_from(NAMES.split()) | st.text(max_size=10)
values = (
    st.text(max_size=30)
    | st.floats().map(str)
    | st.integers().map(str)
    | st.sampled_from([DATE, "2015-10-21T07:28:00Z", "0001-01-01T00:00:00+23:59", "9" * 400, "1h"])
)


@settings(deadline=None, max_examples=300)
@given(
    st.dictionaries(names, values, max_size=5),
    st.text(max_size=80) | values.map(lambda text: f"try again in {text}"),
    st.none() | st.integers(100, 599),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_anything_gives_a_wait_or_nothing(
    headers: dict[str, str], body: str, status: int | None, now_s: float | None
) -> None:
    seen = Observation(answered=False, status=status, headers=headers, body=body)
    got = retry_after_us(seen, now_s=now_s)
    assert got is None or 0 <= got <= 1e15


@settings(deadline=None)
@given(st.integers(0, 20), st.integers(0, 59), st.integers(0, 59), st.integers(0, 5000))
def test_no_source_is_ever_undercut(hours: int, minutes: int, seconds: int, ms: int) -> None:
    seen = Observation(
        answered=False,
        status=429,
        headers={"retry-after": str(seconds), "retry-after-ms": str(ms)},
        body=f"try again in {hours}h{minutes}m{seconds}s",
    )
    prose_us = (hours * 3600 + minutes * 60 + seconds) * 1_000_000
    assert retry_after_us(seen) == max(prose_us, seconds * 1_000_000, ms * 1000)
