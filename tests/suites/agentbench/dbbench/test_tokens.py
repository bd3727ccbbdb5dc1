"""SQL cut into tokens, as MySQL reads it."""

import pytest

from hfr_bench.suites.agentbench.dbbench.tokens import Kind, SqlError, cut


def told(sql: str) -> list[tuple[str, str]]:
    return [(token.kind.value, token.text) for token in cut(sql)]


def test_words_names_strings_numbers_and_signs() -> None:
    assert told("a `b c` 'd' \"e\" 1.5 <= -2") == [
        ("word", "a"),
        ("name", "b c"),
        ("string", "d"),
        ("string", "e"),
        ("number", "1.5"),
        ("sign", "<="),
        ("sign", "-"),
        ("number", "2"),
    ]


@pytest.mark.parametrize(
    ("sql", "meant"),
    [
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        (r"'a\nb\\c'", "a\nb\\c"),
        (r"'10\% \_'", r"10\% \_"),  # LIKE needs it
        ('"say ""so"""', 'say "so"'),
        ("`a``b`", "a`b"),
        (r"`a\b`", r"a\b"),  # no escapes in names
    ],
)
def test_what_is_quoted_means_what_mysql_makes_of_it(sql: str, meant: str) -> None:
    (token,) = cut(sql)
    assert token.text == meant


def test_comments_are_no_tokens() -> None:
    assert [t.text for t in cut("a -- b\n/* c; */ d # e\n;")] == ["a", "d", ";"]
    assert [t.text for t in cut("3--2")] == ["3", "-", "-", "2"]  # no comment without a blank


def test_a_name_may_begin_with_a_digit() -> None:
    (token,) = cut("1952_Grand_Prix")
    assert token.kind is Kind.WORD


def test_a_quote_that_is_not_closed_is_told() -> None:
    with pytest.raises(SqlError, match="a quote ' at 7 is not closed"):
        cut("SELECT 'a")
