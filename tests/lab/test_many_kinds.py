"""Tables of kinds and arms at the size of everything: sixty kinds, ten arms with long names."""

import io

import pytest
from rich.console import Console

from hfr_bench.cli.report_text import print_report
from hfr_bench.lab.rendering.html import to_html
from hfr_bench.lab.rendering.tables_evidence import (
    delivery,
    delivery_by_arm,
    observations,
    organic,
    voids,
)
from hfr_bench.lab.rendering.tables_mixes import effects
from hfr_bench.model.mixed import KindEffect
from hfr_bench.model.report import AuditRow, ObservationRow, OrganicRow, Report, VoidRow
from hfr_bench.model.terms import Origin

ARMS = (
    "no_retry", "fixed_retry", "exp_retry", "degrade_only", "hfr", "hfr-idempotency",
    "exp_retry+verify", "always_escalate", "blind_resend", "oracle_recovery",
)  # fmt: skip
KINDS = [f"model_malformed_kind_{n:02}" for n in range(60)]
POINTS = ("does_not_take_the_failure_for_done", "escalates_with_the_unknown_listed")


@pytest.fixture(scope="module")
def report():
    audit, seen, changed = [], [], []
    for n, kind in enumerate(KINDS):
        for m, arm in enumerate(ARMS):
            audit.append(AuditRow(kind=kind, layer="model", arm=arm, scheduled=1000 + n,
                                  reached=200 + m, delivered=200 + m))  # fmt: skip
            changed.append(KindEffect(kind=kind, layer="model", arm=arm, metric="sr", faults=999,
                                      tasks=200, base=1.0, difference=-n / 100, low=-0.999,
                                      high=-0.001))  # fmt: skip
            seen += [
                ObservationRow(kind=kind, layer="model", point=point, arm=arm, held=m, n=200 + m)
                for point in (POINTS if n else ())
            ]
    return Report(
        name="many", title="Many", origin=Origin.REHEARSAL, prereg_digest="d", harness_version="0",
        complete=True, valid=True, trials_planned=1, trials_analysed=1, groups_dropped=0, tasks=200,
        seeds=3, rates=(0.0,), arms=ARMS, baseline="no_retry", below_protocol=False,
        capability=({"arm": "hfr", "strategy": "hfr"},), audit=tuple(audit),
        observations=tuple(seen), effects=tuple(changed),
    )  # fmt: skip


def test_every_kind_that_was_delivered_has_its_lines(report):
    tables = observations(report)
    assert [len(table.header) - 2 for table in tables] == [5, 5]
    for table in tables:
        assert {row[0].main for row in table.rows} == set(KINDS)
        assert table.rows[0][1].main == "(none could be told)"
        assert all(cell.main == "-" for cell in table.rows[0][2:])
    assert [arm for table in tables for arm in table.header[2:]] == list(ARMS)


def test_delivery_is_told_by_kind_and_arm_with_totals(report):
    whole = delivery(report)
    assert [cell.main for cell in whole.rows[-1]] == [
        "all kinds", "", "all", str(10 * sum(range(1000, 1060))), "495000", "122700", "122700", "",
    ]  # fmt: skip
    first, second = delivery_by_arm(report)
    assert first.rows[0][1] == ("200/200", "of 1000")
    assert first.rows[-1][1].main == "12000/12000"
    assert [*first.header[1:], *second.header[1:]] == list(ARMS)


def test_the_whole_of_it_fits_132_columns_and_breaks_no_number(report):
    out = io.StringIO()
    print_report(report, Console(file=out, width=132), full=True)
    lines = out.getvalue().splitlines()
    assert max(len(line) for line in lines) <= 132
    page = " ".join(" ".join(lines).split())
    for table in (*observations(report), *delivery_by_arm(report), *effects(report)):
        for name in table.header[table.left :]:
            assert name in page
        for row in table.rows:
            assert all(cell.main in page and cell.extra in page for cell in row[table.left :])
            assert row[0].main in page


def test_html_holds_every_kind_and_arm(report):
    page = to_html(report)
    assert all(kind in page for kind in KINDS)
    assert all(f">{arm}</th>" in page for arm in ARMS)


def test_masked_and_mismatched_are_told_apart(report):
    rows = (
        AuditRow(kind="k", layer="model", arm="hfr", scheduled=9, reached=5, delivered=3, masked=2),
        AuditRow(kind="k", layer="model", arm="no_retry", scheduled=9, reached=5, delivered=3,
                 masked=1, mismatched=("seen 500",)),
    )  # fmt: skip
    assert [row.right for row in rows] == [True, False]
    assert rows[0].not_reached == 4
    told = report.model_copy(update={"audit": rows})
    table = delivery(told)
    assert "Masked" in table.header
    assert [row[2].main for row in table.rows] == ["all", "no_retry"]
    by_arm = {
        name: row.main
        for table in delivery_by_arm(told)
        for name, row in zip(table.header[1:], table.rows[0][1:], strict=True)
    }
    assert by_arm["hfr"] == "3/5 +2"
    assert by_arm["no_retry"] == "3/5 +1 !"
    assert by_arm["exp_retry"] == "-"


def test_organic_errors_and_the_bounds_of_voids(report):
    assert organic(report) is None
    row = OrganicRow(arm="hfr", absorbed=3, exhausted=1)
    quiet = OrganicRow(arm="no_retry", absorbed=0, exhausted=0)
    table = organic(report.model_copy(update={"organic": (row, quiet)}))
    assert [[cell.main for cell in row] for row in table.rows] == [
        ["no_retry", "0", "0"], ["hfr", "3", "1"],
    ]  # fmt: skip
    gone = VoidRow(arm="hfr", voids=3, causes={"model_server": 3}, graded=9, dropped=1,
                   sr_worst=0.8, sr_best=0.9, harm_worst=200.0, harm_best=0.0)  # fmt: skip
    (cells,) = voids(report.model_copy(update={"voids": (gone,)})).rows
    assert [cell.main for cell in cells[-2:]] == ["80.0, 90.0", "200.0, 0.0"]
