"""The draw: keyed, in bounds, of every stratum, the same for whoever makes it again."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.errors import BadInputError
from hfr_bench.lab.book import ScheduleBook
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.review.draw import STRATA, Candidate, candidates, draw, ordered
from hfr_bench.lab.store import TrialFile
from hfr_bench.model.terms import CheckLevel, End, VoidCause
from hfr_bench.model.trace import VerifyAnswered
from hfr_bench.testing.experiments import planned, play, some_faults, write_all
from hfr_bench.testing.results import At, ended, outcome, started, write_trial

SHARES = st.floats(0.05, 0.10)


def candidate(number, stratum):
    name = f"trial{number}"
    return Candidate(
        name, "s", f"t{number % 7}", 1, name, TrialFile(Path(name), name, 1, "a"),
        stratum, stratum != "escalated", number % 5 > 0, False,
    )  # fmt: skip


POPULATIONS = st.lists(st.sampled_from((*STRATA, "")), min_size=1, max_size=120).map(
    lambda strata: [candidate(n, stratum) for n, stratum in enumerate(strata)]
)


@settings(max_examples=25, deadline=None)
@given(POPULATIONS, SHARES, st.randoms(use_true_random=False))
def test_order_of_the_trials_does_not_matter(people, share, chance):
    made = draw("p", people, share)
    chance.shuffle(people)
    assert draw("p", people, share) == made


@settings(max_examples=25, deadline=None)
@given(POPULATIONS, SHARES)
def test_weights_add_up_to_each_stratum(people, share):
    made = draw("p", people, share)
    for row in made.strata:
        population = sum(one.stratum == row.name for one in people)
        firsts = [o for o in made.showings if o.of.stratum == row.name and not o.again]
        assert (row.population, row.drawn) == (population, len(firsts))
        assert bool(population) == bool(firsts)
        assert len(firsts) <= max(1, share * population + 1)
        assert sum(one.weight for one in firsts) == pytest.approx(population)
    assert made.never_drawn == sum(not one.stratum for one in people)
    assert len({one.alias for one in made.showings}) == len(made.showings)


@settings(max_examples=25, deadline=None)
@given(POPULATIONS, SHARES, SHARES)
def test_a_larger_share_contains_a_smaller_one(people, one, other):
    small, large = (
        {o.of.trial_id for o in draw("p", people, share).showings} for share in sorted((one, other))
    )
    assert small <= large


@pytest.mark.parametrize("share", [0.049, 0.2, 0.0, float("nan")])
def test_the_protocol_bounds_the_share(share):
    with pytest.raises(BadInputError, match=r"the protocol asks for 0\.05 to 0\.1"):
        draw("p", [candidate(1, "plain")], share)


def test_other_preregistrations_draw_others():
    people = [candidate(n, "plain") for n in range(200)]
    ours, theirs = (draw(p, people, 0.1) for p in ("p", "q"))
    assert ours.digest != theirs.digest
    assert {o.of.trial_id for o in ours.showings} != {o.of.trial_id for o in theirs.showings}
    assert not {o.alias for o in ours.showings} & {o.alias for o in theirs.showings}


def test_second_looks_come_half_the_list_away():
    made = draw("p", [candidate(n, "plain") for n in range(400)], 0.1)
    again = [one for one in made.showings if one.again]
    assert len(again) == 4
    for rater in ("ann", "bob", "cem"):
        way = ordered(made, rater)
        assert sorted(way) == sorted(made.showings)
        places = {(one.of.trial_id, one.again): n for n, one in enumerate(way)}
        for one in again:
            apart = abs(places[one.of.trial_id, True] - places[one.of.trial_id, False])
            assert 10 < apart < 34
    assert ordered(made, "ann") != ordered(made, "bob")


# -- which trials there are -------------------------------------------------------------------

PLAN = planned(("no_retry", "always_escalate"), tasks=6, rates=(0.0, 0.6), faults=some_faults)
BOOK = ScheduleBook(made.dumps() for made in PLAN.schedules.values())


@pytest.fixture
def experiment(tmp_path):
    write_all(tmp_path, PLAN)
    return Experiment(tmp_path, PLAN.prereg, PLAN.lock, PLAN.rows, BOOK)


def test_controls_are_left_out_and_every_end_has_its_stratum(experiment):
    found = {one.trial_id: one for one in candidates(experiment)}
    assert found.keys() == {r.trial.trial_id for r in PLAN.rows if r.control is None}
    for row in PLAN.rows:
        end = play(row, PLAN.schedule(row.trial.schedule_id))[-1].body.result.outcome
        if row.control is None:
            stratum = {End.ESCALATED: "escalated", End.ACCEPTED: "plain", End.FAILED: ""}[end.end]
            assert found[row.trial.trial_id].stratum == stratum
    assert {one.stratum for one in found.values()} == {"escalated", "plain", ""}


def rewritten(experiment, of, *bodies):
    row = next(r for r in PLAN.rows if r.control is None)
    write_trial(experiment.path, row.trial, [started(row.trial), *bodies, ended(row.trial, of=of)])
    return next(c for c in candidates(experiment) if c.trial_id == row.trial.trial_id)


def verdict(**fields):
    return At(VerifyAnswered(**({"level": CheckLevel.DETERMINISTIC, "passed": False} | fields)))


@pytest.mark.parametrize(
    ("of", "bodies", "stratum"),
    [
        (outcome(), (), "plain"),
        (outcome(degraded_steps=2), (), "degraded"),
        (outcome(degraded_steps=2), (verdict(),), "verify_failed"),
        (outcome(), (verdict(passed=True), verdict(undecided=True)), "plain"),
        (outcome(success=False, end=End.UNACCEPTED), (), "verify_failed"),
        (outcome(success=False, end=End.ESCALATED), (verdict(),), "escalated"),
        (outcome(success=False, end=End.LIMIT), (), ""),
        # The runtime said that it was done: what the checker says decides nothing here.
        (outcome(goal_met=False), (), "plain"),
    ],
)
def test_strata(experiment, of, bodies, stratum):
    assert rewritten(experiment, of, *bodies).stratum == stratum


def test_an_unfinished_experiment_is_not_drawn_from(experiment):
    group = experiment.path / "trials" / "t1-0-main"
    next(group.rglob("*.jsonl")).unlink()
    with pytest.raises(BadInputError, match=r"1 pair groups are not finished, such as t1-0-main"):
        candidates(experiment)


def test_dropped_groups_are_no_reason_to_wait(experiment):
    gone = PLAN.rows[0].trial.pair_group
    rows = [row.trial for row in PLAN.rows if row.trial.pair_group == gone]
    for round_ in range(1, 2 + PLAN.prereg.void_rounds):
        for trial in rows:
            void = ended(trial, void=VoidCause.SANDBOX, round=round_)
            write_trial(experiment.path, trial, [started(trial, round_), void], round_)
    found = {one.trial_id for one in candidates(experiment)}
    assert found
    assert not found & {trial.trial_id for trial in rows}
