"""Any table, however poor, gives honest rows: a finite interval or a reason; never NaN, or [0, 0].

All zero, all one, one task, an arm without a trial of a kind, one seed, no success at all, unknown
prices: made by Hypothesis, through every estimate, contrast, utility and curve of a report.
"""

import io
import math
import re
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from hfr_bench.cli.report_text import print_report
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.further import further
from hfr_bench.lab.rendering.html import to_html
from hfr_bench.lab.rendering.latex import to_latex
from hfr_bench.lab.rendering.render import to_csv, to_json, to_markdown
from hfr_bench.lab.store import Store
from hfr_bench.model.measures import CheckSums, Measures
from hfr_bench.model.terms import CheckLevel, End
from hfr_bench.stats.bootstrap import draw, units
from hfr_bench.stats.columns import Columns
from hfr_bench.stats.estimate import Setting, estimate
from hfr_bench.testing.experiments import BOOK, MODEL, planned, write_all
from hfr_bench.testing.results import KINDS, fault, outcome, result

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
    st.integers(0, 14),
    st.integers(1, 2),
    st.booleans(),
    st.lists(CELL, min_size=1, max_size=5),
    st.integers(1, 14),
)
"""Tasks, seeds, whether prices are known, what happens in turn, and among how many suites."""


def table(tasks, seeds, known, cells, suites=1):
    """Trials at rates 0 and 0.1: tasks and seeds alike in all arms, the cells in turn."""
    places = [
        (arm, task, seed, rate)
        for rate in (0.0, 0.1)
        for arm in ARMS
        for task in range(tasks)
        for seed in range(seeds)
    ]
    turn = enumerate(places)
    return [row(*place, cells[n * n % len(cells)], known, suites) for n, place in turn]


def row(arm, task, seed, rate, cell, known, suites=1):
    end, cost, met, safe_us = cell
    checks = (CheckSums(CheckLevel.SEMANTIC, 1, int(met), 2, 1),) if met else ()
    trial = result(arm, f"t{task:02}", seed, rate, of=end, cost_microusd=cost if known else None,
                   latency_us=cost, attempts=2 + int(met),
                   suite=f"s{task % suites}")  # fmt: skip
    facts = SimpleNamespace(measures=Measures(met, met, safe_us if met else None, 0, checks))
    return SimpleNamespace(row=SimpleNamespace(control=None), facts=facts, result=trial)


def setting(rows):
    drawn = units(one.result for one in rows)
    index = {unit: n for n, unit in enumerate(drawn)}
    pairs = (("b", "a"), ("a", "oracle_recovery"), ("b", "oracle_recovery"))
    return Setting(0.1, 0.95, index, draw(drawn, 200, "seed"), pairs)


def check(one, value):
    for name in ("low", "high", "relative", "relative_low", "relative_high"):
        bound = getattr(one, name, None)
        assert bound is None or math.isfinite(bound), (one, name)
    assert value is None or math.isfinite(value), one
    assert (one.low is None) == (one.high is None), one
    if one.low is None:
        assert one.method == "none", one
        assert one.note, one
    else:
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
        check(one, one.value)
    for one in (*contrasts, *made["further_contrasts"]):
        check(one, one.difference)
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
        check(one, one.value)
    for one in contrasts:
        check(one, one.difference)


def to_text(report):
    out = io.StringIO()
    for full in (False, True):
        print_report(report, Console(file=out, width=132), full=full)
    return out.getvalue()


WRITERS = (to_text, to_markdown, to_html, to_csv, to_json, to_latex)
FALSE = re.compile(
    r"\b(nan|-?inf(inity)?)\b|\[-?0(\.0+)?, 0(\.0+)?\]|(?<=,)0\.0,0\.0,bootstrap", re.IGNORECASE
)
CLAIMS = [
    {"id": f"H{n}", "metric": metric, "arm": "hfr", "against": "no_retry", "direction": "less"}
    for n, metric in enumerate(("dup_any", "dup_1000", "cost_mean", "p95", "ra"))
]


@pytest.mark.parametrize(("tasks", "point"), [(1, BOOK), (12, MODEL)])
def test_no_format_of_a_poor_experiment_claims_what_it_cannot_know(tasks, point, tmp_path):
    """Every task alike, under a fault that never goes away: no success at all, or all of it."""
    forever = [fault("busy" if point == MODEL else "lost", point, attempts=8,
                     lands=None if point == MODEL else True)]  # fmt: skip
    plan = planned(("no_retry", "hfr", "always_escalate"), tasks=tasks, hypotheses=CLAIMS,
                   faults=lambda trial: forever if trial.rate else ())  # fmt: skip
    write_all(tmp_path, plan)
    store = Store(tmp_path)
    report = analyse(plan.prereg, plan.lock, plan.rows, store, plan.schedule, KINDS)
    assert {row.id: row.verdict for row in report.hypotheses if row.verdict == "supported"} == {}
    for write in WRITERS:
        found = FALSE.search(text := write(report))
        assert found is None, text[max(0, found.start() - 200) : found.end() + 20]
