"""Any table, however poor, gives honest rows: a finite interval or a reason; never NaN, or [0, 0].

All zero, all one, one task, an arm without a trial of a kind, one seed, no success at all, unknown
prices: made by Hypothesis, through every estimate, contrast, utility and curve of a report.
"""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.lab.further import further
from hfr_bench.model.measures import CheckSums, Measures
from hfr_bench.model.terms import CheckLevel, End
from hfr_bench.stats.bootstrap import draw, units
from hfr_bench.stats.columns import Columns
from hfr_bench.stats.estimate import Setting, estimate
from hfr_bench.stats.further import FURTHER
from hfr_bench.stats.metrics import METRICS, Kind
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import outcome, result

ARMS = ("a", "b", "oracle_recovery")
PREREG = planned(ARMS).prereg
ENDS = (
    outcome(),
    outcome(success=False),
    outcome(duplicates=3, ambiguous_writes=1, lost_effects=1),
    outcome(success=False, end=End.ESCALATED, packet_true=True),
    outcome(degraded_steps=1, official=0.5),
    outcome(goal_met=False),
    outcome(in_time=False, partial=1),
)
CELL = st.tuples(
    st.sampled_from(ENDS),
    st.sampled_from([0, 900, 10**12]),
    st.booleans(),
    st.sampled_from([None, 0, 5_000_000]),
)


TABLES = st.tuples(
    st.integers(0, 14), st.integers(1, 2), st.booleans(), st.lists(CELL, min_size=1, max_size=5)
)
"""Tasks, seeds, whether prices are known, and what happens in turn."""


def table(tasks, seeds, known, cells):
    """Trials at rates 0 and 0.1: tasks and seeds alike in all arms, the cells in turn."""
    places = [
        (arm, task, seed, rate)
        for rate in (0.0, 0.1)
        for arm in ARMS
        for task in range(tasks)
        for seed in range(seeds)
    ]
    turn = enumerate(places)
    return [row(*place, cells[n * n % len(cells)], known) for n, place in turn]


def row(arm, task, seed, rate, cell, known):
    end, cost, met, safe_us = cell
    checks = (CheckSums(CheckLevel.SEMANTIC, 1, int(met), 2, 1),) if met else ()
    trial = result(arm, f"t{task:02}", seed, rate, of=end, cost_microusd=cost if known else None,
                   latency_us=cost, attempts=2 + int(met))  # fmt: skip
    facts = SimpleNamespace(measures=Measures(met, met, safe_us if met else None, 0, checks))
    return SimpleNamespace(row=SimpleNamespace(control=None), facts=facts, result=trial)


def setting(rows):
    drawn = units(one.result for one in rows)
    index = {unit: n for n, unit in enumerate(drawn)}
    pairs = (("b", "a"), ("a", "oracle_recovery"), ("b", "oracle_recovery"))
    return Setting(0.1, 0.95, index, draw(drawn, 200, "seed"), pairs)


def check(one, metric, value):
    for name in ("low", "high", "relative", "relative_low", "relative_high"):
        bound = getattr(one, name, None)
        assert bound is None or math.isfinite(bound), (one, name)
    assert value is None or math.isfinite(value), one
    assert (one.low is None) == (one.high is None), one
    if one.low is None:
        assert one.method == "none", one
        assert one.note, one
    else:
        assert one.low <= one.high, one
        if metric.kind in (Kind.PROPORTION, Kind.RATE):
            assert one.low < one.high, one


@settings(max_examples=20, deadline=None)
@given(TABLES)
def test_any_table_gives_honest_rows(made_of):
    rows = table(*made_of)
    shared = setting(rows)
    arms = {arm: [o.result for o in rows if o.result.arm == arm and o.result.rate] for arm in ARMS}
    estimates, contrasts = estimate(arms, shared)
    made = further(PREREG, shared, rows, Columns([one.result for one in rows]))
    for one in (*estimates, *made["further"]):
        check(one, (METRICS | FURTHER)[one.metric], one.value)
    for one in (*contrasts, *made["further_contrasts"]):
        check(one, (METRICS | FURTHER)[one.metric], one.difference)
    for one in (*made.get("utility", ()), *made.get("coverage", ())):
        numbers = [value for value in one.model_dump().values() if isinstance(value, float)]
        assert all(map(math.isfinite, numbers)), one


@pytest.mark.parametrize("end", ENDS, ids=range(len(ENDS)))
def test_every_trial_alike_is_no_certainty(end):
    """Forty equal trials: shares and counts keep an interval that is not a point."""
    rows = [row(arm, task, 1, 0.1, (end, 900, True, 0), known=True)
            for arm in ARMS for task in range(40)]  # fmt: skip
    estimates, contrasts = estimate(
        {arm: [o.result for o in rows if o.result.arm == arm] for arm in ARMS}, setting(rows)
    )
    for one in estimates:
        check(one, METRICS[one.metric], one.value)
    for one in contrasts:
        check(one, METRICS[one.metric], one.difference)
