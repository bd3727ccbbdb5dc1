"""The JSONPath forms of the public tasks."""

import pytest

from hfr_bench.suites.webarena.paths import is_path, pick

DATA = {
    "note": {"note": "x"},
    "actions": [{"content": "a"}, {"content": "b"}],
    "a-b": 1,
    "m": '[{"new": 1, "v": "p"}, {"new": 0, "v": "q"}, {"new": 1, "v": "r"}]',
    "reply_7[text]": "hi",
    "reply_8[text]": "ho",
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.note.note", "x"),
        ("$.actions[1].content", "b"),
        ("$.actions[2].content", None),
        ("$.actions[-1].content", "b"),
        ("$['a-b']", 1),
        ("$['m'][?(@.new == 1)].v", ("p", "r")),
        ("$['m'][?(@.new == 5)].v", None),
        ("$['m'][0].v", "p"),
        ("$.^reply_7\\[text\\]$", "hi"),
        ("^reply_\\d+\\[text\\]$", ("hi", "ho")),
        ("$.^none$", None),
        ("$.no.where", None),
    ],
)
def test_what_is_found(path, found):
    assert is_path(path)
    assert pick(DATA, path) == found


def test_what_is_no_path():
    assert not is_path("note[note]")
    assert pick([1], "$.^a$") is None
    with pytest.raises(ValueError, match=r"from '\.\.b'"):
        pick(DATA, "$.a..b")
