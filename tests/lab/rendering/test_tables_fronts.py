"""The front's rows and table: pooled and at every rate, yardsticks left out."""

from hfr_bench.lab.rendering.cells import Cell
from hfr_bench.lab.rendering.tables_fronts import table
from hfr_bench.model.report import POOLED


def test_every_rate_has_a_front_of_the_arms_that_somebody_would_run(report):
    assert {row.arm for row in report.fronts} == {"no_retry", "hfr"}
    assert {row.pool or row.rate for row in report.fronts} == {POOLED, 0.2, 0.4}
    for row in report.fronts:
        assert row.share is not None
        assert 0 <= row.share <= 1
        assert row.resamples == report.resamples


def test_the_table_has_a_line_an_arm(report):
    made = table(report)
    assert [row[0].main for row in made.rows] == ["no_retry", "hfr"]
    assert len(made.header) == 1 + 2 * 3
    assert made.header[1:4] == ("Cost, pooled", "Cost, 20 %", "Cost, 40 %")
    assert {cell.extra for row in made.rows for cell in row[1:]} <= {"on", "off"}
    shares = [row.share for row in report.fronts if row.arm == "hfr"]
    assert made.rows[1][1].main == f"{shares[0]:.0%}"


def test_without_a_resample_that_can_be_told_only_the_place_is_said(report):
    rows = tuple(row.model_copy(update={"share": None}) for row in report.fronts)
    made = table(report.model_copy(update={"fronts": rows}))
    assert {cell for row in made.rows for cell in row[1:]} <= {Cell("on"), Cell("off")}


def test_without_rows_there_is_none(report):
    assert table(report.model_copy(update={"fronts": ()})) is None
