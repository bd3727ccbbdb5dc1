"""The level of a statement by its text, held against a real database by doing it twice."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.terms import SideEffect
from hfr_bench.suites.agentbench.dbbench.dialect import for_sqlite
from hfr_bench.suites.agentbench.dbbench.host.errors import StatementError
from hfr_bench.suites.agentbench.dbbench.host.sqlite import Database
from hfr_bench.suites.agentbench.dbbench.levels import level_of, natural_key
from hfr_bench.suites.agentbench.dbbench.statements import read

LEVELS = {
    "SELECT * FROM t": "R0",
    "SHOW TABLES": "R0",
    "COMMIT": "R0",
    "SELECT * FROM t INTO OUTFILE '/tmp/x'": "R2",
    "UPDATE t SET a = 'x', b = -1, c = NULL": "R1",
    "UPDATE t SET a = 'x' WHERE LOWER(b) LIKE '%y' AND c IN (1, 2)": "R1",
    "UPDATE t SET a = a + 1": "R2",
    "UPDATE t SET a = 'x', b = CONCAT(b, '!')": "R2",
    "UPDATE t SET a = 'x' WHERE b = (SELECT MIN(b) FROM t)": "R2",
    "UPDATE t SET a = 'x' WHERE a = 'y' LIMIT 1": "R2",
    "UPDATE t SET a = 'x' WHERE RAND() < 0.5": "R2",
    "UPDATE t SET a = 'x' WHERE b < CURRENT_DATE": "R2",
    "UPDATE t SET a = 'x' WHERE b = @last": "R2",
    "INSERT INTO t VALUES (1)": "R2",
    "INSERT INTO t SELECT * FROM s": "R2",
    "CREATE TABLE t (a TEXT)": "R2",
    "something else": "R2",
    "": "R2",
    "DELETE FROM t WHERE a = 1": "R3",
    "DROP TABLE t": "R3",
    "TRUNCATE t": "R3",
    "ALTER TABLE t DROP COLUMN a": "R3",
    "REPLACE INTO t VALUES (1)": "R3",
    "SELECT 1; DELETE FROM t": "R2",
}


@pytest.mark.parametrize(("sql", "level"), LEVELS.items())
def test_levels(sql: str, level: str) -> None:
    assert level_of(read(sql)) is SideEffect(level)


def in_memory() -> Database:
    db = Database("law")
    db._path = ":memory:"  # a law is tried a hundred times
    return db


VALUES = st.sampled_from(["'x'", "'y'", "NULL", "1", "-2"])
CELLS = st.sampled_from(["x", "y", "X", "1", "-2", ""])
TESTS = st.sampled_from(["=", "<>", "<", "LIKE"])


@st.composite
def updates(draw: st.DrawFn) -> str:
    """UPDATEs of constants, however rows are chosen."""
    sets = draw(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1))
    said = ", ".join(f"{name} = {value}" for name, value in sets.items())
    terms = draw(st.lists(st.tuples(st.sampled_from("abc"), TESTS, VALUES), max_size=3))
    where = " AND ".join(f"NOT ({a} {test} {value})" for a, test, value in terms)
    end = draw(st.sampled_from(["", "", " AND a IN (SELECT b FROM t)"])) if where else ""
    return f"UPDATE t SET {said}" + (f" WHERE {where}{end}" if where else "")


@given(updates(), st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=4))
def test_an_r1_statement_done_twice_leaves_what_doing_it_once_leaves(
    sql: str, rows: list[tuple[str, ...]]
) -> None:
    statement = read(sql)
    if level_of(statement) is not SideEffect.IDEMPOTENT:
        return
    db = in_memory()
    db.fill([{"name": "t", "columns": list("abc"), "rows": rows}])
    states: list[Any] = []
    for _ in range(2):
        db.run(for_sqlite(statement), [])
        states.append(db.dump()[0])
    db.close()
    assert states[0] == states[1]


def test_a_statement_that_is_worded_differently_is_the_same_effect() -> None:
    columns = ("a", "b")
    one = natural_key(read("INSERT INTO t VALUES ('1', 'x')"), columns)
    assert one == natural_key(read('insert into `T` (B, A) values ("x", 1) ;'), columns)
    assert one != natural_key(read("INSERT INTO t VALUES ('1', 'y')"), columns)
    assert one != natural_key(read("INSERT INTO t VALUES ('1', 'x'), ('1', 'x')"), columns)


def test_updates_are_told_apart_by_what_they_set_and_where() -> None:
    one = natural_key(read("UPDATE t SET a = 1, b = '2' WHERE c = 'x'"))
    assert one == natural_key(read("update T set B = 2, a='1' where C = 'x'"))
    assert one != natural_key(read("UPDATE t SET a = 1, b = '2' WHERE c = 'X'"))
    assert one != natural_key(read("UPDATE t SET a = 1 WHERE c = 'x'"))


def test_a_string_is_never_taken_for_a_word() -> None:
    assert natural_key(read("UPDATE t SET a = 'b'")) != natural_key(read("UPDATE t SET a = b"))


def test_a_refused_statement_changes_nothing(database: Any) -> None:
    db = database()
    before = db.dump()
    with pytest.raises(StatementError, match="no such table"):
        db.run("DELETE FROM nowhere", [])
    assert db.dump() == before
