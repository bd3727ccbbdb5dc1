"""Ratings: appended, never lost, each in its rater's file; what is none is named."""

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.review.book import append, check_rater, read, share_of, there_are
from hfr_bench.model.review import Rating


def rating(item="i", rater="ann", goal_met="yes", **fields):
    plain = {"at": "2026-01-01T00:00:00+00:00", "draw": "d", "share": 0.1, "misdeed": "no"}
    return Rating(**(plain | {"item": item, "rater": rater, "goal_met": goal_met} | fields))


def test_the_last_word_counts_and_the_first_stays(tmp_path):
    assert not there_are(tmp_path)
    for word in ("yes", "no"):
        append(tmp_path, rating(goal_met=word))
    append(tmp_path, rating(rater="bob", goal_met="cannot_tell"))
    append(tmp_path, rating(item="j", draw="another"))
    book = read(tmp_path)
    assert there_are(tmp_path)
    assert len(book.ratings) == 4
    assert {item: r.goal_met for item, r in book.of("ann", "d").items()} == {"i": "no"}
    assert book.of("bob", "d")["i"].goal_met == "cannot_tell"
    assert book.of("cem", "d") == {}


def test_a_half_written_line_is_closed_and_named(tmp_path):
    append(tmp_path, rating())
    path = tmp_path / "reviews" / "ann.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:30])
    append(tmp_path, rating(item="j"))
    book = read(tmp_path)
    assert set(book.of("ann", "d")) == {"i", "j"}
    assert list(map(str, book.bad)) == ["reviews/ann.jsonl:2: not a rating"]


def test_a_rating_in_another_rater_s_file_is_not_believed(tmp_path):
    append(tmp_path, rating())
    path = tmp_path / "reviews" / "ann.jsonl"
    path.rename(path.with_name("bob.jsonl"))
    assert list(map(str, read(tmp_path).bad)) == ["reviews/bob.jsonl:1: a rating by ann"]
    assert read(tmp_path).ratings == ()


def test_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "reviews" / "ann.jsonl").mkdir(parents=True)
    with pytest.raises(InfrastructureError, match=r"ann\.jsonl: the rating was not written"):
        append(tmp_path, rating())


@pytest.mark.parametrize("name", ["", "../x", "a b", ".x", "a" * 41, "ann\n", "a.b", "ä"])
def test_names_that_no_file_may_have(name):
    with pytest.raises(BadInputError, match="--rater"):
        check_rater(name)


def test_names():
    assert check_rater("Ann-2_b") == "Ann-2_b"


def test_two_shares_are_not_one_sample(tmp_path):
    given = [rating(share=0.05)]
    assert share_of(tmp_path, [], None, 0.1) == 0.1
    assert share_of(tmp_path, [], 0.07, 0.1) == 0.07
    assert share_of(tmp_path, given, None, 0.1) == 0.05
    assert share_of(tmp_path, given, 0.05, 0.1) == 0.05
    with pytest.raises(BadInputError, match=r"was drawn with 0\.05; leave --share out"):
        share_of(tmp_path, given, 0.1, 0.1)
