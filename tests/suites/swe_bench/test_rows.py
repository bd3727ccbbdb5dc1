"""A row is read whole, in either shape, or refused with place, instance and every wrong field."""

import json
from datetime import UTC, datetime

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.swe_bench.rows import Baked, read_row

BAKED = {
    "image": "swebench/x:latest",
    "eval_script": "#!/bin/bash\n",
    "log_parser": "parse_log_pytest",
    "eval_type": "pass_and_fail",
}


def test_a_classic_row(row):
    found = read_row(row(difficulty="<15 min fix", hints_text=None), "a.jsonl:3")
    assert found.id == "hfr__slug-1"
    assert found.problem.statement == "Slugs keep capital letters."
    assert (found.problem.hints, found.problem.difficulty) == ("", "<15 min fix")
    assert found.gold.fail_to_pass == ("tests/test_slug.py::test_lower",)
    assert found.environment_commit == "1" * 40
    assert found.baked is None
    assert found.where == "a.jsonl:3"


def test_a_baked_row_and_lists_that_are_lists(row):
    found = read_row(row(**BAKED, FAIL_TO_PASS=["a"], PASS_TO_PASS=()), "x")
    assert found.baked == Baked("swebench/x:latest", "#!/bin/bash\n", "parse_log_pytest")
    assert (found.gold.fail_to_pass, found.gold.pass_to_pass) == (("a",), ())


def test_what_is_sealed_is_not_shown(row):
    """A public half that named the tests would tell the agent what is asked of it."""
    found = read_row(row(), "x")
    assert "test_lower" not in repr(found)
    assert "test_lower" not in repr(found.problem)


def test_without_an_environment_commit_it_is_the_base(row):
    assert read_row(row(environment_setup_commit=None), "x").environment_commit == "0" * 40


def test_a_moment_from_a_column_store(row):
    found = read_row(row(created_at=datetime(2024, 1, 2, tzinfo=UTC)), "x")
    assert found.problem.created_at == "2024-01-02T00:00:00+00:00"


@pytest.mark.parametrize("as_text", [True, False])
def test_multimodal_assets(row, as_text):
    assets = {
        "problem_statement": ["https://x.example/a/pic.png"],
        "test_patch": [{"path": "test/a.png", "url": "https://x.example/a.png"}],
        "patch": None,
    }
    found = read_row(row(image_assets=json.dumps(assets) if as_text else assets), "x")
    assert found.problem.pictures == (("pic.png", "https://x.example/a/pic.png"),)
    assert found.gold.test_assets == (("test/a.png", "https://x.example/a.png"),)


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({"test_patch": None, "version": None}, "field version is missing; the field test_patch"),
        ({"FAIL_TO_PASS": "[a"}, "FAIL_TO_PASS is not JSON"),
        ({"PASS_TO_PASS": '{"a": 1}'}, "PASS_TO_PASS must be a list of test names, not dict"),
        ({"PASS_TO_PASS": [1]}, "PASS_TO_PASS holds something that is no test name: 1"),
        ({"FAIL_TO_PASS": "[]"}, "FAIL_TO_PASS is empty"),
        ({"version": 3.1}, "version must be text, not float .in YAML, quote it: 3.10 is not 3.1."),
        ({"image": "x", "log_parser": "y"}, "half baked: it has image, log_parser, but not eval_"),
        ({**BAKED, "eval_type": "fail"}, "eval_type 'fail': there are pass_and_fail, fail_only"),
        ({"image_assets": "[1]"}, "image_assets must map a field to a list of path and url"),
        ({"image_assets": {"test_patch": [{"url": "x"}]}}, "image_assets must map"),
    ],
)
def test_what_is_wrong_is_named(row, over, said):
    with pytest.raises(BadInputError, match=said) as error:
        read_row(row(**over), "a.jsonl:3")
    assert str(error.value).startswith("a.jsonl:3 (hfr__slug-1): ")


def test_a_row_without_a_name_is_named_by_its_place(row):
    with pytest.raises(BadInputError, match=r"^a.jsonl:3: the field instance_id is missing$"):
        read_row(row(instance_id=None), "a.jsonl:3")
