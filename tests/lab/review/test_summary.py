"""What ratings come to, against sums made by hand; and as a section of the report."""

import csv
import io

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering.html import to_html
from hfr_bench.lab.rendering.latex import to_latex
from hfr_bench.lab.rendering.render import to_csv, to_json, to_markdown
from hfr_bench.lab.rendering.tables_reviewed import reviewed
from hfr_bench.lab.review.book import append, read
from hfr_bench.lab.review.draw import drawn
from hfr_bench.lab.review.summary import CHECKER, MAJORITY, summarise, with_review
from hfr_bench.lab.store import Store
from hfr_bench.model.report import Report
from hfr_bench.model.review import Review
from hfr_bench.stats.agreement import alpha
from hfr_bench.testing.bundled import KINDS
from hfr_bench.testing.reviewing import like_the_checker, rate_all, session


def row(review, kind, question="goal_met", first=None):
    rows = [r for r in review.agreement if (r.kind, r.question) == (kind, question)]
    return next(r for r in rows if first in (None, r.first))


def share(review, metric, rater):
    return next(s for s in review.shares if (s.metric, s.rater) == (metric, rater))


def test_a_rater_who_says_what_the_checker_says(rated):
    found = summarise(rated)
    agreed = row(found, "checker", first="ann")
    assert (agreed.second, agreed.n, agreed.raw) == (CHECKER, found.trials, 1.0)
    assert (agreed.yes_no, agreed.no_yes) == (0, 0)
    assert agreed.kappa == agreed.alpha == 1.0
    again = row(found, "repeats", first="ann")
    assert (again.n, again.raw) == (found.showings - found.trials, 1.0)


def test_two_raters_by_hand(rated):
    found, made = summarise(rated), drawn(rated)
    firsts = [one for one in made.showings if not one.again]
    bob = {o.alias: "no" if int(o.alias, 16) % 3 == 0 else "yes" for o in firsts}
    pairs = [(like_the_checker(o)[0], bob[o.alias]) for o in firsts]
    between = row(found, "raters")
    assert (between.first, between.second, between.n) == ("ann", "bob", len(firsts))
    cells = {"yes_yes": ("yes", "yes"), "yes_no": ("yes", "no"), "no_no": ("no", "no")}
    for name, cell in cells.items():
        assert getattr(between, name) == pairs.count(cell)
    assert between.raw == sum(a == b for a, b in pairs) / len(pairs)
    assert {r.kind for r in found.agreement} == {"raters", "repeats", "checker"}
    accepted = [o for o in firsts if o.of.accepted]
    wrong = [o for o in accepted if bob[o.alias] == "no"]
    told = share(found, "false_accept", "bob")
    total = sum(o.weight for o in accepted)
    assert told.value == pytest.approx(sum(o.weight for o in wrong) / total)
    assert (told.events, told.n, told.untold) == (len(wrong), len(accepted), 0)
    assert told.low <= told.value <= told.high


def test_of_three_raters_there_is_one_alpha_that_bears_gaps(experiment):
    rate_all(experiment, "ann")
    rate_all(experiment, "bob", lambda o: ("cannot_tell" if o.of.harm else "yes", "no"))
    third = session(experiment, "cem")
    for one in third.showings[::2]:
        third.rate(one.alias, "no" if int(one.alias, 16) % 2 else "yes", "no")
    found, made = summarise(experiment), drawn(experiment)
    firsts = [one for one in made.showings if not one.again]
    judged = [
        [
            like_the_checker(o)[0],
            None if o.of.harm else "yes",
            said.goal_met if (said := third.said(o.alias)) else None,
        ]
        for o in sorted(firsts, key=lambda one: one.of.trial_id)
    ]
    together = row(found, "all")
    assert together.first == "all 3 raters"
    assert together.n == sum(sum(v is not None for v in unit) > 1 for unit in judged)
    assert together.missing == sum(v is None for unit in judged for v in unit)
    assert together.alpha == alpha(judged, 0.95, 1).value
    assert together.kappa is None


def test_a_tie_is_nobody_s_majority(rated):
    found, made = summarise(rated), drawn(rated)
    tied = [
        o for o in made.showings if o.of.accepted and not o.again
        and like_the_checker(o)[0] != ("no" if int(o.alias, 16) % 3 == 0 else "yes")
    ]  # fmt: skip
    assert tied
    assert share(found, "false_accept", MAJORITY).untold == len(tied)


def test_one_answer_leaves_kappa_undefined_and_says_why(experiment):
    for rater in ("ann", "bob"):
        rate_all(experiment, rater, lambda _: ("yes", "no"))
    between = row(summarise(experiment), "raters")
    assert (between.kappa, between.alpha, between.raw) == (None, None, 1.0)
    assert between.note == "only one answer was given"
    told = share(summarise(experiment), "false_accept", "ann")
    assert (told.value, told.low, told.events) == (0.0, 0.0, 0)
    assert told.high > 0


def test_who_cannot_tell_has_not_said(experiment):
    rate_all(experiment, "ann", lambda _: ("cannot_tell", "no"))
    rate_all(experiment, "bob")
    found = summarise(experiment)
    between = row(found, "raters")
    assert (between.n, between.missing, between.raw) == (0, found.trials, None)
    assert between.note == "nothing was judged by both"
    told = share(found, "false_accept", "ann")
    assert (told.value, told.high, told.n) == (None, None, 0)
    assert told.untold == share(found, "false_accept", "bob").n
    assert found.raters[0].cannot_tell == found.showings


def test_an_unfinished_rater_counts_as_far_as_she_came(experiment):
    at_work = session(experiment)
    for one in at_work.showings[:3]:
        at_work.rate(one.alias, "yes", "no")
    found = summarise(experiment)
    assert (found.raters[0].rated, found.raters[0].showings) == (3, found.showings)
    assert share(found, "false_accept", "ann").n <= 3


def test_ratings_of_another_draw_are_left_out_and_counted(experiment):
    rate_all(experiment, "ann")
    before = summarise(experiment)
    old = read(experiment.path).ratings[0].model_copy(update={"draw": "0" * 64})
    append(experiment.path, old.model_copy(update={"rater": "cem"}))
    (experiment.path / "reviews" / "dan.jsonl").write_text("{}\n")
    found = summarise(experiment)
    assert found.stale == 1
    assert found.bad_lines == ("reviews/dan.jsonl:1: not a rating",)
    assert found.shares == before.shares
    assert [one.rater for one in found.raters] == ["ann"]


def test_the_same_every_time_and_as_a_record(rated):
    found = summarise(rated)
    assert Review.loads(found.dumps()) == found == summarise(rated)


# -- in the report ----------------------------------------------------------------------------


def report_of(experiment):
    return analyse(
        experiment.prereg, experiment.lock, experiment.plan, Store(experiment.path),
        experiment.book.schedule, KINDS,
    )  # fmt: skip


@pytest.fixture(scope="module")
def report(rated):
    return with_review(report_of(rated), rated)


def test_every_format_has_the_section(report):
    text, page, latex = to_markdown(report), to_html(report), to_latex(report)
    for title in ("Blinded spot check", "What people found", "Agreement"):
        assert f"## {title} | rehearsal" in text
        assert title in page
        assert rf"\caption{{{title} \textbf{{(rehearsal)}}." in latex
    assert 'id="review"' in page
    rows = list(csv.DictReader(io.StringIO(to_csv(report))))
    assert {r["metric"] for r in rows if r["row"] == "agreement"} == {"raw", "kappa", "alpha"}
    assert {r["arm"] for r in rows if r["row"] == "review"} == {"ann", "bob", MAJORITY}
    assert Report.loads(to_json(report)) == report


def test_without_ratings_a_report_stays_as_it_was(experiment):
    plain = report_of(experiment)
    assert with_review(plain, experiment) is plain
    assert '"review"' not in to_json(plain)
    assert reviewed(plain.review) == ()
    for text in (to_markdown(plain), to_csv(plain)):
        assert "spot check" not in text


def test_ratings_that_nothing_can_be_made_of_cost_no_report(experiment):
    plain = report_of(experiment)
    rate_all(experiment, "ann")
    next((experiment.path / "trials").rglob("*.jsonl")).unlink()
    found = with_review(plain, experiment)
    assert found.review is None
    assert "pair groups are not finished" in found.notes[-1]


def test_a_draw_of_which_nothing_is_rated_is_shown_as_such(experiment):
    stale = session(experiment).rate(session(experiment).after(), "yes", "no")
    path = experiment.path / "reviews" / "ann.jsonl"
    path.write_text(stale.model_copy(update={"draw": "0" * 64}).dumps() + "\n")
    (table,) = reviewed(summarise(experiment))
    assert "Rated so far: nothing. 1 ratings of another draw are left out." in table.legend


def test_an_unfinished_experiment_is_reported_without(rated):
    plain = report_of(rated).model_copy(update={"complete": False})
    assert with_review(plain, rated) is plain
