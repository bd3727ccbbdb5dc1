"""Registered claims in a report: tests, Holm behind gates, joint bounds, parts left out."""

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.confirm import places_of
from hfr_bench.lab.rendering import tables_confirm
from hfr_bench.lab.store import Store
from hfr_bench.model.prereg import Hypothesis
from hfr_bench.model.report import POOLED, Report
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS, fault

ARMS = ("no_retry", "blind_resend", "hfr")


def claim(id_, metric, arm, against, direction, **fields):
    return Hypothesis(
        id=id_, metric=metric, arm=arm, against=against, direction=direction, **fields
    )


CLAIMS = (
    claim("dup", "dup_any", "blind_resend", "hfr", "greater"),
    claim("rate", "dup_1000", "hfr", "blind_resend", "less"),
    claim("late", "sr", "no_retry", "hfr", "greater", family=2),
    claim("slow", "latency_mean", "blind_resend", "no_retry", "greater", family=3),
    claim("cost", "cps", "blind_resend", "no_retry", "less", margin=1e9),
)


@pytest.fixture(scope="module")
def plan():
    return planned(
        ARMS, tasks=40, rates=(0.0, 0.3, 0.6), faults=some_faults, hypotheses=CLAIMS, controls=False
    )


@pytest.fixture(scope="module")
def folder(plan, tmp_path_factory):
    made = tmp_path_factory.mktemp("experiment")
    write_all(made, plan)
    return made


def read(plan, folder):
    return analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)


@pytest.fixture(scope="module")
def report(plan, folder):
    return read(plan, folder)


def test_claims_are_tested(report):
    rows = {row.id: row for row in report.hypotheses}
    assert rows["dup"].test == rows["rate"].test == "sign-flip"
    assert rows["dup"].better > 0 == rows["dup"].worse
    assert rows["rate"].worse > 0 == rows["rate"].better
    assert rows["late"].p == 1.0
    assert rows["cost"].test in ("bootstrap", "none")
    for row in report.hypotheses:
        if row.verdict == "supported":
            assert row.p_adjusted <= 0.05
        if row.p is not None:
            assert row.p <= row.p_adjusted <= 1
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_a_later_family_waits(report):
    """H3 is as clear as can be; but the family before it was not supported."""
    rows = {row.id: row for row in report.hypotheses}
    assert rows["slow"].p < 0.05
    assert rows["slow"].p_adjusted == 1.0
    assert rows["slow"].verdict == "not supported"
    assert rows["slow"].why.endswith("not tested: a claim of an earlier family is not supported")


def test_joint_bounds_are_wider(report):
    wider = [row for row in report.hypotheses if row.joint_low is not None]
    assert wider
    for row in wider:
        assert row.joint_high - row.joint_low > row.high - row.low
        assert row.joint_low < row.difference < row.joint_high


def test_seeds_and_points_are_left_out(plan, report):
    of = [row for row in report.left_out if row.id == "dup"]
    points = {row.part: row for row in of if row.kind == "point"}
    assert "tool:book" in points
    full = next(
        p for p in report.contrasts
        if (p.metric, {p.arm, p.against}, p.pool) == ("dup_any", {"blind_resend", "hfr"}, POOLED)
    )  # fmt: skip
    assert all(row.pairs < full.pairs for row in of)
    # Duplicates come of faults at the tool that writes: nothing is left without them.
    assert points["tool:book"].difference == 0.0
    assert points["tool:book"].holds is False


def test_tables(report):
    made = tables_confirm.tests(report)
    assert [row[0].main for row in made.rows] == [row.id for row in report.hypotheses if row.test]
    assert len(tables_confirm.left_out(report).rows) == len(report.left_out) > 0
    bare = report.model_copy(update={"hypotheses": (), "left_out": ()})
    assert (tables_confirm.tests(bare), tables_confirm.left_out(bare)) == (None, None)


def test_nothing_is_tested_before_all_is_in(plan, folder, tmp_path):
    write_all(tmp_path, plan)
    gone = plan.rows[0].trial
    (tmp_path / "trials" / gone.pair_group / "r1" / f"{gone.arm}.jsonl").unlink()
    early = read(plan, tmp_path)
    assert {row.p for row in early.hypotheses} == {None}
    assert {row.verdict for row in early.hypotheses} == {"cannot be told"}
    assert early.left_out == ()
    assert tables_confirm.tests(early) is None


def test_the_default_family_leaves_old_registrations_as_they_were():
    assert "family" not in CLAIMS[0].model_dump_json()
    assert CLAIMS[2].model_dump()["family"] == 2


def test_all_points_of_a_tool_are_one_part():
    """A fault of the strategy's own read about a tool is a fault of that tool."""
    at = {
        "t1": ("tool:pay", "model:agent"),
        "t2": ("reconcile:pay",),
        "t3": ("web:s", "verify:x"),
    }

    def faults(trial):
        points = at[trial.task_id] if trial.rate else ()
        return [fault("busy" if ":agent" in point else "lost", point) for point in points]

    plan = planned(("no_retry", "hfr"), tasks=3, faults=faults)
    places = places_of(plan.rows, plan.schedule)
    found = {row.trial.task_id: places(row.trial) for row in plan.rows if row.trial.rate}
    assert found == {
        "t1": {"tool:pay", "model:agent"}, "t2": {"tool:pay"}, "t3": {"web:s", "tool:x"},
    }  # fmt: skip
