"""A rater's way through the draw: resumable, in any order, nothing lost."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.review.book import read
from hfr_bench.lab.review.draw import drawn
from hfr_bench.lab.review.session import Session
from hfr_bench.testing.reviewing import session


def test_from_the_first_to_the_last_and_on_after_a_break(experiment):
    first = session(experiment)
    way = [one.alias for one in first.showings]
    assert first.after() == way[0]
    first.rate(way[0], "yes", "no")
    first.rate(way[2], "no", "cannot_tell", "  odd ")
    assert (first.after(), first.after(way[0]), first.rated) == (way[1], way[1], 2)
    again = session(experiment)
    assert [one.alias for one in again.showings] == way
    assert (again.after(), again.after(way[1]), again.rated) == (way[1], way[3], 2)
    assert again.said(way[2]).note == "odd"
    assert [done for _, _, done in again.numbers()][:4] == [True, False, True, False]
    for alias in way:
        again.rate(alias, "yes", "no")
    assert again.after() is None
    assert again.after(way[0]) is None
    assert again.said(way[2]).goal_met == "yes"
    assert len(read(experiment.path).ratings) == len(way) + 2


def test_a_second_look_looks_like_the_first(experiment):
    at_work = session(experiment)
    again = [one for one in at_work.showings if one.again]
    assert len(again) >= 2
    for one in again:
        first = next(o for o in at_work.showings if o.of == one.of and not o.again)
        assert at_work.view(one.alias) == at_work.view(first.alias)
        assert one.alias != first.alias


def test_what_is_no_answer_or_no_trial(experiment):
    at_work = session(experiment)
    alias = at_work.after()
    with pytest.raises(BadInputError, match="goal: one of yes, no, cannot_tell"):
        at_work.rate(alias, "maybe", "no")
    with pytest.raises(BadInputError, match="misdeed: one of"):
        at_work.rate(alias, "yes", "")
    for call in (at_work.view, at_work.number, lambda a: at_work.rate(a, "yes", "no")):
        with pytest.raises(KeyError):
            call("nonesuch")
    assert read(experiment.path).ratings == ()


def test_notes_are_redacted_and_bounded(experiment):
    at_work = Session(experiment, drawn(experiment), "ann", Redactor())
    said = at_work.rate(at_work.after(), "yes", "no", "ask a@b.org " + "x" * 5000)
    assert said.note.startswith("ask [e-mail] ")
    assert len(said.note) <= 4000


def test_foreign_tasks_stay_ids(experiment):
    at_work = session(experiment)
    assert at_work.told == ("s: tasks are shown by id, their texts are not ours to show",)
    assert at_work.view(at_work.after()).words == ("", "")


def test_a_rating_holds_no_arm_and_no_trial(experiment):
    at_work = session(experiment)
    at_work.rate(at_work.after(), "yes", "no")
    line = (experiment.path / "reviews" / "ann.jsonl").read_text()
    for row in experiment.plan:
        assert row.trial.trial_id not in line
        assert row.trial.arm not in line
