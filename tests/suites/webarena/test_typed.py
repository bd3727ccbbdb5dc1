"""Values with a type: alternatives, patterns, what equals what. Parity: test_official.py."""

import pytest
from golds import AT

from hfr_bench.suites.webarena.rows import SITES
from hfr_bench.suites.webarena.typed import KINDS, typed
from hfr_bench.suites.webarena.urls import Reading

READING = Reading(AT, SITES)


def same(kind, one, other):
    return typed(one, kind, READING).equals(typed(other, kind, READING))


@pytest.mark.parametrize(
    ("kind", "one", "other", "equal"),
    [
        ("string", ["a", "B"], "b", True),
        ("string", "^A.*$", "abc", True),
        ("string", '"Yes."', "yes", True),
        ("string", "see http://git.test:8023/x", "see __GITLAB__/x", True),
        ("integer", 3, "3", True),
        ("number", [1, 2], 3, False),
        ("url", "__GITLAB__/a?x=7", "http://git.test:8023/a?X=7", False),
        ("url", ["__GITLAB__/a", "__GITLAB__/b"], "__GITLAB__/b", True),
        ("json", '{"b":1,"a":2}', '{"a": 2, "b": 1}', True),
        ("markdown", "* a\n\n\n\n#  B", "- a\n\n# B", True),
        ("markdown", "A", "a", False),
        ("base64", "^.*MIT.*$", "VGhlIE1JVCBMaWNlbnNl", True),
        ("string_list", "2,1", "1, 2", True),
        ("null", "N / A", None, True),
        ("coordinates", [1, 2], {"lat": 1, "lon": 2}, True),
        ("location-name", "Apple Store", "store apple", True),
    ],
)
def test_equality(kind, one, other, equal):
    assert same(kind, one, other) is equal
    assert same(kind, other, one) is equal


def test_types_do_not_mix():
    assert not typed("1", "string", READING).equals(typed(1, "number", READING))
    assert not typed(1, "number", READING).equals(1)
    assert typed("A", "string", READING).equals(" a ")


def test_a_pattern_that_an_agent_gives_cannot_keep_the_grader_busy():
    assert same("string", "aaa", "^a+$")
    assert not same("string", "a" * 60, "^(a+)+$")
    assert not same("string", "a" * 60, "^a*a*a*a*a*a*$")
    assert same("string", "^(a+)+$", "aaa"), "what a task gives is trusted"


def test_what_cannot_be_read():
    for kind in KINDS:
        with pytest.raises(ValueError, match="two or more"):
            typed(["x"], kind, READING)
    with pytest.raises(ValueError, match="no type 'full_address': there are string"):
        typed("x", "full_address", READING)
    with pytest.raises(ValueError, match="no text"):
        typed(5, "url", READING)
