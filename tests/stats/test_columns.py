"""Columns that are made once: the same values as one trial at a time, whatever is picked."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.measures import CheckSums, Measures
from hfr_bench.model.terms import CheckLevel, End
from hfr_bench.stats.columns import Columns, pair_key, picked
from hfr_bench.stats.further import FURTHER, Judged
from hfr_bench.stats.metrics import METRICS
from hfr_bench.testing.results import outcome, result

COUNT = st.integers(0, 2)
OUTCOMES = st.builds(
    outcome,
    success=st.booleans(),
    accepted=st.booleans(),
    official=st.sampled_from([0.0, 0.25, 1.0]),
    end=st.sampled_from(End),
    duplicates=COUNT,
    unwanted=COUNT,
    degraded_steps=COUNT,
    ambiguous_writes=COUNT,
    packet_true=st.sampled_from([None, True, False]),
)
RESULTS = st.builds(
    result,
    task=st.sampled_from(["t1", "t2", "t3"]),
    seed=st.integers(1, 2),
    of=OUTCOMES,
    cost_microusd=st.none() | st.integers(0, 9),
    latency_us=st.integers(0, 99),
    steps=st.integers(1, 3),
    attempts=st.integers(1, 9),
)
CHECKS = st.builds(CheckSums, st.sampled_from(CheckLevel), COUNT, COUNT, COUNT, COUNT)
MEASURES = st.builds(
    Measures, st.booleans(), st.booleans(), st.none() | COUNT, st.none() | COUNT,
    st.lists(CHECKS, max_size=2, unique_by=lambda one: one.level).map(tuple),
)  # fmt: skip
JUDGED = st.builds(Judged, RESULTS, MEASURES, st.none() | RESULTS)


def held(trials, metrics):
    """Every column of every metric against the definition, trial by trial."""
    table = picked(trials)
    for metric in metrics.values():
        nums = [metric.num(trial) for trial in trials]
        found = table.column(metric.num)
        assert (found is None) == (None in nums)
        assert found is None or found.tolist() == nums
        assert table.filled(metric.den).tolist() == [metric.den(t) or 0 for t in trials]


@settings(max_examples=25)
@given(st.lists(RESULTS, max_size=8))
def test_every_metric_of_results_equals_its_definition(trials):
    held(trials, METRICS)


@settings(max_examples=25)
@given(st.lists(JUDGED, max_size=6))
def test_every_further_metric_equals_its_definition(trials):
    held(trials, FURTHER)


@settings(max_examples=25)
@given(st.lists(RESULTS, min_size=1, max_size=8), st.data())
def test_what_is_picked_is_those_trials_in_that_order(trials, data):
    chosen = data.draw(st.lists(st.sampled_from(range(len(trials))), max_size=9))
    some = Columns(trials).pick(trials[n] for n in chosen)
    assert list(some) == [trials[n] for n in chosen]
    assert len(some) == len(chosen)
    metric = METRICS["latency_mean"]
    assert some.filled(metric.num).tolist() == [trials[n].latency_us for n in chosen]
    index = {("s", task): n for n, task in enumerate(("t1", "t2", "t3"))}
    assert some.rows(index).tolist() == [index["s", trials[n].task_id] for n in chosen]


@settings(max_examples=25)
@given(st.lists(RESULTS, max_size=8))
def test_pair_order_is_that_of_the_keys_and_keeps_equal_ones_as_they_were(trials):
    ordered = picked(trials).in_pairs()
    assert list(map(id, ordered)) == list(map(id, sorted(trials, key=pair_key)))


def test_pairs_are_told_across_tables_and_within_one():
    ours = [result(task="t1", seed=n) for n in (2, 1)]
    theirs = [result(task="t1", seed=n) for n in (1, 2)]
    one, other = picked(ours).in_pairs(), picked(theirs).in_pairs()
    assert one.paired_with(other)
    assert not one.paired_with(other[:1])
    table = Columns([*ours, *theirs])
    assert table.pick(ours).in_pairs().paired_with(table.pick(theirs).in_pairs())
    assert not table.pick(ours).paired_with(table.pick(theirs))
    assert one[0] is ours[1]


def test_a_likeness_is_not_the_trial():
    trial = result(task="t1")
    with pytest.raises(KeyError):
        Columns([trial]).pick([trial.model_copy()])


def test_a_price_that_is_unknown_elsewhere_does_not_matter():
    known, unknown = result(cost_microusd=3), result(cost_microusd=None)
    table = Columns([known, unknown])
    cost = METRICS["cost_mean"].num
    assert table.pick([known]).column(cost).tolist() == [3]
    assert table.pick([unknown]).column(cost) is None


def test_another_weight_matrix_has_other_rows():
    trials = [result(task="t1"), result(task="t2")]
    table = picked(trials)
    for index in ({("s", "t1"): 0, ("s", "t2"): 1}, {("s", "t1"): 7, ("s", "t2"): 7}):
        assert table.rows(index).tolist() == list(index.values())


def test_a_void_has_no_columns():
    void = result().model_copy(update={"outcome": None, "void": "infrastructure"})
    with pytest.raises(ValueError, match="is void"):
        picked([void]).column(METRICS["sr"].num)


def test_equal_outcomes_are_worked_out_once():
    trials = [result(task=f"t{n}", of=outcome(success=n % 2 > 0)) for n in range(40)]
    calls = []
    metric = METRICS["sr"].num

    def told(trial):
        calls.append(trial)
        return metric.of(trial)

    column = picked(trials).column(type(metric)(metric.key, told))
    assert len(calls) == 2
    assert all(a != b for a, b in pairwise(column.tolist()))
    assert column.dtype == np.int64


RATED = st.lists(
    st.builds(
        result,
        arm=st.sampled_from("ab"),
        task=st.sampled_from(["t1", "t2"]),
        rate=st.sampled_from([0.0, 0.1]),
        latency_us=st.integers(0, 9),
    ),
    max_size=8,
)


@settings(max_examples=25)
@given(RATED, st.sampled_from(([0.0], [0.1], [0.1, 0.0], [0.3], [])))
def test_a_cell_is_an_arms_trials_rate_by_rate(trials, rates):
    table = Columns(trials)
    for arm in "abc":
        wanted = [one for rate in rates for one in trials if (one.arm, one.rate) == (arm, rate)]
        assert list(map(id, table.cell(arm, rates))) == list(map(id, wanted))
        assert table.cell(arm, rates).tasks() == len({one.task_id for one in wanted})
    assert table.rates() == sorted({one.rate for one in trials})


@settings(max_examples=25)
@given(RATED)
def test_a_table_beside_another_knows_where_its_trials_belong(trials):
    table = Columns(trials)
    more = Columns([Judged(one, Measures(), None) for one in trials], beside=table)
    alone = Columns(list(more.trials))
    assert (more.pair_keys, more.pairs.tolist()) == (alone.pair_keys, alone.pairs.tolist())
    assert [one.result for one in more.cell("a", [0.1])] == list(table.cell("a", [0.1]))
    held_beside = more.cell("a", [0.0, 0.1])
    for metric in FURTHER.values():
        assert held_beside.filled(metric.den).tolist() == [
            metric.den(one) or 0 for one in held_beside
        ]


@settings(max_examples=25)
@given(RATED, st.data())
def test_what_is_taken_of_picked_trials_is_of_the_same_table(trials, data):
    table = Columns(trials)
    a, b = table.cell("a", [0.0, 0.1]), table.cell("b", [0.0, 0.1])
    both = a.and_then(b)
    assert list(both) == [*a, *b]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(a), max_size=len(a))), bool)
    assert list(a.take(mask)) == [one for one, kept in zip(a, mask, strict=True) if kept]
    assert a.take(mask).table is table
