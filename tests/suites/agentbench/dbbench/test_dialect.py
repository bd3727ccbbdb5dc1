"""A statement of MySQL's as SQLite takes it."""

import sqlite3
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.suites.agentbench.dbbench.dialect import for_sqlite
from hfr_bench.suites.agentbench.dbbench.host.sqlite import Database
from hfr_bench.suites.agentbench.dbbench.statements import read

Make = Callable[..., Database]


@pytest.mark.parametrize(
    ("mysql", "sqlite"),
    [
        ('SELECT "a" # why', "SELECT 'a'"),
        (r"SELECT 'it\'s'", "SELECT 'it''s'"),
        ("SELECT `a``b`, 1952_x FROM t", "SELECT `a``b`, `1952_x` FROM t"),
        ("SELECT a.b,c FROM t", "SELECT a.b,c FROM t"),
        ("BEGIN", ""),
        ("SET NAMES utf8", ""),
        ("DESC `a'b`", "SELECT name, type FROM pragma_table_info('a''b')"),
        ("SHOW COLUMNS FROM t", "SELECT name, type FROM pragma_table_info('t')"),
        ("SHOW STATUS", "SHOW STATUS"),
        ("SELECT 'a", "SELECT 'a"),
        ("SELECT 1; SELECT 2", "SELECT 1; SELECT 2"),
    ],
)
def test_it_is_written_anew(mysql: str, sqlite: str) -> None:
    assert for_sqlite(read(mysql)) == sqlite


@given(st.text(alphabet="a'\"\\%_`-#;é 0n", max_size=12))
def test_a_string_stays_the_string_it_is(said: str) -> None:
    escaped = said.replace("\\", "\\\\").replace("'", "\\'")
    db = sqlite3.connect(":memory:")
    assert db.execute(for_sqlite(read(f"SELECT '{escaped}'"))).fetchone() == (said,)
    db.close()


def test_questions_about_tables_are_answered(database: Make) -> None:
    db = database()
    assert db.run(for_sqlite(read("SHOW TABLES")), []) == [["stock"]]
    told = db.run(for_sqlite(read("DESCRIBE stock")), [])
    assert [name for name, _ in told] == ["Item", "Shelf", "Pieces"]
