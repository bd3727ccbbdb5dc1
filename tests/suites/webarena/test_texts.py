"""One spelling of words, likeness of names, numbers in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.suites.webarena.texts import likeness, number_in_words, plain, trimmed


@given(st.text("aAbB1 .,:^$", max_size=12))
def test_one_spelling_is_final(text):
    once = plain(text)
    assert plain(once) == once or once.startswith("^") or not once.isascii()


@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        ("  Caf\u00e9\u2122  de\tFlore ", "cafe de flore"),
        ("Buffalo-Niagara 123-4567", "buffalo niagara 123-4567"),
        ("\u201cIt\u2019s\u201d \ufb01ne", '"it\'s" fine'),
        ("a\u200bb", "ab"),
        ("^A-b$", "^A-b$"),
        ("\u5317\u4eac", "\u5317\u4eac"),
    ],
)
def test_spellings(text, spelt):
    assert plain(text) == spelt


def test_addresses_become_placeholders_first():
    assert plain("at http://X", lambda text: text.replace("http://X", "__MAP__")) == "at __map__"


@given(st.text("ab c", max_size=8), st.text("ab c", max_size=8))
def test_likeness_is_mutual(one, other):
    assert likeness(one, other) == likeness(other, one)
    assert 0 <= likeness(one, other) <= 100


def test_likeness_does_not_mind_order():
    assert likeness("Apple Store, Shadyside", "shadyside apple store") == 100
    assert likeness("Starbucks on Craig Street", "Starbucks Craig St") == 74
    assert likeness("Starbucks", "Dunkin") < 50
    assert likeness("", "a") == 0


def test_numbers_in_words():
    for words, number in (("twenty-three", 23), ("two thousand one hundred and five", 2105)):
        assert number_in_words(words) == number
    with pytest.raises(ValueError, match="no number"):
        number_in_words("many")


def test_stops_around_words():
    assert trimmed('"Yes!".') == "Yes"
