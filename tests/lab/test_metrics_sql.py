"""Every metric once more, in SQL over the index: the same numbers as from plain Python."""

from pathlib import Path

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.database import FILE, connect
from hfr_bench.lab.metrics_sql import COLUMNS, query
from hfr_bench.lab.store import Store
from hfr_bench.model.report import POOLED
from hfr_bench.model.terms import VoidCause
from hfr_bench.stats.further import FURTHER
from hfr_bench.stats.metrics import METRICS
from hfr_bench.testing.experiments import planned, play, some_faults, write_all
from hfr_bench.testing.results import KINDS, ended, write_trial

ARMS = ("no_retry", "blind_resend", "always_escalate", "hfr")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An experiment with a void round and a half-run later one, its report, its folder."""
    plan = planned(ARMS, tasks=20, rates=(0.0, 0.3, 0.6), faults=some_faults)
    folder = tmp_path_factory.mktemp("experiment")
    write_all(folder, plan)
    group = plan.rows[0].trial.pair_group
    rows = [row for row in plan.rows if row.trial.pair_group == group]
    void = ended(rows[0].trial, void=VoidCause.SANDBOX)

    def played(row):
        return play(row, plan.schedule(row.trial.schedule_id))

    write_trial(folder, rows[0].trial, [*played(rows[0])[:-1], void])
    for row in rows:
        write_trial(folder, row.trial, played(row), 2)
    write_trial(folder, rows[1].trial, played(rows[1]), 3)
    report = analyse(
        plan.prereg, plan.lock, plan.rows, Store(folder, indexed=True), plan.schedule, KINDS
    )
    return report, folder


def test_every_metric_has_its_columns():
    assert COLUMNS.keys() == METRICS.keys() | FURTHER.keys()


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(
    ("where", "pool", "rate"), [("rate > 0", POOLED, None), ("rate = 0", "", 0.0)]
)
def test_sql_gives_the_reports_numbers(made, name, where, pool, rate):
    report, folder = made
    rows = report.estimates if name in METRICS else report.further
    expected = {
        e.arm: (e.value, e.n) for e in rows if (e.metric, e.pool, e.rate) == (name, pool, rate)
    }
    with connect(folder / FILE) as connection:
        found = connection.execute(query(name, where)).fetchall()
    assert {arm: (value, n) for arm, value, n in found} == expected
    assert set(expected) == set(ARMS)


DOC = Path(__file__).parents[2] / "docs" / "metrics.md"


@pytest.mark.parametrize("name", COLUMNS)
def test_the_documentation_has_each_metric(name):
    assert f"| `{name}` |" in DOC.read_text(encoding="utf-8")


def test_an_unknown_metric_is_refused():
    with pytest.raises(KeyError):
        query("score")
