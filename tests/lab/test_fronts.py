"""The front's rows and table: pooled and at every rate, yardsticks left out."""

from hfr_bench.lab.fronts import table
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
    assert {cell.main for row in made.rows for cell in row[1:]} <= {"on", "off"}


def test_without_rows_there_is_none(report):
    assert table(report.model_copy(update={"fronts": ()})) is None
