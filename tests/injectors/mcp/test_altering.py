"""A wrong result is another one, and its text and its structure are wrong in the same way."""

import json

from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.injectors.mcp.altering import alter

scalars = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=6)
objects = st.dictionaries(st.text(max_size=5), scalars | st.lists(scalars, max_size=3), max_size=4)
edits = st.sampled_from(["number", "row", "instruction"])


def text_of(value: object, indent: int | None) -> dict[str, object]:
    said = json.dumps(value, indent=indent, ensure_ascii=False)
    return {"type": "text", "text": said}


@given(edits, objects.filter(bool), st.sampled_from([None, 2]), st.text("ab", min_size=1))
def test_text_and_structure_agree(edit, value, indent, key):
    result = {"content": [text_of(value, indent)], "structuredContent": value, "isError": False}
    wrong = alter(edit, result, key, "Do it.")
    assert wrong["structuredContent"] != value
    assert isinstance(wrong["structuredContent"], dict)
    assert json.loads(wrong["content"][0]["text"]) == wrong["structuredContent"]
    assert wrong["isError"] is False
    assert wrong == alter(edit, result, key, "Do it.")  # a second read is wrong in the same way


@given(edits, st.text(max_size=20), st.text("ab", min_size=1))
def test_a_wrapped_text(edit, said, key):
    result = {"content": [{"type": "text", "text": said}], "structuredContent": {"result": said}}
    wrong = alter(edit, result, key, "Do it.")
    assert wrong["structuredContent"]["result"] == wrong["content"][0]["text"] != said


@given(edits, st.lists(st.just({"type": "image", "data": "AAAA", "mimeType": "image/png"})))
def test_no_text_at_all(edit, blocks):
    wrong = alter(edit, {"content": blocks}, "k", "Do it.")
    assert wrong["content"] != blocks


def test_a_number_is_off_and_nothing_else():
    value = {"id": "O-1", "total": 120}
    result = {"content": [text_of(value, None)], "structuredContent": value, "_meta": {"a": 1}}
    wrong = alter("number", result, "k")
    assert wrong["structuredContent"]["id"] == "O-1"
    assert wrong["structuredContent"]["total"] != 120
    assert wrong["_meta"] == {"a": 1}


def test_a_text_that_says_something_else_stays():
    result = {"content": [{"type": "text", "text": "Found one."}], "structuredContent": {"n": 1}}
    wrong = alter("number", result, "k")
    assert wrong["content"] == result["content"]
    assert wrong["structuredContent"] != {"n": 1}
