"""Rows in upstream's format, read strictly."""

from typing import Any

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.agentbench.dbbench.rows import read_row

ROW: dict[str, Any] = {
    "description": "Add it.",
    "type": ["INSERT"],
    "label": ["INSERT INTO t VALUES ('1')"],
    "table": {
        "table_name": "t",
        "table_info": {"columns": [{"name": "a"}, {"name": "b"}], "rows": [[1], [2, None]]},
    },
    "answer_md5": "[('ab',)]",
    "add_description": "About t.",
    "evidence": "",
    "source": "s",
}


def test_a_change_is_graded_by_its_tables() -> None:
    row = read_row(ROW, "x:1")
    assert row.changes
    assert (row.gold, row.answer_md5) == ("INSERT INTO t VALUES ('1')", "[('ab',)]")
    assert row.tables[0].rows == (("1",), ("2", "None"))  # as upstream's `str` makes them
    assert row.hints == ("About t.",)


def test_a_question_may_lack_its_statement() -> None:
    row = read_row(ROW | {"type": ["ranking"], "label": [3, "x"]}, "x:1")
    assert (row.changes, row.gold, row.label) == (False, "", ("3", "x"))
    row = read_row(ROW | {"type": ["other"], "sql": {"query": "SELECT 1"}}, "x:1")
    assert row.gold == "SELECT 1"


def test_there_may_be_several_tables() -> None:
    second = {**ROW["table"], "table_name": "s"}
    assert [t.name for t in read_row(ROW | {"table": [ROW["table"], second]}, "x").tables] == [
        "t",
        "s",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"type": "INSERT"}, "`type` must be a list"),
        ({"type": []}, "`type` must be a list"),
        ({"label": "x"}, "`label` must be a list"),
        ({"label": []}, "a change without a statement"),
        ({"description": ""}, "`description` must be a text"),
        ({"table": None}, "a `table` without"),
        ({"table": {"table_name": "t"}}, "a `table` without 'table_info'"),
        ({"table": {"table_name": "", "table_info": {"columns": [], "rows": []}}}, "needs a name"),
        (
            {"table": {"table_name": "t", "table_info": {"columns": [{"name": "a"}],
                "rows": [[1, 2]]}}},
            "more values than columns",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(change: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInputError, match=f"x:1: .*{said}"):
        read_row(ROW | change, "x:1")
