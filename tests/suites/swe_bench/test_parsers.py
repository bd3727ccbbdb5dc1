"""Our parsers against what SWE-bench 5.0.2's said of the same logs (`logs/expected.json`).

The logs were recorded from programs of our own making, or written by hand where a shape is rare.
"""

import json
from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.swe_bench.load import load
from hfr_bench.suites.swe_bench.parsers import PARSER_OF_REPO, PARSERS, parser

LOGS = Path(__file__).parent / "logs"
EXPECTED = json.loads((LOGS / "expected.json").read_text())
CASES = [(log, name) for log, names in EXPECTED.items() for name in names]


@pytest.mark.parametrize(("log", "name"), CASES)
def test_as_upstream_reads_it(log, name):
    assert parser(name)((LOGS / log).read_text()) == EXPECTED[log][name]


def test_every_log_and_every_rule_is_tried():
    assert {path.name for path in LOGS.glob("*.log")} == EXPECTED.keys()
    rules = {parser(name) for _, name in CASES}
    assert rules == set(PARSERS.values())
    statuses = {status for log, name in CASES for status in EXPECTED[log][name].values()}
    assert statuses >= {"PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL"}


def test_nothing_is_nothing():
    for rule in set(PARSERS.values()):
        assert rule("") == rule("no test here\n") == {}


def test_a_word_that_stands_alone_is_no_test():
    assert parser("parse_log_django")("FAIL:\nERROR:\nok\n") == {}
    assert parser("parse_log_pytest")("PASSED\n") == {}


def test_an_unknown_parser_lists_the_known():
    with pytest.raises(
        BadInputError, match=r"'parse_log_karma' is not offered .* parse_log_astroid"
    ):
        parser("parse_log_karma")


def test_every_repository_of_the_rows_has_one(real_rows):
    instances = load(real_rows / "lite.jsonl") + load(real_rows / "verified_50.jsonl")
    assert {i.problem.repo for i in instances} == PARSER_OF_REPO.keys()
    assert set(PARSER_OF_REPO.values()) <= PARSERS.keys()
