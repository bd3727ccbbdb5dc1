"""Observation points in the report: counted by kind and arm, and shown wherever a report is."""

import csv
import io
import json

import pytest
from rich.console import Console

from hfr_bench.cli.report_text import print_report
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering.html import to_html
from hfr_bench.lab.rendering.render import to_csv, to_json, to_markdown, whole
from hfr_bench.lab.rendering.tables_evidence import observations
from hfr_bench.lab.store import Store
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS

POINTS = {
    "busy": ("does_not_take_the_failure_for_done", "charges_the_retry"),
    "lost": ("no_resend_before_reconcile", "happens_once"),
}
SEEN = {name: kind.model_copy(update={"observe": POINTS[name]}) for name, kind in KINDS.items()}
ARMS = ("no_retry", "blind_resend", "oracle_recovery")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("experiment")
    plan = planned(ARMS, tasks=20, rates=(0.0, 0.4), faults=some_faults)
    write_all(made, plan)
    return made, plan


def report_of(folder, *, indexed=False, kinds=SEEN):
    made, plan = folder
    store = Store(made, indexed=indexed)
    return analyse(plan.prereg, plan.lock, plan.rows, store, plan.schedule, kinds)


@pytest.fixture(scope="module")
def report(folder):
    return report_of(folder)


def test_points_are_counted_by_kind_and_arm(report):
    found = {(row.kind, row.point, row.arm): (row.held, row.n) for row in report.observations}
    assert {kind for kind, *_ in found} == {"busy", "lost"}
    for held, n in found.values():
        assert 0 <= held <= n > 0
    delivered = {(row.kind, row.arm): row.delivered for row in report.audit}
    assert all(n <= delivered[kind, arm] for (kind, _, arm), (_, n) in found.items())


def test_the_table_has_a_column_an_arm(report):
    (table,) = observations(report)
    assert table.header[:2] == ("Kind", "Observation point")
    assert set(table.header[2:]) <= set(ARMS)
    assert {row[0].main for row in table.rows} == {"busy", "lost"}
    assert any("/" in cell.main for row in table.rows for cell in row[2:])


def test_it_is_in_every_format(report):
    out = io.StringIO()
    print_report(report, Console(file=out, width=160), full=True)
    title = "Observation points passed"
    assert title in out.getvalue()
    assert title in to_markdown(report)
    assert title in to_html(report)
    assert title in [table.title.split(" | ")[0] for table in whole(report)]
    lines = list(csv.DictReader(io.StringIO(to_csv(report))))
    assert sum(row["row"] == "observation" for row in lines) == len(report.observations)
    assert len(json.loads(to_json(report))["observations"]) == len(report.observations)


def test_without_points_there_is_no_table(folder):
    bare = {name: kind.model_copy(update={"kind": name}) for name, kind in KINDS.items()}
    report = report_of(folder, kinds=bare)
    assert report.observations == ()
    assert observations(report) == ()
    assert "Observation points" not in to_html(report)


def test_the_index_keeps_them(folder, report):
    first = report_of(folder, indexed=True)
    again = report_of(folder, indexed=True)
    assert first.observations == again.observations == report.observations
