"""Tests of claims: they agree with the intervals shown, and poor data gives no false sureness."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from hfr_bench.model.terms import End
from hfr_bench.stats.bootstrap import draw, units
from hfr_bench.stats.confirm import Claim, examine, left_out
from hfr_bench.stats.estimate import PAIRED, Setting, contrast, estimate
from hfr_bench.stats.metrics import METRICS
from hfr_bench.testing.results import outcome, result

GOOD, BAD = outcome(), outcome(success=False)
DUP = outcome(duplicates=1, ambiguous_writes=1)
UP = outcome(success=False, end=End.ESCALATED)


def made(arm, outcomes, seeds=1, **fields):
    return [
        result(arm, f"t{n // seeds:03d}", seed=n % seeds, of=of, latency_us=1000 + n, **fields)
        for n, of in enumerate(outcomes)
    ]


def setting(*arms, level=0.95):
    drawn = units([trial for arm in arms for trial in arm])
    return Setting(0.1, level, {u: n for n, u in enumerate(drawn)}, draw(drawn, 400, "seed"))


def judge(a, b, metric="sr", direction="greater", margin=0.0):
    return examine(Claim(metric, "a", "b", direction, margin), a, b, setting(a, b), "k")


def test_more_or_less_is_a_sign_test_where_a_task_has_one_trial():
    a, b = made("a", [GOOD] * 50), made("b", [BAD] * 9 + [GOOD] * 41)
    found = judge(a, b)
    assert (found.p, found.test) == (pytest.approx(binomtest(9, 9).pvalue), "sign-flip")
    assert (found.better, found.worse) == (9, 0)
    assert judge(a, b, direction="less").p == 1.0
    assert judge(b, a, direction="less").p == found.p


def test_rare_duplicates_have_a_test_even_without_an_interval():
    a, b = made("a", [GOOD] * 60), made("b", [DUP] * 7 + [GOOD] * 53)
    shown = contrast(METRICS["dup_1000"], ("a", a), ("b", b), setting(a, b))
    assert shown.low is None
    found = judge(a, b, "dup_1000", "less")
    assert found.p == pytest.approx(2 * 2**-7)
    assert (found.better, found.worse) == (0, 7)


def test_money_is_flipped_at_random():
    a = [one.model_copy(update={"cost_microusd": 900 + n * n}) for n, one in
         enumerate(made("a", [GOOD] * 40))]  # fmt: skip
    b = made("b", [GOOD] * 40, cost_microusd=1601)
    found = judge(a, b, "cost_mean", "less")
    assert 0 < found.p < 1
    assert found.better + found.worse == 40


@pytest.mark.parametrize("metric", ["sr", "cps", "ra", "p95", "cost_mean"])
@pytest.mark.parametrize("direction", ["greater", "less", "equal"])
def test_with_a_margin_the_test_agrees_with_the_interval(metric, direction):
    rng = np.random.default_rng(7)
    a = made("a", [GOOD if rng.random() < 0.8 else BAD for _ in range(660)], seeds=3)
    b = made("b", [GOOD if rng.random() < 0.7 else BAD for _ in range(660)], seeds=3)
    a = [t.model_copy(update={"attempts": 2 + n % 4, "cost_microusd": 900 + n, "latency_us": n * n})
         for n, t in enumerate(a)]  # fmt: skip
    where = setting(a, b)
    shown = contrast(METRICS[metric], ("a", a), ("b", b), where)
    width = shown.high - shown.low
    for shift in (-1.5, -0.4, 0.4, 1.5):
        margin = abs(shift) * width if direction == "equal" else shown.difference + shift * width
        if direction == "less":
            margin = -margin
        found = judge(a, b, metric, direction, margin)
        beyond = {
            "greater": shown.low > margin,
            "less": -shown.high > margin,
            "equal": -margin < shown.low and shown.high < margin,
        }[direction]
        assert found.test == "bootstrap"
        if found.p < 0.04 or found.p > 0.06:
            assert (found.p <= 0.05) == beyond


@pytest.mark.parametrize("metric", ["cost_mean", "cps", "p95"])
def test_nine_tasks_beyond_a_margin_support_nothing(metric):
    """All of them a hundred times as dear: no resample could be otherwise, and no p be honest."""
    a, b = made("a", [GOOD] * 9, cost_microusd=10**6), made("b", [GOOD] * 9)
    found = judge(a, b, metric, "greater", 10.0)
    assert (found.p, found.test) == (None, "none")


def test_a_share_that_every_task_has_alike_is_tested_by_its_exact_interval():
    a, b = made("a", [GOOD] * 30), made("b", [BAD] * 30)
    found = judge(a, b, "sr", "greater", 0.8)
    shown = contrast(METRICS["sr"], ("a", a), ("b", b), setting(a, b))
    assert (found.test, shown.method) == ("exact", "exact")
    assert (found.p <= 0.05) == (shown.low > 0.8)


def test_few_discordant_pairs_are_tested_by_their_exact_interval():
    a, b = made("a", [GOOD] * 100), made("b", [BAD] * 2 + [GOOD] * 98)
    where = setting(a, b)
    shown = contrast(METRICS["sr"], ("a", a), ("b", b), where)
    assert shown.method == "exact"
    for margin in (-0.3, shown.low * 1.01, shown.low * 0.99, 0.1):
        found = judge(a, b, margin=margin)
        assert found.test == "exact"
        assert (found.p <= 0.05) == (shown.low > margin)


cases = st.lists(st.sampled_from([GOOD, BAD, DUP, UP]), max_size=12)


@settings(max_examples=30)
@given(cases, cases, st.integers(1, 3), st.sampled_from(["greater", "less", "equal"]), st.data())
def test_poor_data_gives_honest_rows(ours, theirs, seeds, direction, data):
    """All zero, all one, one task, an empty arm, one seed, infinite CPS: no NaN, no [x, x]."""
    n = min(len(ours), len(theirs)) // seeds * seeds
    price = data.draw(st.sampled_from([None, 0, 1000]))
    a = made("a", ours[:n], seeds, cost_microusd=price)
    b = made("b", theirs[:n], seeds)
    where = setting(a, b)
    pairs = Setting(where.rate, where.level, where.index, where.counts, (("a", "b"),))
    rows, contrasts = estimate({"a": a, "b": b}, pairs)
    for row in [*rows, *contrasts]:
        value = row.value if hasattr(row, "value") else row.difference
        for number in (row.low, row.high, value):
            assert number is None or math.isfinite(number)
        assert (row.low is None) == (row.high is None)
        if row.method == "none":
            assert row.note
        counts = METRICS[row.metric].counts
        if row.low is not None and counts:
            assert row.low < row.high
    margin = data.draw(st.sampled_from([0.0, 0.1, -0.1]))
    for metric in PAIRED:
        found = examine(Claim(metric, "a", "b", direction, margin), a, b, where, "k")
        assert found.p is None or 0 < found.p <= 1
        assert (found.p is None) == (found.test == "none")


def test_parts_are_left_out_one_by_one():
    a = made("a", [GOOD] * 30, seeds=3)
    b = made("b", [BAD, GOOD, GOOD] * 10, seeds=3)
    claim = Claim("sr", "a", "b", "greater")
    found = left_out(claim, [*a, *b], lambda trial: (f"seed {trial.seed}",), setting(a, b))
    assert [one.part for one in found] == ["seed 0", "seed 1", "seed 2"]
    assert [one.left.pairs for one in found] == [20, 20, 20]
    assert [one.left.difference for one in found] == [0.0, 0.5, 0.5]
    assert left_out(claim, [*a, *b], lambda trial: (trial.suite,), setting(a, b)) == []
    assert left_out(claim, [], lambda trial: (trial.suite,), setting(a, b)) == []
    some = left_out(claim, [*a, *b], lambda t: ("x",) if t.task_id == "t001" else (), setting(a, b))
    assert [(one.part, one.left.tasks) for one in some] == [("x", 9)]
