"""Records of both shapes: read, and refused with place and every wrong field."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.rows import read_record

ORIGINAL = {
    "task_id": 7,
    "sites": ["map", "wikipedia"],
    "intent": "i",
    "intent_template_id": 1,
    "start_url": "__MAP__ |AND| __WIKIPEDIA__",
    "storage_state": None,
    "eval": {"eval_types": ["string_match"], "reference_answers": {"must_include": ["a"]}},
}
VERIFIED = {
    **{name: ORIGINAL[name] for name in ("task_id", "sites", "intent", "intent_template_id")},
    "start_urls": ["__MAP__"],
    "eval": [
        {
            "evaluator": "AgentResponseEvaluator",
            "results_schema": {"type": "null"},
            "expected": {"task_type": "mutate", "status": "SUCCESS", "retrieved_data": None},
        },
        {"evaluator": "NetworkEventEvaluator", "expected": {"url": "__MAP__/x"}},
    ],
}


def test_an_original_record():
    record = read_record(ORIGINAL, "f:0")
    assert record.problem.start_urls == ("__MAP__", "__WIKIPEDIA__")
    assert (record.problem.shape, record.id, record.work) == ("original", 7, "")
    assert record.needs.reads == {"answer"}
    assert "reference" not in repr(record), "what grades it is not shown"


def test_a_verified_record():
    record = read_record(VERIFIED, "f:0")
    assert (record.problem.shape, record.work) == ("verified", "mutate")
    assert record.checks == ("AgentResponseEvaluator", "NetworkEventEvaluator")
    assert record.needs.reads == {"answer", "trace"}
    assert not record.needs.living
    assert record.source_digest != read_record({**VERIFIED, "intent": "j"}, "f:0").source_digest


@pytest.mark.parametrize(
    ("evaluation", "reads", "judge"),
    [
        ({"eval_types": ["url_match"], "reference_url": "u"}, {"url"}, "never"),
        (
            {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": "N/A"}},
            {"answer"},
            "unless_na",
        ),
        (
            {
                "eval_types": ["program_html"],
                "program_html": [{"url": "func:shopping_get_x()", "locator": ""}],
            },
            {"page", "rest"},
            "never",
        ),
        (
            {
                "eval_types": ["program_html"],
                "program_html": [{"url": "last", "locator": "func:shopping_y('a')"}],
            },
            {"page", "rest", "url"},
            "never",
        ),
    ],
)
def test_what_grading_takes(evaluation, reads, judge):
    needs = read_record({**ORIGINAL, "eval": evaluation}, "x").needs
    assert (needs.reads, needs.judge) == (reads, judge)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**ORIGINAL, "sites": ["intranet"]}, "sites .*there are shopping"),
        ({**ORIGINAL, "task_id": "7"}, "task_id must be a number"),
        ({**ORIGINAL, "start_url": ""}, "start_url is missing"),
        ({"task_id": 7}, "the field sites is missing; the field intent is missing"),
        ({**ORIGINAL, "eval": {"eval_types": ["guess"]}}, "eval_types .*there are string_match"),
        ({**ORIGINAL, "eval": {"eval_types": ["string_match"]}}, "cannot be matched"),
        ({**ORIGINAL, "eval": {"eval_types": ["url_match"]}}, "reference_url is missing"),
        ({**ORIGINAL, "eval": {"eval_types": ["program_html"]}}, "program_html is missing"),
        (
            {
                **ORIGINAL,
                "eval": {"eval_types": ["url_match"], "reference_url": "u", "url_note": "EXACT"},
            },
            "url_note 'EXACT'",
        ),
        ({**VERIFIED, "eval": "x"}, "must be a mapping .* or a list"),
        ({**VERIFIED, "eval": [VERIFIED["eval"][1]]}, "no AgentResponseEvaluator"),
        ({**VERIFIED, "eval": [{"evaluator": "Guess"}]}, "evaluator 'Guess'"),
        (
            {**VERIFIED, "eval": [VERIFIED["eval"][0], {**VERIFIED["eval"][1], "expected": {}}]},
            "without expected.url",
        ),
    ],
)
def test_what_is_wrong_is_said(row, message):
    with pytest.raises(BadInputError, match=rf"f:3 \(task .*{message}"):
        read_record(row, "f:3")
