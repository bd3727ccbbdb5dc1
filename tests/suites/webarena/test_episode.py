"""Exchanges and episodes: what a HAR holds comes back; forms are read as sites read them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.episode import (
    DROPPED,
    Episode,
    Exchange,
    from_entries,
    from_har,
    read_body,
    to_har,
)

TEXT = st.text(max_size=8)
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple)
FORM = "application/x-www-form-urlencoded"
EXCHANGES = st.builds(
    Exchange,
    method=st.sampled_from(["GET", "POST", "PUT"]),
    url=st.sampled_from(["http://a/", "http://a/b?c=d&c=e", "http://a:1/x.css"]),
    status=st.sampled_from([200, 302, 503, DROPPED, 0]),
    request_headers=PAIRS,
    post_data=TEXT,
    post_type=TEXT,
    response_headers=PAIRS,
    body=TEXT,
    body_type=TEXT,
    cookies=PAIRS,
    redirect_url=TEXT,
    started_at=st.sampled_from(["", "2026-01-02T03:04:05.678Z"]),
)


@given(st.lists(EXCHANGES, max_size=4).map(tuple))
def test_what_is_written_is_read_back(exchanges):
    assert from_har(json.loads(json.dumps(to_har(exchanges)))) == exchanges


def test_a_trace_of_playwright_is_read_like_a_har():
    exchange = Exchange("GET", "http://a/", 200)
    entry = to_har([exchange])["log"]["entries"][0]
    lines = [{"type": "context-options"}, {"type": "resource-snapshot", "snapshot": entry}]
    assert from_entries(lines) == (exchange,)


@pytest.mark.parametrize(
    ("har", "message"),
    [
        ({}, "no log.entries"),
        ({"log": {"entries": [3]}}, "entry 0: not an object"),
        ({"log": {"entries": [{"request": {}}]}}, "entry 0 is not as HAR 1.2"),
        (
            {"log": {"entries": [{"request": {"method": "GET"}, "response": {"status": 1}}]}},
            "'url'",
        ),
    ],
)
def test_what_is_no_har_is_named(har, message):
    with pytest.raises(BadInputError, match=message):
        from_har(har, "x.har")


def test_forms_are_read_as_names_and_values():
    assert read_body("a=1&a=2&b=", FORM) == {"a": "1", "b": ""}
    assert read_body('{"a": {"b": 1}}', "application/json; charset=utf-8") == {"a": {"b": 1}}
    assert read_body("[1]", "application/json") is None
    assert read_body("{", "application/json") is None
    assert read_body("a=1", "text/plain") is None
    assert read_body("", FORM) is None
    parts = (
        '--X\r\nContent-Disposition: form-data; name="t"\r\n\r\none\r\ntwo\r\n'
        '--X\r\nContent-Disposition: form-data; name="f"; filename="n"\r\n\r\n\r\n--X--\r\n'
    )
    assert read_body(parts, "multipart/form-data; boundary=X")["t"].splitlines() == ["one", "two"]
    assert read_body(parts, "multipart/form-data") is None


def test_what_navigates_is_told_from_what_a_page_fetches():
    html = ("Accept", "text/html,application/xhtml+xml")
    sec = (("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate"))
    assert Exchange("GET", "http://a/", 200, (html,)).navigates
    assert Exchange("GET", "http://a/", 200, (html, *sec, ("Sec-Fetch-User", "?1"))).navigates
    assert not Exchange("GET", "http://a/", 200, (html, ("sec-fetch-user", "?1"))).navigates
    assert not Exchange("POST", "http://a/", 200, (html,)).navigates
    assert not Exchange("GET", "http://a/", 200, (("accept", "*/*"),)).navigates
    assert Exchange("GET", "http://a/x.css?v=1", 200).asset


def test_a_recording_cannot_be_looked_at():
    with pytest.raises(BadInputError, match="is a recording"):
        Episode().look(None, "")
    with pytest.raises(BadInputError, match="is a recording"):
        Episode().rest("GET", "http://a/", {}, "")


def test_cookies_are_unquoted():
    assert Exchange("GET", "/", 200, cookies=(("m", "a%20b"),)).set_cookies == {"m": "a b"}
