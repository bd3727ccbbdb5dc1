"""Estimates and contrasts: which interval they get, and that poor data gives honest rows."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.terms import End
from hfr_bench.stats.bootstrap import draw, units
from hfr_bench.stats.bounds import ALIKE, FAR_OUT, FEW_UNITS, FEW_UNLIKE
from hfr_bench.stats.estimate import SAME, TOO_FEW, Setting, estimate
from hfr_bench.testing.results import outcome, result


def made(arm, outcomes, **fields):
    return [
        result(arm, f"t{i:03d}", of=of, latency_us=1000 + i, **fields)
        for i, of in enumerate(outcomes)
    ]


def run(arms, pairs=(("a", "b"),)):
    drawn = units([trial for trials in arms.values() for trial in trials])
    index = {unit: i for i, unit in enumerate(drawn)}
    counts = draw(drawn, 400, "seed")
    estimates, contrasts = estimate(arms, Setting(0.1, 0.95, index, counts, pairs))
    for row in [*estimates, *contrasts]:
        for number in (row.low, row.high, getattr(row, "value", None)):
            assert number is None or math.isfinite(number)
    return (
        {(e.arm, e.metric): e for e in estimates},
        {c.metric: c for c in contrasts},
    )


GOOD, BAD = outcome(), outcome(success=False)
DUP = outcome(duplicates=1, ambiguous_writes=1)


def test_many_events_are_bootstrapped_and_few_are_exact():
    arms = {"a": made("a", [GOOD, BAD] * 30), "b": made("b", [GOOD] * 57 + [DUP] * 3)}
    found, _ = run(arms)
    sr = found["a", "sr"]
    assert (sr.method, sr.value, sr.events, sr.n) == ("bootstrap", 0.5, 30, 60)
    assert 0.3 < sr.low < 0.5 < sr.high < 0.7
    dup = found["b", "dup_1000"]
    assert (dup.method, dup.value, dup.events) == ("exact", 50.0, 3)
    assert 9 < dup.low < 50 < dup.high < 150


def test_zero_and_all_are_one_sided_never_certain():
    found, _ = run({"a": made("a", [GOOD] * 63), "b": made("b", [BAD] * 63)})
    none = found["a", "dup_1000"]
    assert (none.value, none.low, none.note) == (0.0, 0.0, "one-sided")
    assert none.high == pytest.approx(46.4, abs=0.05)
    assert found["a", "sr"].low == pytest.approx(1 - 0.0464, abs=1e-4)
    assert found["b", "sr"].high == pytest.approx(0.0464, abs=1e-4)


def test_undefined_metrics_say_why():
    found, contrasts = run({"a": made("a", [BAD] * 20), "b": made("b", [GOOD] * 20)})
    cps = found["a", "cps"]
    assert (cps.value, cps.method, cps.note) == (None, "none", "no successes")
    assert found["a", "far"].note == "no accepted trials"
    assert found["a", "p99"].note == "needs 1000 trials"
    assert contrasts["cps"].difference is None
    assert contrasts["sr"].difference == -1.0
    assert (contrasts["sr"].better, contrasts["sr"].worse) == (0, 20)


def test_success_in_a_few_tasks_refuses_an_interval_of_cost_per_success():
    found, _ = run({"a": made("a", [GOOD] * 2 + [BAD] * 30), "b": made("b", [GOOD] * 32)})
    cps = found["a", "cps"]
    assert (cps.value, cps.low, cps.method) == (16_000.0, None, "none")
    assert cps.note == f"successes in {FEW_UNITS}"


def spread(arm, tasks):
    """Trials whose latencies and prices all differ."""
    trials = [result(arm, f"t{n:03d}") for n in range(tasks)]
    return [t.model_copy(update={"latency_us": 7919 * n % 10007, "cost_microusd": n})
            for n, t in enumerate(trials)]  # fmt: skip


@pytest.mark.parametrize(("tasks", "told"), [(9, False), (10, True)])
def test_nine_tasks_are_too_few_to_draw_from(tasks, told):
    found, contrasts = run({"a": spread("a", tasks), "b": spread("b", tasks)[::-1]})
    for name in ("cost_mean", "latency_mean"):
        assert (found["a", name].low is not None, found["a", name].note) == (
            told, "" if told else FEW_UNITS,
        )  # fmt: skip
    assert contrasts["cost_mean"].difference == 0.0


@pytest.mark.parametrize(("tasks", "told"), [(199, False), (200, True)])
def test_a_high_quantile_needs_ten_trials_beyond_it(tasks, told):
    found, contrasts = run({"a": spread("a", tasks), "b": spread("b", tasks)})
    assert (found["a", "p95"].low is not None) == told
    assert (found["a", "p95"].note == FAR_OUT) != told
    assert found["a", "p50"].low is not None
    assert contrasts["p95"].note in (SAME, "")
    one, other = spread("a", tasks), spread("b", tasks)
    shifted = [t.model_copy(update={"latency_us": t.latency_us + n % 5}) for n, t in enumerate(one)]
    _, contrasts = run({"a": shifted, "b": other})
    assert (contrasts["p95"].low is not None) == told


def test_trials_of_one_task_count_for_less_in_a_quantile():
    """Twelve alike trials of each of 20 tasks are 240 trials, and say no more than 20 do."""
    alike = [result("a", f"t{task:03d}", seed, latency_us=1000 + task)
             for task in range(20) for seed in range(12)]  # fmt: skip
    found, _ = run({"a": alike, "b": alike})
    assert found["a", "p95"].note == FAR_OUT
    assert found["a", "p50"].low is not None


def test_an_unknown_price_is_said_not_guessed():
    arms = {"a": made("a", [GOOD] * 3, cost_microusd=None), "b": made("b", [GOOD] * 3)}
    found, contrasts = run(arms)
    assert found["a", "cost_mean"].note == "a price is unknown"
    assert contrasts["cost_mean"].note == "a price is unknown"
    assert found["b", "cost_mean"].value == 1000.0


@pytest.mark.parametrize("n", [0, 1])
def test_no_task_and_one_task(n):
    found, contrasts = run({"a": made("a", [DUP] * n), "b": made("b", [GOOD] * n)})
    assert found["a", "cost_mean"].low is None
    assert found["a", "sr"].low != found["a", "sr"].high or n == 0
    assert contrasts["sr"].tasks == n


def test_the_same_arm_twice_differs_by_nothing():
    outcomes = [GOOD, BAD, DUP, outcome(success=False, end=End.ESCALATED)] * 10
    _, contrasts = run({"a": made("a", outcomes), "b": made("b", outcomes)})
    for row in contrasts.values():
        assert row.difference == 0.0
        if row.method == "exact":
            assert row.low < 0 < row.high
        else:
            assert (row.low, row.note) == (None, SAME)


def test_paired_differences():
    worse = [BAD] * 20 + [GOOD] * 40
    arms = {
        "a": made("a", [GOOD] * 60, cost_microusd=1500),
        "b": made("b", worse, cost_microusd=1000),
    }
    _, contrasts = run(arms)
    sr = contrasts["sr"]
    assert (sr.difference, sr.better, sr.worse, sr.method) == (1 - 40 / 60, 20, 0, "bootstrap")
    assert sr.low > 0
    cost = contrasts["cost_mean"]
    assert (cost.difference, cost.relative, cost.low, cost.note) == (500.0, 0.5, None, ALIKE)


def test_few_differing_tasks_give_a_rate_no_interval():
    _, contrasts = run({"a": made("a", [DUP] * 4 + [GOOD] * 56), "b": made("b", [GOOD] * 60)})
    row = contrasts["dup_1000"]
    assert (row.method, row.low, row.note) == ("none", None, TOO_FEW)
    assert contrasts["dup_any"].method == "exact"


@pytest.mark.parametrize(("dearer", "told"), [(1, False), (9, False), (10, True)])
def test_an_amount_that_few_tasks_make_has_no_interval(dearer, told):
    a = made("a", [GOOD] * 40)
    a = [t.model_copy(update={"cost_microusd": 2000 + n}) if n < dearer else t
         for n, t in enumerate(a)]  # fmt: skip
    found, contrasts = run({"a": a, "b": made("b", [GOOD] * 40)})
    assert (contrasts["cost_mean"].low is not None) == told
    assert contrasts["cost_mean"].note == ("" if told else TOO_FEW)
    assert (found["a", "cost_mean"].low is not None) == told
    assert found["a", "cost_mean"].note == ("" if told else FEW_UNLIKE)


def test_unpaired_arms_are_refused():
    arms = {"a": made("a", [GOOD] * 3), "b": made("b", [GOOD] * 2)}
    with pytest.raises(ValueError, match="not paired"):
        run(arms)


@settings(max_examples=30)
@given(st.lists(st.sampled_from([GOOD, BAD, DUP]), min_size=1, max_size=30), st.randoms())
def test_value_lies_within_its_interval_whatever_the_order(outcomes, chance):
    trials = made("a", outcomes)
    found, _ = run({"a": trials, "b": made("b", outcomes)})
    shuffled = list(trials)
    chance.shuffle(shuffled)
    again, _ = run({"a": shuffled, "b": made("b", outcomes)})
    assert found == again
    for row in found.values():
        if row.low is not None and row.method == "exact":
            assert row.low <= row.value <= row.high
