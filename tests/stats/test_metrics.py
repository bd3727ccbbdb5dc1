"""Metrics against hand-computed values, and plain Python against numpy."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.terms import End, VoidCause
from hfr_bench.stats.bootstrap import point, sample
from hfr_bench.stats.metrics import METRICS, P99_TRIALS, value
from hfr_bench.testing.results import outcome, result

ESCALATED = {"success": False, "end": End.ESCALATED, "goal_met": False}


def trials(*outcomes, **fields):
    return [
        result(task=f"t{i}", of=made, latency_us=(i + 1) * 1000, **fields)
        for i, made in enumerate(outcomes)
    ]


def test_by_hand():
    made = trials(
        outcome(),
        outcome(duplicates=2, ambiguous_writes=3),
        outcome(**ESCALATED, packet_true=True),
        outcome(**ESCALATED, packet_true=False),
        outcome(success=False, unwanted=1),
        outcome(goal_met=False, degraded_steps=2),  # a false accept
        outcome(in_time=False),
        outcome(**ESCALATED, partial=1),
        cost_microusd=500,
        attempts=5,
    )
    got = {name: value(metric, made) for name, metric in METRICS.items()}
    expected = {
        "sr": 2 / 8,
        "csr": 1 / 8,
        "scr": 4 / 8,
        "scr_strict": 2 / 8,
        "harm_1000": 4 * 1000 / 8,
        "dup_1000": 2 * 1000 / 8,
        "dup_any": 1 / 8,
        "dup_ambiguous": 2 * 1000 / 3,
        "unwanted_1000": 1000 / 8,
        "dispatch_1000": 0.0,
        "goal_met": 3 / 8,
        "cps": 8 * 500 / 2,
        "cost_mean": 500.0,
        "esc": 3 / 8,
        "deg": 1 / 8,
        "ra": 40 / 16,
        "far": 1 / 4,
        "p50": 4000.0,
        "p95": 8000.0,
        "p99": None,
        "p50_auto": 5000.0,
        "p95_auto": 7000.0,
        "recovery_mean": None,
    }
    assert {name: got[name] for name in expected} == expected


def test_p99_needs_enough_trials():
    few = trials(*[outcome()] * (P99_TRIALS - 1))
    enough = trials(*[outcome()] * P99_TRIALS)
    assert value(METRICS["p99"], few) is None
    assert value(METRICS["p99"], enough) == 990_000.0


def test_unknown_price_makes_cost_unknown():
    made = [result(task="t1"), result(task="t2", cost_microusd=None)]
    assert value(METRICS["cps"], made) is None
    assert value(METRICS["sr"], made) == 1.0


def test_a_void_has_no_metrics():
    with pytest.raises(ValueError, match="void"):
        value(METRICS["sr"], [result(void=VoidCause.SANDBOX)])


def test_each_name_is_told_in_words():
    for name, metric in METRICS.items():
        assert metric.name == name
        assert len(metric.title) > len(metric.short)


counts = st.integers(0, 3)
outcomes = st.builds(
    lambda end, goal, dup, unwanted, amb: outcome(
        success=end is End.ACCEPTED,
        goal_met=goal,
        end=end,
        duplicates=dup,
        unwanted=unwanted,
        ambiguous_writes=amb,
    ),
    st.sampled_from(End),
    st.booleans(),
    counts,
    counts,
    counts,
)


@settings(max_examples=30)
@given(st.lists(st.tuples(outcomes, st.integers(0, 10**9), st.integers(0, 10**6)), max_size=12))
def test_numpy_gives_the_same_digits(rows):
    made = [
        result(task=f"t{i}", of=of, latency_us=latency, cost_microusd=cost)
        for i, (of, latency, cost) in enumerate(rows)
    ]
    index = {("s", f"t{i}"): i for i in range(len(rows))}
    for metric in METRICS.values():
        if metric.percent != 99:
            one = sample(metric, made, index)
            assert one is not None
            assert point(one) == value(metric, made)
