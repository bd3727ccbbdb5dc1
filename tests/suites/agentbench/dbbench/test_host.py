"""The tool host's protocol: a bad request is answered and survived."""

import json
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.suites.agentbench.dbbench.host.main import Host

TABLE = {"name": "t", "columns": ["a"], "rows": [["1"]]}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.chdir(tmp_path)  # where its files are
    return Host()


def ask(host: Host, op: str, **fields: Any) -> dict[str, Any]:
    return host.answer(json.dumps({"id": 1, "op": op, **fields}))


def test_it_tells_what_database_it_holds(host: Host) -> None:
    told = ask(host, "hello")
    assert told["ok"]
    assert told["engine"].startswith("SQLite 3.")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("{", "bad_json"),
        ("[]", "bad_request"),
        ('{"op": 1}', "bad_request"),
        ('{"op": "nothing"}', "unknown_op"),
        ('{"op": "run", "sql": "SELECT 1"}', "no_task"),
        ('{"op": "open", "tables": {}}', "bad_request"),
        ('{"op": "open", "tables": [{"name": "t"}]}', "bad_request"),
        (
            '{"op": "open", "tables": [{"name": "t", "columns": ["a", "A"], "rows": []}]}',
            "bad_request",
        ),
    ],
)
def test_a_bad_request_is_answered_and_survived(host: Host, line: str, kind: str) -> None:
    told = host.answer(line)
    assert (told["ok"], told["error"]["type"]) == (False, kind)
    assert ask(host, "hello")["ok"]


def test_what_the_solution_makes_of_other_tables_touches_nothing_here(host: Host) -> None:
    ask(host, "open", tables=[TABLE])
    told = ask(host, "after", tables=[TABLE], sql="UPDATE t SET a = '2'")
    assert told["tables"] == {"t": [["2"]]}
    assert ask(host, "dump")["tables"] == {"t": [["1"]]}
    refused = ask(host, "after", tables=[TABLE], sql="UPDATE s SET a = '2'")
    assert refused["tables"] == {"t": [["1"]]}  # as upstream takes it


def test_opening_anew_forgets_tables_and_answer(host: Host) -> None:
    ask(host, "open", tables=[TABLE])
    ask(host, "run", sql="CREATE TABLE s (b BLOB)")
    assert ask(host, "commit", answers=[]) == {"id": 1, "ok": True, "new": True, "stands": True}
    assert ask(host, "commit", answers=["x"])["stands"] is False
    ask(host, "open", tables=[TABLE])
    assert list(ask(host, "dump")["tables"]) == ["t"]
    assert ask(host, "commit", answers=["x"])["new"] is True
    ask(host, "close")
    assert ask(host, "dump")["error"]["type"] == "no_task"


def test_bytes_are_told_as_text(host: Host) -> None:
    ask(host, "open", tables=[TABLE])
    assert ask(host, "run", sql="SELECT x'c3a9', MD5('a'), CONCAT('a', NULL)")["rows"] == [
        ["é", "0cc175b9c0f1b6a831c399e269772661", None]
    ]
