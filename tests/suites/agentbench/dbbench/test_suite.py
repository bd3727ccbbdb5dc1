"""db_mini as a suite: fit to be registered, pinned, chosen by pool; what is graded is not told."""

import json
from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.terms import SideEffect
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.agentbench.dbbench import DbBenchSuite, DbMiniSuite
from hfr_bench.suites.agentbench.dbbench.catalog import make_task
from hfr_bench.suites.agentbench.dbbench.rows import read_row
from hfr_bench.suites.agentbench.dbbench.world import DbWorld
from hfr_bench.suites.agentbench.source import ROOT
from hfr_bench.testing.conformance import check_suite

BASE = SuiteSelection(suite="db_mini", pool="base")


def test_it_is_a_suite(suite: DbMiniSuite) -> None:
    check_suite(suite, BASE)


def test_it_is_fit_to_be_registered_and_every_tool_is_tried(suite: DbMiniSuite) -> None:
    found = validate(suite, BASE)
    assert found.problems == ()
    assert {(row.oracle, row.nop, row.changes) for row in found.tasks} == {(1.0, 0.0, True)}
    assert {row.tool: row.verdict for row in found.tools} == {
        "commit_final_answer": "tested",
        "execute_sql": "tested",
        "look_up": "tested",
    }
    sql = next(row for row in found.tools if row.tool == "execute_sql")
    assert (sql.changed, sql.nothing) == (4, 1)  # four statements double something, one sets
    assert sql.reconciled == {
        "landed:committed": 4,
        "landed:unknown": 1,  # an INSERT of what a SELECT finds
        "not landed:absent": 5,
    }


def test_pools(suite: DbMiniSuite) -> None:
    sizes = {
        pool: len(suite.select(SuiteSelection(suite="db_mini", pool=pool)))
        for pool in ("base", "all", "own", "select", "insert", "update", "delete")
    }
    assert sizes == {
        "base": 8,
        "all": 8,
        "own": 8,
        "select": 2,
        "insert": 3,
        "update": 2,
        "delete": 1,
    }


def test_what_is_not_there_is_named_with_what_is(suite: DbMiniSuite) -> None:
    with pytest.raises(BadInputError, match="there are: base, own, select, insert, update, delete"):
        suite.select(SuiteSelection(suite="db_mini", pool="std"))
    with pytest.raises(BadInputError, match="no task 'x'; there are 8, such as 'own-longest'"):
        suite.select(SuiteSelection(suite="db_mini", tasks=("x",)))
    with pytest.raises(BadInputError, match="one of the two"):
        suite.select(SuiteSelection(suite="db_mini"))


def test_a_statement_s_level_is_its_own(suite: DbMiniSuite) -> None:
    assert suite.level_of("execute_sql", {"query": "SELECT 1"}) is SideEffect.READ
    assert suite.level_of("execute_sql", {"query": "DROP TABLE t"}) is SideEffect.IRREVERSIBLE
    assert suite.level_of("execute_sql", {"query": 1}) is None
    assert suite.level_of("commit_final_answer", {"answers": []}) is None


def test_what_is_graded_is_in_the_pin_and_not_in_the_task(suite: DbMiniSuite) -> None:
    pin = suite.pin(BASE)
    assert pin == suite.pin(BASE)
    assert "SQLite" in pin.version
    told = json.dumps([task.model_dump(mode="json") for task in suite.select(BASE)])
    for task in suite.select(BASE):
        for step in suite.sealed(task.task_id).oracle:
            assert json.dumps(step.arguments) not in told


def test_another_grader_changes_no_answer_of_the_tools(suite: DbMiniSuite) -> None:
    """Metamorphic: what the tools say, and what they judge by, knows nothing of the label."""
    row = {
        "description": "Which?",
        "type": ["INSERT"],
        "table": {"table_name": "t", "table_info": {"columns": [{"name": "a"}], "rows": [["1"]]}},
    }
    said = []
    host = suite.open()._host
    for gold in ("INSERT INTO t VALUES ('2')", "DELETE FROM t"):
        task = make_task("db_mini", read_row(row | {"label": [gold]}, "x"), "made")
        world = DbWorld(host, {"made": task}.__getitem__)
        states = [world.reset("made")]
        for tool in ("look_up", "execute_sql", "look_up"):
            done = world.execute(
                tool, {"query": "INSERT INTO t VALUES ('3')"}, actor="agent", operation_id="x"
            )
            states += [done.observation.body, done.state, done.key]
        said.append(states)
    host.close()
    assert said[0] == said[1]


def test_dbbench_without_a_checkout_says_how_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ROOT, raising=False)
    made = DbBenchSuite(ProcessSandbox(SandboxContext("none", this_process())))
    with pytest.raises(BadInputError, match="--data-dir dbbench=DIR"):
        made.select(SuiteSelection(suite="dbbench", pool="base"))
    made.close()


def test_a_checkout_s_rows_are_numbered_by_file(tmp_path: Path) -> None:
    table = {"table_name": "t", "table_info": {"columns": [{"name": "a"}], "rows": [["1"]]}}
    row = {"description": "Which?", "type": ["other"], "label": ["1"], "table": table}
    folder = tmp_path / "data" / "dbbench"
    folder.mkdir(parents=True)
    (folder / "standard.jsonl").write_text(f"{json.dumps(row)}\n" * 2)
    (folder / "dev.jsonl").write_text(f"{json.dumps(row)}\n")
    made = DbBenchSuite(ProcessSandbox(SandboxContext("some", this_process())), tmp_path)
    chosen = made.select(SuiteSelection(suite="dbbench", tasks=("std-001", "dev-000")))
    assert [task.task_id for task in chosen] == ["std-001", "dev-000"]
    assert len(made.select(SuiteSelection(suite="dbbench", pool="std"))) == 2
    made.close()


def test_doctor_is_told() -> None:
    assert DbMiniSuite.diagnose().ok
    assert DbBenchSuite.diagnose().ok is None
