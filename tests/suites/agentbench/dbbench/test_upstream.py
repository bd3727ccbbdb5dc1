"""The 300 rows of a checkout: read, told by kind and level, solved, held against MySQL's MD5.

Skipped where no checkout is named.
"""

from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.suites.agentbench.dbbench import DbBenchSuite
from hfr_bench.suites.agentbench.dbbench.catalog import kinds

STD = SuiteSelection(suite="dbbench", pool="std")
APART = {"std-225"}
"""Rows whose `answer_md5` is not what their statement makes of their table."""


def test_every_row_is_read_and_told_by_kind_and_level(upstream: DbBenchSuite) -> None:
    assert kinds(upstream._pool("std")) == {
        "insert R2": 100,
        "select R0": 100,
        "update R1": 99,
        "update R2": 1,
    }
    assert len(upstream._pool("dev")) == 60


def test_every_solution_scores_and_every_change_is_found_again(upstream: DbBenchSuite) -> None:
    found = validate(upstream, STD)
    assert found.problems == ()
    sql = next(row for row in found.tools if row.tool == "execute_sql")
    assert sql.reconciled == {"landed:committed": 200, "not landed:absent": 200}


def test_sqlite_makes_of_the_tables_what_mysql_made_of_them(upstream: DbBenchSuite) -> None:
    world, apart, compared = upstream.open(), set(), 0
    for task in upstream.select(STD):
        row = upstream._task(task.task_id).row
        if not row.answer_md5:
            continue
        world.reset(task.task_id)
        world.execute("execute_sql", {"query": row.gold}, actor="agent", operation_id="x")
        compared += 1
        if world.grade(()).components["answer_md5"] != 1.0:
            apart.add(task.task_id)
    world.close()
    assert (compared, apart) == (200, APART)
