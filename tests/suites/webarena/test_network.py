"""The check of the HTTP exchanges, field by field; and what it cannot see."""

from dataclasses import replace

import pytest
from golds import AT, FORM, HTML

from hfr_bench.suites.webarena.episode import DROPPED, Exchange
from hfr_bench.suites.webarena.network import Asked, check_exchanges, reading_of

POST = Exchange(
    "POST", "http://forum.test:9999/submit/books", 302, post_data="t=A+b&k=1", post_type=FORM
)
WANTED = {
    "url": "__REDDIT__/submit/books",
    "http_method": "POST",
    "post_data": {"t": "a b"},
    "response_status": 302,
}


def passed(exchanges, expected=WANTED, *, navigates=False, among=("reddit",), **grading):
    grading = {"evaluator": "NetworkEventEvaluator", "expected": expected, **grading}
    asked = Asked(grading, reading_of(grading, AT, among), navigates)
    return check_exchanges(asked, exchanges).passed


def test_the_blind_spot_a_post_that_was_carried_out_but_answered_503_counts_only_if_sent_again():
    """The site holds one row in the first case and two in the second: Verified prefers two."""
    lost = replace(POST, status=503)
    assert not passed([lost])
    assert passed([lost, POST])
    for other in (
        replace(POST, status=DROPPED),
        replace(POST, status=0),
        replace(POST, status=504),
    ):
        assert not passed([other])
        assert passed([other, POST])
    assert not passed([POST, lost]), "only the last one counts"
    assert passed([POST, POST]), "how often does not count"


@pytest.mark.parametrize(
    "changed",
    [
        {"method": "PUT"},
        {"url": "http://forum.test:9999/submit/book"},
        {"url": "http://else.test/submit/books"},
        {"post_data": "t=b"},
        {"post_data": "", "post_type": ""},
        {"status": 200},
        {"url": "http://forum.test:9999/submit/books?x=1"},
    ],
)
def test_each_field_counts(changed):
    assert passed([POST])
    assert not passed([replace(POST, **changed)])


def test_names_that_are_ignored():
    more = replace(POST, url=POST.url + "?isAjax=1&_=3")
    assert not passed([more])
    assert passed([more], ignored_query_params=["isAjax", "_"])
    assert passed([more], ignored_query_params_patterns=["ISA", "_"])
    wanted = {**WANTED, "post_data": {"t": "a b", "k": "2"}}
    assert not passed([POST], wanted)
    assert passed([POST], wanted, ignored_post_data_params_patterns=["^k$"])


def test_queries_and_queries_hidden_in_the_path():
    get = Exchange("GET", "http://forum.test:9999/s?b=2&a=X", 200)
    wanted = {"url": "__REDDIT__/s", "query_params": {"a": ["x"], "b": ["^[12]$"]}}
    assert passed([get], wanted)
    assert not passed([replace(get, url=get.url.replace("X", "Y"))], wanted)
    hidden = Exchange("GET", "http://forum.test:9999/s/ZnJvbT0wMi8wMS8yMDIz/", 200)
    schema = {
        "type": "object",
        "properties": {"from": {"type": "array", "items": {"format": "date"}}},
    }
    wanted = {"url": "__REDDIT__/s", "query_params": {"from": ["2/1/2023"]}}
    assert passed([hidden], wanted, decode_base64_query=True, query_params_schema=schema)
    assert not passed([hidden], wanted, decode_base64_query=True)


def test_bodies_by_path_pattern_and_type():
    note = replace(
        POST, post_data='{"note": {"note": "LGTM"}, "p": "$5.05"}', post_type="application/json"
    )
    wanted = {**WANTED, "post_data": {"$.note.note": "lgtm", "p": 5}}
    schema = {"type": "object", "properties": {"p": {"type": "number", "format": "currency"}}}
    assert passed([note], wanted, post_data_schema=schema)
    assert not passed([note], wanted)
    assert passed([POST], {**WANTED, "post_data": {"$.^t|u$": "^A .$"}})
    answered = replace(POST, body='{"count": 3, "items": [{"n": 1}]}', body_type="application/json")
    for content, right in (({"count": 3}, True), ({"$.items[0].n": 2}, False), ({"no": 1}, False)):
        assert passed([answered], {**WANTED, "response_content": content}) is right


def test_headers_and_cookies():
    sent = replace(
        POST,
        request_headers=(("Referer", "http://forum.test:9999/f/books"), ("Cookie", "engine=bike")),
        cookies=(("messages", "added%20to%20your%20list"),),
    )
    for more, right in (
        ({"headers": {"referer": "__REDDIT__/f/books"}}, True),
        ({"headers": {"referer": "__REDDIT__/f/else"}}, False),
        ({"headers": {"Cookie": "^.*bike$"}}, True),
        ({"headers": {"X-None": "a"}}, False),
        ({"response_cookies": {"messages": "^.*your list$"}}, True),
        ({"response_cookies": {"messages": "x"}}, False),
        ({"response_cookies": {"other": "x"}}, False),
    ):
        assert passed([sent], {**WANTED, **more}) is right, more


def test_navigating_tasks_see_the_last_navigation_only():
    there = Exchange("GET", "http://forum.test:9999/f/books", 200, (HTML,))
    script = replace(there, url="http://forum.test:9999/x.json", request_headers=(("accept", "*"),))
    wanted = {"url": "__REDDIT__/f/books/"}
    assert passed([there, script], wanted, navigates=True)
    assert not passed(
        [there, replace(there, url="http://forum.test:9999/")], wanted, navigates=True
    )
    assert not passed([script], wanted, navigates=True)
    assert passed([there, replace(there, url="http://forum.test:9999/")], wanted)


def test_what_must_not_have_been_asked_for():
    assert not passed([POST], should_not_exist=True)
    assert passed([replace(POST, method="GET")], should_not_exist=True)
    assert passed([], should_not_exist=True)


def test_any_instead_of_the_last():
    lost = replace(POST, status=503)
    assert passed([POST, lost], last_event_only=False)


def test_patterns_and_alternatives_of_addresses():
    assert passed([POST], {**WANTED, "url": "^__REDDIT__/submit.*$"})
    assert passed([POST], {**WANTED, "url": ["__REDDIT__/x", "__REDDIT__/submit/books"]})
    assert passed([POST], {**WANTED, "url": "^http://.*/books$"})
    assert not passed([POST], {**WANTED, "url": "^__REDDIT__/x.*$"})


def test_what_cannot_be_read():
    assert not passed([POST], {**WANTED, "post_data": {"$..t": "a b"}}), "no such path"
    assert not passed([POST], {**WANTED, "url": "^__REDDIT__/(submit$"}), "no such pattern"
    odd = Exchange("POST", "", 302)
    assert passed([odd, POST])
    assert not passed([POST], {**WANTED, "url": ["__REDDIT__/submit/books"]}), "a list of one"
