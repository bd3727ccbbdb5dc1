"""What is understood of a statement, and that nothing is guessed of the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.suites.agentbench.dbbench.statements import read

WORDS = (
    *("INSERT", "INTO", "UPDATE", "DELETE", "FROM", "SET", "WHERE", "VALUES", "LIMIT"),
    *("t", "a", "(", ")", "=", ",", "1"),
)


def test_an_insert_is_taken_apart() -> None:
    made = read("INSERT INTO `db`.`a b` (x, `y z`) VALUES ('1', -2), (NULL, TRUE);")
    assert (made.verb, made.plain, made.table) == ("INSERT", True, "a b")
    assert made.columns == ("x", "y z")
    assert made.rows == (("1", "-2"), (None, "1"))


def test_an_update_is_taken_apart() -> None:
    made = read("UPDATE t SET a = (1, 2), b = f(x, 'WHERE') WHERE c IN ('ORDER', 2) LIMIT 1")
    assert [(name, made.sql(value)) for name, value in made.sets] == [
        ("a", "(1, 2)"),
        ("b", "f(x, 'WHERE')"),
    ]
    assert made.sql(made.where) == "c IN ('ORDER', 2)"
    assert made.bounded
    assert not made.absolute


def test_a_delete_is_taken_apart() -> None:
    made = read("delete from t where a = 1")
    assert (made.verb, made.plain, made.table, made.bounded) == ("DELETE", True, "t", False)


@pytest.mark.parametrize(
    ("sql", "verb"),
    [
        ("INSERT INTO t SELECT * FROM s", "INSERT"),
        ("INSERT INTO t VALUES (1 + 1)", "INSERT"),
        ("INSERT INTO t (a) VALUES (1, 2)", "INSERT"),
        ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", "INSERT"),
        ("INSERT INTO t VALUES", "INSERT"),
        ("INSERT INTO t VALUES (1.50)", "INSERT"),  # 1.5 in one database, 1.50 in another
        ("INSERT INTO t VALUES (007)", "INSERT"),
        ("UPDATE t, s SET a = 1", "UPDATE"),
        ("UPDATE t SET a", "UPDATE"),
        ("DELETE t FROM t JOIN s", "DELETE"),
        ("CREATE TABLE t (a TEXT)", "CREATE"),
        ("WITH s AS (SELECT 1) DELETE FROM t", "DELETE"),
    ],
)
def test_what_is_not_understood_keeps_its_verb_alone(sql: str, verb: str) -> None:
    made = read(sql)
    assert (made.verb, made.plain) == (verb, False)


@pytest.mark.parametrize(
    ("sql", "verb"),
    [
        ("(SELECT 1)", "SELECT"),
        ("with a as (select 1), b as (select 2) select * from a", "SELECT"),
        ("-- why\nSELECT 1 ;;", "SELECT"),
        ("SHOW TABLES", "SHOW"),
    ],
)
def test_reads_are_known(sql: str, verb: str) -> None:
    assert (read(sql).verb, read(sql).plain) == (verb, True)


@pytest.mark.parametrize("sql", ["", " ; ", "-- nothing", "SELECT 'a", "SELECT 1; DROP TABLE t"])
def test_what_is_no_single_statement_has_no_verb(sql: str) -> None:
    assert read(sql).verb == ""


@given(st.text(alphabet="INSERTUPDATEDELETEFROMSETWHEREVALUESINTO ()=,;'`\"\\-#t1", max_size=80))
def test_any_text_is_read_without_a_word(sql: str) -> None:
    read(sql)


@given(st.lists(st.sampled_from(WORDS)))
def test_and_so_is_any_row_of_words(words: list[str]) -> None:
    read(" ".join(words))
