"""The living database: what changed, what counts as an effect, what is graded."""

import json
from typing import Any

import pytest

from hfr_bench.ports.suite import Execution
from hfr_bench.suites.agentbench.dbbench.world import DbWorld

ADD = "INSERT INTO stock VALUES ('oar', 'S4', '2')"


class At:
    """The world with a task open, asked in few words."""

    def __init__(self, world: DbWorld, task: str) -> None:
        self.world = world
        self.first = world.reset(task)

    def sql(self, query: Any) -> Execution:
        return self.ask("execute_sql", query=query)

    def look(self, query: str) -> Any:
        return json.loads(self.ask("look_up", query=query).observation.body)

    def commit(self, *answers: Any) -> Execution:
        return self.ask("commit_final_answer", answers=list(answers))

    def ask(self, tool: str, **arguments: Any) -> Execution:
        return self.world.execute(tool, arguments, actor="agent", operation_id="x")


@pytest.fixture
def stock(stock_world: DbWorld) -> At:
    return At(stock_world, "stock")


def test_a_statement_is_all_done_or_not_at_all(stock: At) -> None:
    done = stock.sql("INSERT INTO stock SELECT Item, Shelf, Nothing FROM stock")
    assert done.observation.domain_error
    assert done.observation.body.startswith("Error: ")
    assert done.changed == ()
    assert done.state == stock.first


def test_every_row_that_comes_or_goes_is_told(stock: At) -> None:
    assert len(stock.sql(ADD).changed) == 1
    assert len(stock.sql("UPDATE stock SET Pieces = Pieces + 1 WHERE Shelf = 'S1'").changed) == 2
    assert len(stock.sql("DELETE FROM stock WHERE Item = 'FENDER'").changed) == 2
    assert stock.sql("UPDATE stock SET Shelf = 'S1' WHERE Shelf = 'S1'").changed == ()
    assert "other" in stock.sql("CREATE TABLE other (a TEXT)").changed
    assert "stock" in stock.sql("DROP TABLE stock").changed


def test_the_same_insert_again_has_the_same_key_and_changes_again(stock: At) -> None:
    first, second = stock.sql(ADD), stock.sql("insert into stock values ('oar', 'S4', 2)")
    assert first.key == second.key != ""
    assert first.changed == second.changed != ()
    assert first.state != second.state


def test_taking_away_what_is_not_there_is_no_effect(stock: At) -> None:
    gone = "DELETE FROM stock WHERE Item = 'rope'"
    first, second = stock.sql(gone), stock.sql(gone)
    assert (first.observation.domain_error, second.observation.domain_error) == (False, True)
    assert second.observation.body == "[]"


def test_a_state_is_what_it_is_in_whatever_order_rows_lie(stock: At) -> None:
    stock.sql("DELETE FROM stock WHERE Item = 'rope'")
    assert stock.sql("INSERT INTO stock VALUES ('rope', 'S1', '40')").state == stock.first


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH DATABASE '/tmp/other.db' AS other",
        "PRAGMA writable_schema = 1",
        "SAVEPOINT a",
        "SELECT 1; SELECT 2",
        "VACUUM INTO '/tmp/other.db'",
        "SELECT load_extension('x')",
    ],
)
def test_what_leads_out_of_the_database_is_refused(stock: At, sql: str) -> None:
    done = stock.sql(sql)
    assert done.observation.domain_error, done.observation.body
    assert done.changed == ()


def test_an_endless_statement_is_ended(stock: At) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT COUNT(*) FROM n"
    assert stock.sql(endless).observation.body == "Error: interrupted"
    assert stock.sql("SELECT COUNT(*) FROM stock").observation.body == "[(3,)]"


def test_a_session_s_own_verbs_do_nothing(stock: At) -> None:
    for sql in ("BEGIN", "SET NAMES utf8mb4", "ROLLBACK"):
        assert stock.sql(sql).observation.body == "[]"


def test_texts_compare_as_mysql_s_do(stock: At) -> None:
    stock.sql("INSERT INTO stock VALUES ('Café', 'S5', '1')")
    told = stock.sql("SELECT Item FROM stock WHERE Item = 'CAFE'").observation.body
    assert told == "[('Café',)]"


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (ADD, {"alike": [0]}),
        ("INSERT INTO stock (Item) VALUES ('fender')", {"alike": [2]}),
        (
            "UPDATE stock SET Pieces = Pieces + 1 WHERE Item = 'rope'",
            {"cells": [[["40"], ["41"], 1], [["9"], ["9"], 2]]},
        ),
        ("DELETE FROM stock WHERE Shelf > 'S1'", {"matching": 2}),
        ("SELECT 1", {"writes": False}),
    ],
)
def test_looking_up_a_statement_tells_what_it_is_about(stock: At, sql: str, told: Any) -> None:
    assert stock.look(sql) == told
    assert set(stock.look("DROP TABLE stock")) == {"state"}


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO nowhere VALUES (1)",
        "INSERT INTO stock (Nothing) VALUES (1)",
        "INSERT INTO stock VALUES (1, 2), (1)",
        "UPDATE nowhere SET a = 1",
        "DELETE FROM stock WHERE Nothing = 1",
    ],
)
def test_what_it_is_about_may_not_be_there(stock: At, sql: str) -> None:
    assert stock.ask("look_up", query=sql).observation.domain_error


def test_of_a_table_that_the_agent_made_only_a_digest_is_told(stock: At) -> None:
    stock.sql("CREATE TABLE made (n INTEGER)")
    assert set(stock.look("INSERT INTO made VALUES ('05')")) == {"state"}


def test_the_first_answer_stands(stock: At) -> None:
    assert stock.world.grade(()).official == 0.0
    first, same, other = stock.commit("40"), stock.commit("40"), stock.commit("41")
    assert (first.changed, same.changed) == (("answers",), ())
    assert (same.observation.domain_error, other.observation.domain_error) == (False, True)
    assert stock.world.grade(()).official == 1.0
    again = At(stock.world, "stock")
    again.commit("41")
    assert again.world.grade(()).official == 0.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda at: at.sql(None),
        lambda at: at.sql("SELECT '\0'"),
        lambda at: at.ask("execute_sql"),
        lambda at: at.ask("no_tool", query="x"),
        lambda at: at.ask("commit_final_answer", answers="40"),
        lambda at: at.commit(40),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(stock: At, ask: Any) -> None:
    done = ask(stock)
    assert done.observation.domain_error
    assert (done.changed, done.state) == ((), stock.first)


def test_a_doubled_row_fails_the_task_and_is_seen_beside_it(world: DbWorld) -> None:
    at = At(world, "own-book-a-night")
    night = "INSERT INTO bookings VALUES ('Lars Holm', 'Tern', '2026-06-03', 'no')"
    at.sql(night)
    assert world.grade(()).official == 0.0  # nothing is committed yet
    at.commit("any")
    assert world.grade(()).components == {"committed": 1.0, "table": 1.0, "rows": 1.0}
    at.sql(night)
    grade = world.grade(())
    assert (grade.official, grade.goal_met) == (0.0, False)
    assert grade.components == {"committed": 1.0, "table": 0.0, "rows": 0.0}
