"""Upstream's digest of tables, and what it sees."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.suites.agentbench.dbbench import tables

ROWS = [["a", "1"], ["b", None]]


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


def test_it_is_the_md5_that_mysql_computes() -> None:
    marks = sorted([md5("a,1")[:5], md5("b")[:5]])
    assert tables.table_hash(ROWS) == md5(",".join(marks))
    assert tables.table_hash([]) == "None"


def test_of_several_tables_the_digests_are_sorted() -> None:
    both = {"x": ROWS, "y": [["c"]]}
    one, other = tables.table_hash(ROWS), tables.table_hash([["c"]])
    assert tables.tables_hash(both, ["y", "x"]) == "_".join(sorted((one, other)))
    assert tables.tables_hash(both, ["x", "z"]) == "_".join(sorted((one, "gone")))


@pytest.mark.parametrize("text", ["[('ab12',)]", "ab12"])
def test_an_upstream_digest_is_read_from_what_its_client_prints(text: str) -> None:
    assert tables.read_hash(text) == "ab12"


@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), min_size=1, max_size=6))
def test_order_does_not_matter_and_one_row_more_does(rows: list[tuple[str, str]]) -> None:
    turned = {"t": rows[::-1]}
    assert tables.table_hash(rows) == tables.table_hash(rows[::-1])
    assert tables.state({"t": rows}) == tables.state(turned)
    assert tables.same({"t": rows}, turned, ["t"])
    doubled = [*rows, rows[0]]
    assert tables.table_hash(rows) != tables.table_hash(doubled)
    assert tables.state({"t": rows}) != tables.state({"t": doubled})
    assert not tables.same({"t": rows}, {"t": doubled}, ["t"])


def test_beyond_170_rows_upstream_does_not_see_every_doubled_row() -> None:
    rows = [[str(number)] for number in range(300)]
    blind = [row for row in rows if tables.table_hash([*rows, row]) == tables.table_hash(rows)]
    assert blind
    assert not tables.same({"t": rows}, {"t": [*rows, blind[0]]}, ["t"])


def test_nothing_and_an_empty_text_are_told_apart() -> None:
    assert tables.state({"t": [[None]]}) != tables.state({"t": [[""]]})
