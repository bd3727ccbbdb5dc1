"""A record's checks together: all must pass, and an open one leaves the verdict open."""

import json

import pytest
from golds import AT, HTML

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.episode import Episode, Exchange
from hfr_bench.suites.webarena.grade import grade
from hfr_bench.suites.webarena.rows import read_record
from hfr_bench.suites.webarena.verdict import Check, Verdict

COMMON = {"task_id": 1, "sites": ["reddit"], "intent": "i", "intent_template_id": 1}
VERIFIED = {
    **COMMON,
    "start_urls": ["__REDDIT__"],
    "eval": [
        {
            "evaluator": "AgentResponseEvaluator",
            "results_schema": {"type": "null"},
            "expected": {"task_type": "navigate", "status": "SUCCESS", "retrieved_data": None},
        },
        {"evaluator": "NetworkEventEvaluator", "expected": {"url": "__REDDIT__/f/books"}},
    ],
}
ORIGINAL = {
    **COMMON,
    "start_url": "__REDDIT__",
    "eval": {
        "eval_types": ["string_match", "url_match"],
        "reference_answers": {"fuzzy_match": ["a"]},
        "reference_url": "__REDDIT__/f/books",
    },
}
DONE = json.dumps({"task_type": "NAVIGATE", "status": "SUCCESS", "retrieved_data": None})
THERE = Exchange("GET", "http://forum.test:9999/f/books", 200, (HTML,))


def test_a_verified_record():
    record = read_record(VERIFIED, "x")
    assert grade(record, Episode(answer=DONE, exchanges=(THERE,)), AT).score == 1.0
    assert grade(record, Episode(answer=DONE), AT).why == (
        "NetworkEventEvaluator: no GET __REDDIT__/f/books"
    )
    assert grade(record, Episode(exchanges=(THERE,)), AT).score == 0.0


def test_an_original_record():
    record = read_record(ORIGINAL, "x")
    at = "http://forum.test:9999/f/books"
    assert grade(record, Episode(answer="A", url=at), AT).score == 1.0
    assert grade(record, Episode(answer="well", url=at), AT).score is None
    assert grade(record, Episode(answer="well", url="http://else.test"), AT).score == 0.0


def test_a_recording_cannot_be_graded_by_its_pages():
    page = {"url": "last", "locator": "", "required_contents": {"must_include": ["a"]}}
    row = {**ORIGINAL, "eval": {"eval_types": ["program_html"], "program_html": [page]}}
    with pytest.raises(BadInputError, match="this episode is a recording"):
        grade(read_record(row, "x"), Episode(), AT)


def test_verdicts():
    assert Verdict(()).score == 0.0
    assert Verdict((Check("a", True), Check("b", None, "x"))).score is None
    assert Verdict((Check("a", None), Check("b", False, "x"))).why == "b: x"
    assert Verdict((Check("a", True), Check("b", True, suspect="s"))).suspect == "s"
