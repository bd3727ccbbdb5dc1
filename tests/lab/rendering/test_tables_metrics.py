"""The further tables: what they show, and that they say why where they show nothing."""

import csv
import io

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering import render
from hfr_bench.lab.rendering.tables_metrics import checks, further
from hfr_bench.lab.store import Store
from hfr_bench.model.report import POOLED, Estimate
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS

ARMS = ("no_retry", "blind_resend", "always_escalate", "oracle_recovery")


def made(folder, rates=(0.0, 0.5), arms=ARMS):
    plan = planned(arms, tasks=24, rates=rates, faults=some_faults)
    write_all(folder, plan)
    return analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return made(tmp_path_factory.mktemp("made"))


def row_of(tables, title, arm):
    (table,) = [one for one in tables if one.title.startswith(title)]
    (row,) = [row for row in table.rows if row[0].main == arm]
    return dict(zip(table.header, row, strict=True))


def test_an_arm_that_calls_a_person_at_once_calls_needlessly(report):
    row = row_of(further(report), "Escalations", "always_escalate")
    called = [e for e in report.estimates if (e.metric, e.arm, e.pool) == (
        "esc", "always_escalate", POOLED)]  # fmt: skip
    assert row["Needless %"].main == f"{called[0].events}/24"
    assert row["Needed %"].main == "0/24"
    assert float(row["To safety s"].main) == pytest.approx(10.0, abs=10)


def test_regret_and_break_even_are_told_against_their_arms(report):
    tables = tuple(further(report))
    assert row_of(tables, "Regret", "oracle_recovery")["0 / 0"].main == "-"
    assert float(row_of(tables, "Regret", "no_retry")["0 / 0"].main) > 0
    assert float(row_of(tables, "Break-even", "blind_resend")["harm, person at 0"].main) > 0


def test_without_the_truth_there_is_no_regret_and_without_faults_no_table(tmp_path):
    plain = made(tmp_path / "a", arms=("no_retry", "hfr"))
    assert not any(table.title.startswith("Regret") for table in further(plain))
    calm = made(tmp_path / "b", rates=(0.0,), arms=("no_retry", "hfr"))
    assert tuple(further(calm)) == ()
    assert {one.rate for one in calm.further} == {0.0}
    assert (calm.utility, calm.coverage) == ((), ())


def test_checks_are_shown_only_where_there_were_any(report):
    assert tuple(checks(report)) == ()
    seen = Estimate(metric="alpha_v2", arm="no_retry", rate=None, pool=POOLED, value=0.25, low=0.1,
                    high=0.5, n=8, events=2, method="exact")  # fmt: skip
    others = tuple(e for e in report.further if (e.metric, e.arm) != ("alpha_v2", "no_retry"))
    (table,) = checks(report.model_copy(update={"further": (seen, *others)}))
    assert table.header[:3] == ("Arm", "alpha V2 %", "beta V2 %")
    assert table.rows[0][1] == ("2/8", "25.0* [10.0, 50.0]")


def test_csv_has_all_of_it(report):
    rows = list(csv.DictReader(io.StringIO(render.to_csv(report))))
    assert {"utility", "risk"} <= {row["row"] for row in rows}
    (one,) = [r for r in rows if (r["metric"], r["arm"], r["pool"]) == (
        "calls_mean", "no_retry", POOLED) and r["row"] == "estimate"]  # fmt: skip
    assert float(one["value"]) >= 1
