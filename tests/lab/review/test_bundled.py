"""Ratings travel in the bundle, and what they come to is made again from them."""

import pytest

from hfr_bench.lab.verification.verify import verify
from hfr_bench.model.report import Report
from hfr_bench.testing.bundled import Ready, failed, replace, reseal
from hfr_bench.testing.reviewing import rate_all


@pytest.fixture
def bundled(experiment, toy, tmp_path):
    rate_all(experiment, "ann")
    (experiment.path / "reviews" / "notes of ann.jsonl").write_text("no rater's name")
    return Ready(experiment, toy.content).bundle(tmp_path / "b", drawn=False)


def test_a_bundle_holds_the_ratings_and_what_they_come_to(bundled):
    assert [path.name for path in (bundled / "reviews").iterdir()] == ["ann.jsonl"]
    review = Report.loads((bundled / "report.json").read_bytes()).review
    assert [row.rater for row in review.raters] == ["ann"]
    found = verify(bundled)
    assert found.verified
    assert any("people said" in word for word in found.word)


def test_a_rating_that_was_turned_is_found(bundled):
    replace(bundled / "reviews" / "ann.jsonl", '"goal_met":"yes"', '"goal_met":"no"')
    assert failed(bundled)[0][0] == 0
    reseal(bundled)  # as a forger would
    levels, told = failed(bundled)
    assert levels == [3]
    assert "review." in told


def test_sums_that_no_rating_bears_are_found(bundled):
    (bundled / "reviews" / "ann.jsonl").unlink()
    reseal(bundled)
    levels, told = failed(bundled)
    assert (levels, "review should not be there" in told) == ([3], True)
