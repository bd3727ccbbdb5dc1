"""Nested values: read by a schema, compared to the first difference."""

import pytest
from golds import AT

from hfr_bench.suites.webarena.rows import SITES
from hfr_bench.suites.webarena.shape import Reader, difference
from hfr_bench.suites.webarena.urls import Reading

READING = Reading(AT, SITES)
STRICT, LENIENT = Reader(READING, strict=True), Reader(READING, strict=False)
SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "number"},
        "l": {"type": "array", "items": {"format": "currency"}},
        "o": {"type": "object", "properties": {"d": {"format": "date"}}},
    },
}


def test_what_is_expected_is_read_strictly_and_what_is_given_is_not():
    expected = STRICT.mapping({"n": 1, "l": ["$2", 3], "o": {"d": "May 1, 2023"}, "s": "A"}, SCHEMA)
    given = '{"n": "1", "l": "[3, 2.05]", "o": {"d": "2023-05-01"}, "s": "a"}'
    assert difference(expected, LENIENT.mapping(given, SCHEMA)) == ""
    assert difference(expected, LENIENT.mapping(given, SCHEMA), ordered=True).startswith("l[0]")
    assert LENIENT.mapping({"n": "x", "l": 5}, SCHEMA) == {"n": "x", "l": 5}
    for wrong in ({"n": "x"}, {"l": 5}, "text"):
        with pytest.raises(ValueError, match=r"."):
            STRICT.mapping(wrong, SCHEMA)
    with pytest.raises(ValueError, match="of no list"):
        LENIENT.array([1], {"type": "null"})


@pytest.mark.parametrize(
    ("expected", "actual", "more", "said"),
    [
        (1, 1, False, ""),
        (None, 1, False, "it: 1"),
        ({"a": 1}, {"a": 1, "b": 2}, True, ""),
        ({"a": 1}, {"a": 1, "b": 2}, False, "it: with ['b']"),
        ({"a": 1}, {}, True, "it: without ['a']"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, False, "a.b: 2"),
        ({"a": 1}, [], False, "it: no object, but []"),
        ([1, 2], [2, 1], False, ""),
        ([1, 1], [1, 2], False, ": nothing fits item 1"),
        ([1], [1, 2], False, ": 1 more"),
        ([1], 1, False, "it: no list, but 1"),
    ],
)
def test_differences(expected, actual, more, said):
    assert difference(expected, actual, more=more) == said


def test_length_counts_in_order():
    assert difference([1], [1, 2], ordered=True, at="x") == "x: 2 items"
