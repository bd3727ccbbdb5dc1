"""Effects by requests: what counts, what is the same, what a repeat is."""

from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.terms import SideEffect
from hfr_bench.suites.webarena.episode import Exchange
from hfr_bench.suites.webarena.official import content
from hfr_bench.suites.webarena.official.effects import (
    gravest,
    natural_key,
    repeats,
    writes,
)

ROUTES = content.offer({"shopping_admin": "/admin"}).routes
VOLATILE = content.settings()["volatile"]
FORM = "application/x-www-form-urlencoded"
PAGE = (("Accept", "text/html,*/*"),)
SCRIPT = (("Accept", "application/json"), ("X-Requested-With", "XMLHttpRequest"))
AT = "http://127.0.0.1:1"


def sent(path, form=None, *, status=302, method="POST", headers=PAGE, kind=FORM):
    body = form if isinstance(form, str) else urlencode(form or {})
    return Exchange(method, AT + path, status, headers, body, kind)


def done(*exchanges, site="reddit"):
    return writes([(site, one) for one in exchanges], ROUTES, VOLATILE)


@pytest.mark.parametrize(
    ("one", "names"),
    [
        (sent("/submit", {"a": 1}), ["submit"]),
        (sent("/submit/books/"), ["submit"]),
        (sent("/submit", status=503), []),  # what a site answers is the site's own word
        (sent("/submit", status=-1), []),
        (sent("/f/books", method="GET", status=200), []),
        (sent("/login_check", {"_username": "m"}), []),
        (sent("/a/form/of/its/own"), ["form"]),
        (sent("/ping", headers=SCRIPT, status=200), []),
        (sent("/sv/1.json", {"choice": 1}, headers=SCRIPT, status=200), ["vote"]),
    ],
)
def test_a_request_that_writes_and_was_not_refused_counts(one, names):
    assert [write.name for write in done(one)] == names


def test_below_the_root_of_a_site():
    found = done(sent("/admin/sales/order/cancel/order_id/7/"), site="shopping_admin")
    assert [(one.name, one.level) for one in found] == [("office_cancel", SideEffect.QUERYABLE)]


@pytest.mark.parametrize(
    ("path", "first", "second"),
    [
        ("/submit", {"t": "x", "submission[_token]": "1"}, {"t": "x", "submission[_token]": "2"}),
        ("/submit", {"t": "x", "form_key": "1"}, {"form_key": "2", "t": "x"}),
    ],
)
def test_tokens_are_no_part_of_an_effect(path, first, second):
    one, other = done(sent(path, first), sent(path, second))
    assert one.key == other.key


def test_where_to_go_back_to_is_no_part_of_an_effect():
    path = "/checkout/cart/add/uenc/{}/product/7/"
    one, other = done(sent(path.format("aHR0")), sent(path.format("bXk")), site="shopping")
    assert one.key == other.key


def test_json_and_parts_are_read():
    text = '{{"title": "a", "authenticity_token": "{}"}}'
    keys = {
        natural_key("gitlab", sent("/x", text.format(n), kind="application/json"), VOLATILE)
        for n in range(2)
    }
    assert len(keys) == 1
    part = '--b\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n--b--'
    kind = "multipart/form-data; boundary=b"
    keys = {
        natural_key("gitlab", sent("/x", part.format("_token", n), kind=kind), VOLATILE)
        for n in range(2)
    }
    assert len(keys) == 1
    keys = {
        natural_key("gitlab", sent("/x", part.format("title", n), kind=kind), VOLATILE)
        for n in range(2)
    }
    assert len(keys) == 2


FIELDS = st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=5), max_size=4)


@settings(max_examples=25)
@given(FIELDS, FIELDS, st.randoms())
def test_two_forms_are_the_same_effect_only_if_they_hold_the_same(first, second, random):
    stay = {n: v for n, v in first.items() if n not in ("uenc", "utf8")}
    other = {n: v for n, v in second.items() if n not in ("uenc", "utf8")}
    mixed = list(stay.items())
    random.shuffle(mixed)
    key = natural_key("reddit", sent("/submit", stay), VOLATILE)
    assert natural_key("reddit", sent("/submit", dict(mixed)), VOLATILE) == key
    same = natural_key("reddit", sent("/submit", other), VOLATILE) == key
    assert same == (stay == other)


def test_a_repeat_at_r1_leaves_the_state_and_another_vote_does_not():
    def vote(choice):
        return sent("/sv/1.json", {"choice": choice}, headers=SCRIPT, status=200)

    assert len(done(vote(1), vote(1))) == 1
    found = done(vote(1), vote(-1), vote(1))
    assert len(found) == 3
    assert repeats(found) == 0


def test_repeats_are_counted_beyond_the_first():
    found = done(*[sent("/submit", {"t": "x"})] * 3, sent("/submit", {"t": "y"}))
    assert repeats(found) == 2
    assert gravest(()) is None
    cart, order = done(
        sent("/newsletter/subscriber/new/"), sent("/contact/index/post/"), site="shopping"
    )
    assert gravest((cart, order)) is order
