"""Kept answers and templates: only for what informs, and never nearly the right number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.terms import Rung, SideEffect
from hfr_bench.recovery.fallback import Fallback, Kept, Rule, cached, overlap, ruled
from hfr_bench.recovery.ladder import Offer

KEPT = (
    Kept("hours", "when is the shop open on sunday", "from 10 to 4", 0.9),
    Kept("parcel", "where is my parcel 17", "in Leipzig"),
    Kept("zh", "星期天几点开门", "十点"),
)
RULES = (
    Rule("status", ("order", "where"), "Order $order is $state.", 0.7),
    Rule("greeting", ("hello",), "Good day."),
)


def test_the_likest_request_is_answered_from_what_was_kept() -> None:
    found = cached(KEPT, "When is the shop open on Sunday?", threshold=0.8)
    assert found == Fallback(Offer(Rung.FALLBACK, "cache", "hours", 0.9), "from 10 to 4")
    nearly = cached(KEPT, "when is the new shop open on sunday", threshold=0.8)
    assert nearly is not None
    assert nearly.offer.quality == pytest.approx(0.9 * 7 / 8), "likeness costs quality"
    assert cached(KEPT, "is the shop open", threshold=0.8) is None
    assert cached((), "anything", threshold=0.0) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("where is my parcel 17", "where is my parcel 18"),
        ("refund ORD-7 please now", "refund ORD-8 please now"),
        ("pay 1.5 to ann today please", "pay 15 to ann today please"),
        ("move 3 from shelf 5 to the back", "move 5 from shelf 3 to the back"),
        ("请问订单１７现在到哪里了", "请问订单１８现在到哪里了"),
        ("请问第十七号订单到哪里了", "请问第十八号订单到哪里了"),
    ],
)
def test_another_number_is_another_request(one: str, other: str) -> None:
    assert overlap(one, other) == 0
    assert overlap(one, one) == 1


def test_scripts_without_spaces_are_compared_by_character() -> None:
    found = cached(KEPT, "星期天几点开门?", threshold=0.8)
    assert found is not None
    assert found.answer == "十点"


def test_a_similarity_of_ones_own_may_be_given() -> None:
    found = cached(KEPT, "x", threshold=1.0, similarity=lambda a, b: float("parcel" in a))
    assert found is not None
    assert (found.offer.target, found.offer.quality) == ("parcel", None)


def test_a_rule_answers_where_all_its_words_are_said_and_all_facts_known() -> None:
    facts = {"order": "17", "state": "packed"}
    assert ruled(RULES, "Where is my order?", facts) == Fallback(
        Offer(Rung.FALLBACK, "template", "status", 0.7), "Order 17 is packed."
    )
    assert ruled(RULES, "my order", facts) is None
    half = ruled(RULES, "hello, where is my order", {"order": "17"})
    assert half is not None
    assert half.answer == "Good day.", "a half filled template is no answer"
    assert ruled([Rule("bad", (), "100$")], "x", {}) is None


@pytest.mark.parametrize("level", [level for level in SideEffect if level.writes])
def test_no_write_is_answered_from_memory(level: SideEffect) -> None:
    assert cached(KEPT, KEPT[0].request, threshold=0.0, level=level) is None
    assert ruled(RULES, "hello", {}, level=level) is None


texts = st.text(st.sampled_from("ab 12.ü七\u0130"), max_size=12)


@given(texts, texts)
def test_likeness_is_a_share_and_the_same_both_ways(one: str, other: str) -> None:
    assert 0 <= overlap(one, other) <= 1
    assert overlap(one, other) == overlap(other, one)


@given(st.lists(texts, max_size=4), texts, st.floats(0.01, 1))
def test_what_is_found_is_at_least_as_like_as_asked_and_nothing_is_liker(
    requests: list[str], request: str, threshold: float
) -> None:
    entries = [Kept(str(n), text, text, 1.0) for n, text in enumerate(requests)]
    found = cached(entries, request, threshold=threshold)
    best = max((overlap(text, request) for text in requests), default=0.0)
    if found is None:
        assert best < threshold
    else:
        assert found.offer.quality == best >= threshold
