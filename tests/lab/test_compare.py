"""Two arms side by side: lists agree with counts, differences with the report."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.book import ScheduleBook
from hfr_bench.lab.compare import compare, graded
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.store import Store
from hfr_bench.model.comparison import Comparison
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An experiment, its report, its results."""
    folder = tmp_path_factory.mktemp("experiment")
    arms = ("no_retry", "hfr", "blind_resend")
    plan = planned(arms, tasks=30, rates=(0.0, 0.2, 0.4), faults=some_faults)
    write_all(folder, plan)
    report = analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)
    book = ScheduleBook(schedule.dumps() for schedule in plan.schedules.values())
    experiment = Experiment(folder, plan.prereg, plan.lock, plan.rows, book)
    return experiment, report, graded(experiment, Store(folder))


def test_results_are_those_of_the_report(made):
    _, report, results = made
    assert len(results) == report.trials_analysed == 270


@pytest.mark.parametrize("rate", [None, 0.2])
def test_lists_and_counts_agree(made, rate):
    found = compare(*made, "hfr", "no_retry", rate)
    assert found.both + found.neither + len(found.won) + len(found.lost) == found.pairs
    assert found.pairs == (60 if rate is None else 30)
    assert found.tasks == 30
    (success,) = (one for one in found.differences if one.metric == "sr")
    assert (success.better, success.worse) == (len(found.won), len(found.lost))
    assert all(pair.ours.succeeded and not pair.theirs.succeeded for pair in found.won)


@pytest.mark.parametrize("rate", [None, 0.0, 0.4])
def test_differences_are_those_of_the_report(made, rate):
    _, report, _ = made
    found = compare(*made, "hfr", "no_retry", rate)
    told = [
        one
        for one in report.contrasts
        if (one.arm, one.against, one.rate) == ("hfr", "no_retry", rate)
    ]
    assert found.differences == tuple(told)
    assert told


def test_harm_is_listed_whoever_succeeded(made):
    found = compare(*made, "blind_resend", "hfr")
    assert found.harm
    assert all(pair.ours.harm == pair.ours.duplicates == 1 for pair in found.harm)
    assert all(pair.theirs.harm == 0 for pair in found.harm)
    turned = compare(*made, "hfr", "blind_resend")
    assert [pair.ours for pair in found.harm] == [pair.theirs for pair in turned.harm]


def test_exposure_is_summed_over_what_is_compared(made):
    _, report, _ = made
    for rate in (None, 0.2):
        found = compare(*made, "hfr", "no_retry", rate)
        for met in found.exposure:
            rows = [r for r in report.exposure if r["arm"] == met.arm and r["rate"] > 0]
            kept = [r for r in rows if rate is None or r["rate"] == rate]
            assert met.reached == met.delivered == sum(r["reached"] for r in kept)


def test_it_can_be_written_and_read_back(made):
    found = compare(*made, "hfr", "no_retry")
    assert Comparison.loads(found.dumps()) == found


def test_pairs_are_those_of_one_schedule(made):
    """In the exhaustive design a task has many pair groups at one rate."""
    experiment, report, results = made
    moved = [r.model_copy(update={"rate": 0.4}) for r in results if r.rate > 0]
    found = compare(experiment, report, moved, "hfr", "no_retry", 0.4)
    assert found.pairs == 60


@pytest.mark.parametrize(
    ("arm", "against", "rate", "words"),
    [
        ("nobody", "hfr", None, "no arm 'nobody'; there are: no_retry, hfr, blind_resend"),
        ("hfr", "nobody", None, "no arm 'nobody'"),
        ("hfr", "hfr", None, "name two arms"),
        ("hfr", "no_retry", 0.3, "no rate 0.3; there are: 0, 0.2, 0.4"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(made, arm, against, rate, words):
    with pytest.raises(BadInputError, match=words):
        compare(*made, arm, against, rate)


def test_without_pairs_there_is_nothing_to_compare(made):
    experiment, report, _ = made
    with pytest.raises(BadInputError, match="run `hfr-bench run"):
        compare(experiment, report, [], "hfr", "no_retry")
