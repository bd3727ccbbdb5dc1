"""Whether a statement took hold, by what was read before and after; held against real databases."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.terms import Landed
from hfr_bench.suites.agentbench.dbbench import contracts
from hfr_bench.suites.agentbench.dbbench.contracts import TOOK_HOLD, landed
from hfr_bench.suites.agentbench.dbbench.world import DbWorld

COMMITTED, ABSENT, UNKNOWN = Landed.COMMITTED, Landed.ABSENT, Landed.UNKNOWN
INSERT = "INSERT INTO t VALUES ('a'), ('a'), ('b')"
SET = "UPDATE t SET a = '5'"
ADD = "UPDATE t SET a = a + 1"


def judged(query: Any, before: Any, after: Any) -> Landed:
    told = [None if one is None else json.dumps(one) for one in (before, after)]
    return landed(TOOK_HOLD, told[0], told[1], {"query": query})


def cells(*rows: Any) -> dict[str, Any]:
    return {"cells": [[[now], [then], times] for now, then, times in rows]}


@pytest.mark.parametrize(
    ("query", "before", "after", "expected"),
    [
        (INSERT, {"alike": [0, 1]}, {"alike": [2, 2]}, COMMITTED),
        (INSERT, {"alike": [0, 1]}, {"alike": [0, 1]}, ABSENT),
        (INSERT, {"alike": [0, 1]}, {"alike": [4, 3]}, UNKNOWN),  # twice?
        (INSERT, None, {"alike": [0, 0]}, ABSENT),
        (INSERT, None, {"alike": [2, 1]}, UNKNOWN),
        (SET, cells(("1", "5", 2)), cells(("5", "5", 2)), COMMITTED),
        (SET, cells(("1", "5", 2)), cells(("1", "5", 2)), ABSENT),
        (SET, cells(("5", "5", 2)), cells(("5", "5", 2)), COMMITTED),
        (SET, None, cells(("5", "5", 2)), COMMITTED),
        (SET, None, cells(("1", "5", 1), ("5", "5", 1)), ABSENT),
        (ADD, cells(("1", "2", 1)), cells(("2", "3", 1)), COMMITTED),
        (ADD, cells(("1", "2", 1)), cells(("1", "2", 1)), ABSENT),
        (ADD, cells(("1", "2", 1)), cells(("3", "4", 1)), UNKNOWN),
        (ADD, None, cells(("1", "2", 1)), UNKNOWN),
        ("DELETE FROM t", {"matching": 2}, {"matching": 0}, COMMITTED),
        ("DELETE FROM t", {"matching": 2}, {"matching": 2}, ABSENT),
        ("DELETE FROM t", {"matching": 2}, {"matching": 1}, UNKNOWN),
        ("DELETE FROM t", {"matching": 0}, {"matching": 0}, UNKNOWN),
        ("DELETE FROM t", None, {"matching": 0}, UNKNOWN),
        ("DELETE FROM t", None, {"matching": 1}, ABSENT),
        ("DROP TABLE t", {"state": "x"}, {"state": "x"}, ABSENT),
        ("DROP TABLE t", {"state": "x"}, {"state": "y"}, UNKNOWN),
        ("DROP TABLE t", None, {"state": "y"}, UNKNOWN),
        (INSERT, {"alike": [0, 1]}, None, UNKNOWN),
        (INSERT, {"alike": [0]}, {"alike": [1, 2]}, UNKNOWN),  # not of one statement
        (INSERT, {"other": 1}, {"alike": [1, 2]}, UNKNOWN),
        (None, {"alike": [0]}, {"alike": [1]}, UNKNOWN),
        (INSERT, None, ["alike"], UNKNOWN),
    ],
)
def test_took_hold(query: Any, before: Any, after: Any, expected: Landed) -> None:
    assert judged(query, before, after) is expected


def test_an_error_message_or_a_damaged_answer_tells_nothing() -> None:
    for body in ("Error: no such table", '{"alike": [1', ""):
        assert landed(TOOK_HOLD, None, body, {"query": INSERT}) is UNKNOWN


def test_another_predicate_is_refused() -> None:
    with pytest.raises(ValueError, match="there is: took_hold"):
        landed("other", None, None, {})


def test_rows_are_shown_as_upstream_s_client_prints_them() -> None:
    assert contracts.shown([["a", 1], [None, 2.5]]) == "[('a', 1), (None, 2.5)]"
    long = contracts.shown([["x" * 900]])
    assert (len(long), long[-11:]) == (811, "[TRUNCATED]")


STATEMENTS = st.sampled_from(
    [
        "INSERT INTO stock VALUES ('rope', 'S1', '40')",
        "INSERT INTO stock (Shelf, Item) VALUES ('S2', 'fender'), ('S9', NULL)",
        "INSERT INTO stock VALUES ('mast', 'S1', 1.50), ('boom', 'S1', 007)",
        "UPDATE stock SET Pieces = Pieces * 1.5",
        "UPDATE stock SET Pieces = Pieces * 1e30 WHERE Item = 'rope'",
        "UPDATE stock SET Pieces = 1.50, Shelf = NULL",
        "INSERT INTO stock SELECT * FROM stock WHERE Shelf = 'S1'",
        "UPDATE stock SET Pieces = Pieces + 3 WHERE Item = 'fender'",
        "UPDATE stock SET Pieces = Pieces - 9 WHERE Pieces = '9'",
        "UPDATE stock SET Shelf = 'S2'",
        "UPDATE stock SET Shelf = 'S2' WHERE Shelf = 's1'",
        "UPDATE stock SET Item = 'x' WHERE Item = 'nothing'",
        "DELETE FROM stock WHERE Item = 'fender'",
        "DELETE FROM stock WHERE Item = 'nothing'",
        "DROP TABLE stock",
        "ALTER TABLE stock ADD COLUMN more TEXT",
    ]
)


@given(st.lists(STATEMENTS, max_size=2), STATEMENTS, st.booleans())
def test_what_it_says_is_true_of_a_living_database(
    stock_world: DbWorld, earlier: list[str], query: str, reads_before: bool
) -> None:
    """Committed only if it ran, absent only if it did not."""

    def ask(tool: str, sql: str) -> Any:
        return stock_world.execute(tool, {"query": sql}, actor="agent", operation_id="x")

    stock_world.reset("stock")
    for sql in earlier:
        ask("execute_sql", sql)
    before = ask("look_up", query).observation.body
    known = before if reads_before else None
    assert not ask("look_up", query).changed
    again = ask("look_up", query).observation.body
    did_not = landed(TOOK_HOLD, known, again, {"query": query})
    done = ask("execute_sql", query)
    did = landed(TOOK_HOLD, known, ask("look_up", query).observation.body, {"query": query})
    if done.changed:
        assert did is not ABSENT
        assert did_not is not COMMITTED
