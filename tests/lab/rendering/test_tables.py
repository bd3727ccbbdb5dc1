"""Cells and tables: honest counts, yardsticks last, one fault a trial is not called 100 %."""

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering import tables, tables_evidence
from hfr_bench.lab.rendering.cells import (
    brief,
    brief_difference,
    cell,
    counted,
    difference,
    named,
    number,
    ordered,
    rounded,
    short,
)
from hfr_bench.lab.store import Store
from hfr_bench.model.report import EXPLICIT, POOLED, SILENT, DivergenceRow, Estimate, PairedEstimate
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    arms = ("no_retry", "always_escalate", "hfr", "blind_resend")
    plan = planned(arms, tasks=30, rates=(0.0, 0.2, 0.4), faults=some_faults)
    write_all(folder, plan)
    return analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)


def row(metric, value, **fields):
    return Estimate(metric=metric, arm="a", rate=0.1, value=value, **fields)


def test_zero_is_never_printed_alone():
    none = row("dup_1000", 0.0, low=0.0, high=46.44, n=63, events=0, method="exact")
    assert counted(none) == ("0/63", "≤ 46.4")
    assert cell(none) == ("0/63", "≤ 46.4")
    never = row("far", 0.0, low=0.0, high=0.0464, n=63, events=0, method="exact")
    assert counted(never) == ("0/63", "≤ 4.6")


def test_first_page_cells():
    few = row("harm_1000", 47.6, low=9.9, high=132.9, n=63, events=3, method="exact")
    assert brief(few) == ("3/63", "[9.9, 133]*")
    none = row("harm_1000", 0.0, low=0.0, high=46.44, n=63, events=0, method="exact")
    assert brief(none) == ("0/63", "≤ 46")
    assert brief(few, bounds=False) == ("3/63", "")
    assert brief(row("sr", 0.9961, low=0.98, high=1.0)) == (">99", "[98, 100]")
    assert brief(row("sr", 0.004)) == ("<1", "")
    assert brief(row("cps", None, method="none", note="no successes")) == ("-", "")
    assert brief(None) == brief_difference(None) == ("-", "")
    assert [rounded(v, "us") for v in (0, 5_600_000, 12_300_000)] == ["0", "5.6", "12"]


def test_cells():
    some = row("dup_1000", 47.6, low=9.9, high=132.9, n=63, events=3, method="exact")
    assert counted(some) == ("3/63", "47.6* [9.9, 132.9]")
    assert cell(row("sr", 0.5, low=0.4, high=1.0)) == ("50.0", "40.0, 100")
    assert cell(row("cps", None, method="none", note="no successes")) == ("-", "no successes")
    assert cell(None) == counted(None) == difference(None) == ("-", "")
    assert number(12_345, "microusd") == "0.0123"
    assert number(1_500_000, "us") == "1.5"


def test_differences():
    paired = PairedEstimate(
        metric="sr", arm="a", against="b", rate=0.1, pairs=10, tasks=10,
        difference=0.1, low=0.05, high=0.2, better=2, worse=1,
    )  # fmt: skip
    assert difference(paired) == ("+10.0 (2:1)", "5.0, 20.0")
    assert brief_difference(paired) == ("+10.0", "[5.0, 20.0]")
    exact = paired.model_copy(update={"method": "exact"})
    assert brief_difference(exact) == ("+10.0", "[5.0, 20.0]*")
    cost = paired.model_copy(
        update={"metric": "cost_mean", "difference": -500.0, "relative": -0.5, "better": None,
                "low": None, "note": "one task: no interval"}
    )  # fmt: skip
    assert difference(cost) == ("-0.0005 (-50%)", "one task: no interval")
    assert brief_difference(cost, cost.note) == ("-0.0005", "one task: no interval")


def test_yardsticks_come_last_in_every_table_of_arms(report):
    assert ordered(report) == ("no_retry", "hfr", "always_escalate", "blind_resend")
    listed = (tables.ability(report), tables.recovery(report, POOLED), tables.capability(report))
    for table in (*listed, *tables.safety(report, 0.2), tables.costs(report)):
        assert [row[0].main for row in table.rows] == list(ordered(report))


def test_safety_tells_the_parts_of_harm(report):
    harm, claims = tables.safety(report, POOLED)
    assert harm.header[1:4] == ("Harm/1000", "Dup/1000", "Dup/1000 ambiguous")
    assert harm.header[-1] == "Partial"
    resent = harm.rows[-1]
    assert resent[0].main == "blind_resend"
    assert resent[1].main == resent[2].main != "0/60"
    assert resent[-1].main == "0/60"
    assert claims.header == ("Arm", "FAR %", "SCR-strict %", "ESC %", "DEG %")


def test_partial_groups_are_the_harm_that_is_nothing_else(report):
    def more(e):
        found = (e.metric, e.arm, e.pool) == ("harm_1000", "hfr", POOLED)
        return e.model_copy(update={"events": 3}) if found else e

    partly = report.model_copy(update={"estimates": tuple(more(e) for e in report.estimates)})
    harm, _ = tables.safety(partly, POOLED)
    assert harm.rows[1][-1].main == "3/60"


def test_cost_of_recovery_is_held_against_no_faults(report):
    table = tables.costs(report)
    shown = {row[0].main: row[1].main for row in table.rows}
    assert "(-" in shown["no_retry"]  # it ends early
    assert "(+" in shown["blind_resend"]
    calm = report.model_copy(update={"rates": (0.0,)})
    assert tables.costs(calm) is None
    assert tables.safety(calm.model_copy(update={"estimates": ()}), POOLED) == ()


def test_one_rate_alone_is_shown_once(report):
    one = report.model_copy(update={"rates": (0.0, 0.4)})
    titles = [table.title for table in tables.tables(one)]
    assert len([title for title in titles if "Table B" in title]) == 1
    assert len(titles) == len(set(titles))


def test_exhaustive_faults_are_named_as_such(report):
    single = report.model_copy(update={"rates": (0.0, 1.0), "design": "exhaustive-1"})
    assert named(single, 1.0) == named(single, POOLED) == "one fault a trial"
    assert named(single, 0.0) == "no faults"
    assert (named(report, 0.2), short(report, 0.2)) == ("20 % faults", "20 %")
    assert named(report, POOLED) == "20-40 % faults, pooled"


def test_silent_kinds_stand_apart(report):
    assert tables.apart(report) == ()
    both = [
        e.model_copy(update={"pool": pool})
        for e in report.estimates
        if e.pool == POOLED
        for pool in (EXPLICIT, SILENT)
    ]
    parted = report.model_copy(update={"estimates": (*report.estimates, *both)})
    names = [table.title.split(" | ")[0] for table in tables.apart(parted)]
    assert names == [
        "Table B: recovery, 20-40 % faults, pooled, explicit kinds only",
        "Table B: recovery, 20-40 % faults, pooled, silent kinds only",
    ]
    assert tables.recovery(parted, POOLED) == tables.recovery(report, POOLED)


def test_exposure_is_told_in_total_and_per_trial(report):
    table = tables_evidence.exposure(report)
    assert table.header == ("Arm", "20 % faults", "40 % faults")
    met = {(row["arm"], row["rate"]): row["reached"] for row in report.exposure}
    first = table.rows[0]
    assert first[1].main == str(met["no_retry", 0.2])
    assert first[1].extra == f"{met['no_retry', 0.2] / 30:.2f}"


def test_divergence_is_told_where_it_was_looked_at(report):
    assert tables_evidence.divergence(report.model_copy(update={"divergence": ()})) is None
    row = DivergenceRow(
        arm="hfr", against="no_retry", rate=0.2, groups=30, faulted=9, diverged=6, step=2, after=1
    )
    same = row.model_copy(
        update={"arm": "blind_resend", "diverged": 0, "step": None, "after": None}
    )
    table = tables_evidence.divergence(report.model_copy(update={"divergence": (row, same)}))
    assert [[c.main for c in cells] for cells in table.rows] == [
        ["hfr", "6/30 20%"],
        ["blind_resend", "0/30 0%"],
    ]
    assert [cells[1].extra for cells in table.rows] == ["step 2 (+1)", ""]
    assert "no_retry" in table.legend
