"""The databases in containers: SQLite as here, and MariaDB, which upstream's MySQL is nearer to."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.agentbench.dbbench import DbBenchSuite, DbMiniSuite
from hfr_bench.suites.agentbench.source import ROOT

BASE = SuiteSelection(suite="db_mini", pool="base")


@pytest.fixture(params=["sqlite", "mariadb"])
def contained(request: pytest.FixtureRequest) -> Iterator[DbMiniSuite]:
    sandbox = DockerSandbox(SandboxContext("dbcontained", this_process()))
    made = DbMiniSuite(sandbox, request.param)
    yield made
    made.close()


@pytest.mark.docker
@pytest.mark.slow
def test_it_is_fit_to_be_registered_in_a_container(contained: DbMiniSuite) -> None:
    found = validate(contained, BASE)
    assert found.problems == ()
    assert {(row.oracle, row.nop) for row in found.tasks} == {(1.0, 0.0)}
    sql = next(row for row in found.tools if row.tool == "execute_sql")
    assert (sql.changed, sql.nothing) == (4, 1)


@pytest.mark.docker
@pytest.mark.slow
def test_mariadb_makes_of_upstream_s_tables_what_mysql_made_of_them() -> None:
    root = os.environ.get(ROOT)
    if not root:
        pytest.skip(f"{ROOT} names no checkout of THUDM/AgentBench: clone it and set it")
    sandbox = DockerSandbox(SandboxContext("dbmaria", this_process()))
    suite = DbBenchSuite(sandbox, Path(root), "mariadb")
    world, apart = suite.open(), set()
    for task in suite.select(SuiteSelection(suite="dbbench", pool="std")):
        row = suite._task(task.task_id).row
        if row.answer_md5:
            world.reset(task.task_id)
            world.execute("execute_sql", {"query": row.gold}, actor="agent", operation_id="x")
            if world.grade(()).components["answer_md5"] != 1.0:
                apart.add(task.task_id)
    suite.close()
    assert apart == {"std-225"}


def test_mariadb_is_for_containers_and_another_engine_is_none() -> None:
    sandbox = ProcessSandbox(SandboxContext("here", this_process()))
    with pytest.raises(BadInputError, match="the engine mariadb runs in containers alone"):
        DbMiniSuite(sandbox, "mariadb")
    with pytest.raises(BadInputError, match="no engine 'oracle'; there are: sqlite, mariadb"):
        DbMiniSuite(sandbox, "oracle")
    sandbox.close()
