"""The strict JSON answer: its form, its status, its data by schema."""

import json

import pytest
from golds import AT

from hfr_bench.suites.webarena.responses import check_answer, read_answer
from hfr_bench.suites.webarena.rows import SITES
from hfr_bench.suites.webarena.urls import Reading
from hfr_bench.suites.webarena.verdict import Check

READING = Reading(AT, SITES)
PRICES = {
    "results_schema": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "price": {"format": "currency"}},
        },
    },
    "expected": {
        "task_type": "retrieve",
        "status": "SUCCESS",
        "retrieved_data": [{"name": "Tea", "price": 1.5}, {"name": ["Mug", "Cup"], "price": 3}],
    },
}
NOT_FOUND = {
    "results_schema": {"type": "null"},
    "expected": {"task_type": "mutate", "status": "NOT_FOUND_ERROR", "retrieved_data": None},
}
GOLD = [{"name": "tea.", "price": "$1.55"}, {"name": "CUP", "price": "3.00"}]


def answer(data, **over):
    return json.dumps(
        {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": data, **over}
    )


@pytest.mark.parametrize(
    ("said", "right"),
    [
        (answer(GOLD), True),
        (answer(GOLD[::-1]), True),
        (f"Done:\n```json\n{answer(GOLD)}\n```", True),
        (answer(GOLD, task_type="retrieve", status="success"), True),
        (answer(json.dumps(GOLD)), False),
        (answer([json.dumps(one) for one in GOLD]), True),
        (answer(GOLD[:1]), False),
        (answer([*GOLD, GOLD[0]]), False),
        (answer([{**GOLD[0], "price": 2}, GOLD[1]]), False),
        (answer([{**GOLD[0], "note": 1}, GOLD[1]]), False),
        (answer([]), False),
        (answer(None), False),
        (answer(GOLD, status="UNKNOWN_ERROR"), False),
        (answer(GOLD, status=3), False),
        (answer(GOLD, task_type=""), False),
        (answer(GOLD)[:-1], False),
        ("tea costs $1.50", False),
        (None, False),
    ],
)
def test_data_are_compared_by_their_types(said, right):
    assert check_answer(PRICES, said, READING).passed is right


def test_order_counts_where_it_is_asked_for():
    assert check_answer({**PRICES, "ordered": True}, answer(GOLD), READING).passed
    assert not check_answer({**PRICES, "ordered": True}, answer(GOLD[::-1]), READING).passed


def test_an_honest_refusal_is_right_where_it_is_expected():
    said = {"task_type": "MUTATE", "status": "NOT_FOUND_ERROR", "retrieved_data": None}
    assert check_answer(NOT_FOUND, json.dumps(said), READING).passed
    assert check_answer(NOT_FOUND, json.dumps({**said, "retrieved_data": ["x"]}), READING).passed
    told = check_answer(NOT_FOUND, json.dumps({**said, "status": "SUCCESS"}), READING)
    assert told.why == "status: 'success'"


def test_the_old_name_of_the_task_type():
    old = json.dumps({"performed_operation": "MUTATE", "status": "NOT_FOUND_ERROR"})
    assert check_answer(NOT_FOUND, old, READING).passed


def test_a_task_that_cannot_be_passed_says_so():
    spoilt = {**PRICES, "expected": {**PRICES["expected"], "retrieved_data": [{"price": "x"}]}}
    assert "own answer cannot be read" in check_answer(spoilt, answer(GOLD), READING).why
    lacking = {k: v for k, v in NOT_FOUND["expected"].items() if k != "retrieved_data"}
    said = json.dumps({"task_type": "MUTATE", "status": "NOT_FOUND_ERROR", "retrieved_data": None})
    told = check_answer({**NOT_FOUND, "expected": lacking}, said, READING)
    assert not told.passed
    assert "whoever gives none" in told.why


def test_an_answer_that_names_several_passes_by_the_rule_and_is_flagged():
    hedged = answer([{**GOLD[0], "name": ["Coffee", "Tea"]}, GOLD[1]])
    told = check_answer(PRICES, hedged, READING)
    assert told.passed
    assert told.suspect == "the answer lists alternatives, of which one fits"
    assert not check_answer(PRICES, answer(GOLD), READING).suspect
    wild = check_answer(PRICES, answer([{**GOLD[0], "name": "^.*$"}, GOLD[1]]), READING)
    assert (wild.passed, wild.suspect) == (True, "the answer gives a pattern, which matches")
    wrong = answer([{**GOLD[0], "name": ["Coffee", "Milk"]}, GOLD[1]])
    assert check_answer(PRICES, wrong, READING) == Check(
        "AgentResponseEvaluator", False, "retrieved_data: nothing fits item 0"
    )


def test_what_an_answer_is_read_as():
    assert read_answer(' {"a": 1} ') == {"a": 1}
    assert read_answer("null") is None
    assert read_answer("  ") is None
    assert read_answer("```\n[1]\n```") == [1]
    assert read_answer("42 apples") == "42 apples"
