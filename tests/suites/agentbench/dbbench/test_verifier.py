"""Strategy-side checks of statements: the answer is whole, the call makes sense, a second look."""

from typing import Any

import pytest

from hfr_bench.model.attempt import Observation
from hfr_bench.model.terms import CheckLevel
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.agentbench.dbbench import DbMiniSuite

WHOLE, SENSE, LOOK = CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.SEMANTIC
INSERT = "INSERT INTO t VALUES (1)"


def answered(body: str, **more: Any) -> Observation:
    return Observation(answered=True, status=200, body=body, payload=body, **more)


def judge(
    suite: DbMiniSuite,
    level: CheckLevel,
    tool: str,
    seen: Observation | None = None,
    before: str | None = None,
    after: str = "",
    **arguments: Any,
) -> Any:
    task = suite.sealed("own-longest")
    public = next(t for t in suite._pool("base") if t.public.task_id == task.task_id).public
    check = Check(tool, arguments, seen, (), lambda *_: answered(after), before)
    return suite.verifier(public).verify(level, check)


@pytest.mark.parametrize(
    ("seen", "passed"),
    [
        (answered("[('a',)]"), True),
        (answered("[('a" + "[TRUNCATED]"), True),
        (answered("[('a'"), False),
        (answered("Error: no", domain_error=True), True),
        (Observation(answered=False, exception="timeout"), False),
        (None, True),
    ],
)
def test_an_answer_of_rows_is_whole(
    suite: DbMiniSuite, seen: Observation | None, passed: bool
) -> None:
    assert judge(suite, WHOLE, "execute_sql", seen, query="SELECT 1").passed is passed


@pytest.mark.parametrize(
    ("tool", "arguments", "passed"),
    [
        ("execute_sql", {"query": "SELECT 1"}, True),
        ("execute_sql", {"query": "SELECT 'a"}, False),
        ("execute_sql", {"query": " "}, False),
        ("execute_sql", {}, False),
        ("commit_final_answer", {"answers": ["x"]}, True),
        ("commit_final_answer", {"answers": []}, False),
        ("commit_final_answer", {"answers": [1]}, False),
    ],
)
def test_a_call_makes_sense(
    suite: DbMiniSuite, tool: str, arguments: dict[str, Any], passed: bool
) -> None:
    assert judge(suite, SENSE, tool, **arguments).passed is passed


@pytest.mark.parametrize(
    ("query", "after", "passed", "undecided"),
    [
        (INSERT, '{"alike": [1]}', True, False),
        (INSERT, '{"alike": [0]}', False, False),
        (INSERT, "Error", True, True),
        ("SELECT 1", "Error", True, False),  # nothing to look for
    ],
)
def test_a_second_look(
    suite: DbMiniSuite, query: str, after: str, passed: bool, undecided: bool
) -> None:
    found = judge(suite, LOOK, "execute_sql", None, '{"alike": [0]}', after, query=query)
    assert (found.passed, found.undecided) == (passed, undecided)


def test_a_look_and_an_answer_leave_nothing_to_be_looked_at(suite: DbMiniSuite) -> None:
    """Also where the look is at what a statement would write."""
    for tool, given in (
        ("look_up", {"query": INSERT}),
        ("commit_final_answer", {"answers": ["x"]}),
    ):
        found = judge(suite, LOOK, tool, None, None, "Error", **given)
        assert (found.passed, found.undecided) == (True, False)


def test_another_tool_or_level_is_none_of_its_own(suite: DbMiniSuite) -> None:
    assert not judge(suite, WHOLE, "other").passed
    with pytest.raises(ValueError, match="there are V0, V1, V2"):
        judge(suite, CheckLevel("V3"), "execute_sql", query="SELECT 1")
