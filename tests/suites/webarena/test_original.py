"""WebArena's own checks of words, of the last address, of living pages."""

import pytest
from golds import AT, gold_words
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.episode import Episode
from hfr_bench.suites.webarena.grade import grade
from hfr_bench.suites.webarena.helpers import RestAccount
from hfr_bench.suites.webarena.original import (
    Words,
    check_pages,
    check_url,
    check_words,
    cleaned,
    includes,
    words_of,
)

ACCOUNT = RestAccount()
ASKED = "Is it so?"


NOBODY = Words()


def words(said, who=NOBODY, note="", **references):
    grading = {"eval": {"reference_answers": references, "string_note": note}, "intent": ASKED}
    return check_words(7, grading, said, who).passed


@given(st.text(max_size=8))
def test_quotes_and_case_do_not_count(text):
    assert cleaned(f'"{text}"') == text.lower()
    assert includes(text, f"x{text}y")


def test_exact_and_included_words():
    assert words('"Yes"', exact_match="yes")
    assert not words("Yes.", exact_match="yes")
    assert words("A, then B", must_include=["b", "a"])
    assert not words("A", must_include=["a", "b"])
    assert not words("10 of them", must_include=["0"])
    assert not words("$0.00", must_include=["0"]), "as upstream has it"
    assert words("10 of 0", must_include=["0"])
    assert words("10", must_include=["0", "1"]), "a lone reference only"
    assert words_of("$0.00, (0).") == ["$", "0.00", ",", "(", "0", ")", "."]


def test_words_against_words_are_decided_by_somebody_or_not_at_all():
    said_yes = Words(judge=lambda intent, reference, said: (intent, reference) == (ASKED, "a"))
    assert words("well, a", fuzzy_match=["a"]) is None
    assert words("A", fuzzy_match=["a"]) is True
    assert words("", fuzzy_match=["a"]) is False
    assert words("well, a", said_yes, fuzzy_match=["a"]) is True
    assert words("well, a", said_yes, fuzzy_match=["a", "b"]) is False
    assert words("Well, A", Words({7: ["well, a"]}), fuzzy_match=["a"]) is True
    assert words("Well, A", Words({8: ["well, a"]}), fuzzy_match=["a"]) is None
    assert words("x", said_yes, must_include=["b"], fuzzy_match=["a"]) is False, "a sure no stands"


def test_what_is_not_possible():
    reason = Words(judge=lambda _, reference, said: reference == "why" and said == "because")
    assert words("N/A", fuzzy_match="N/A")
    assert words("because", fuzzy_match="N/A") is None
    assert words("because", reason, note="why", fuzzy_match="N/A") is True
    assert words("so", reason, note="why", fuzzy_match="N/A") is False


@pytest.mark.parametrize(
    ("gold", "url", "right"),
    [
        ("__GITLAB__/a", "http://git.test:8023/a/", True),
        ("__GITLAB__/a", "http://git.test:8023/abc", True),
        ("__GITLAB__/a", "http://git.test:8023/b", False),
        ("__GITLAB__/a |OR| __GITLAB__/b", "http://git.test:8023/b", True),
        ("__GITLAB__/a?x=1", "http://git.test:8023/a?y=2&x=1", True),
        ("__GITLAB__/a?x=1", "http://git.test:8023/a?x=2", False),
        ("__GITLAB__/a?x=1 |OR| __GITLAB__/a?x=2", "http://git.test:8023/a?x=2", True),
    ],
)
def test_the_last_address(gold, url, right):
    assert check_url({"eval": {"reference_url": gold}}, url, AT).passed is right


class Pages:
    """A living site whose answers are given: {(address or None, locator): text}."""

    def __init__(self, **held):
        self.held, self.seen = held, []

    def look(self, url, locator):
        self.seen.append((url, locator))
        return next((text for part, text in self.held.items() if part in f"{url} {locator}"), "")


def pages(site, *targets, url="http://forum.test:9999/f/books/1/x"):
    grading = {"eval": {"program_html": targets}, "intent": ""}
    return check_pages(grading, Episode(url=url, look=site.look), AT, ACCOUNT)


def test_pages_that_are_looked_at():
    site = Pages(books="<b>Tom &amp; Co</b>", None_="x")
    here = {"url": "last", "locator": "document.books"}
    assert pages(site, {**here, "required_contents": {"must_include": ["tom & co"]}}).passed
    assert not pages(site, {**here, "required_contents": {"exact_match": "tom & co"}}).passed
    assert pages(site, {**here, "required_contents": {"must_include": ["x |OR| tom"]}}).passed
    told = pages(site, {**here, "required_contents": {"must_include": ["jim"]}})
    assert told.why == "target 0, the last page: no 'jim'"
    post = {"url": "func:reddit_get_post_url('__last_url__')", "locator": ""}
    assert pages(site, {**post, "required_contents": {"must_include": ["tom"]}}).passed
    assert site.seen[-1] == ("http://forum.test:9999/f/books/1/", "")


def test_what_is_done_to_a_page_before_it_is_looked_at():
    site = Pages()
    target = {
        "url": "__GITLAB__/a",
        "locator": "document.title",
        "prep_actions": ["f()", "g()"],
        "required_contents": {"exact_match": ""},
    }
    assert pages(site, target).passed
    assert site.seen == [
        (
            "http://git.test:8023/a",
            "(() => { try { f();g(); } catch (e) {} return document.title; })()",
        )
    ]


@pytest.mark.parametrize(
    "target",
    [
        {"url": "last", "locator": "window.x", "required_contents": {"exact_match": ""}},
        {"url": "last", "locator": "", "required_contents": {"guess": ""}},
        {"url": "func:rm('x')", "locator": "", "required_contents": {"exact_match": ""}},
    ],
)
def test_targets_that_cannot_be_read(target):
    with pytest.raises(BadInputError, match=r"no locator|cannot be read|no helper"):
        pages(Pages(), target)


def test_golds_of_words_alone_pass_and_wrong_answers_do_not(records, rows):
    """212 tasks need neither a site nor a judge."""
    given = [
        (record, gold_words(rows("original")[record.id]))
        for record in records("original")
        if record.checks == ("string_match",) and record.needs.judge == "never"
    ]
    scores = [grade(record, Episode(answer=gold), AT).score for record, gold in given]
    assert (len(scores), sum(scores)) == (212, 212.0)
    wrong = [
        grade(record, Episode(answer=said), AT).score
        for record, gold in given
        for said in (None, "", "I do not know", "N/A" if gold.lower() != "n/a" else "none")
    ]
    assert (len(wrong), sum(wrong)) == (848, 0.0)
