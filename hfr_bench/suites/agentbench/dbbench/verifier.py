"""Strategy-side checks of statements and answers, V0 to V2; no grader is within reach here."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.attempt import Observation
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import SideEffect
from hfr_bench.ports.verifier import Check
from hfr_bench.suites._verifying import ByRules, Rules
from hfr_bench.suites.agentbench.dbbench.contracts import COMMIT, CUT, EXECUTE, landed
from hfr_bench.suites.agentbench.dbbench.levels import level_of
from hfr_bench.suites.agentbench.dbbench.statements import read


class SqlVerifier(ByRules):
    """For one task: rows end as rows do, a statement can be read, an answer is one."""

    def __init__(self, task: TaskSpec) -> None:
        super().__init__(task, _RULES)


def _level(tool: str, arguments: Mapping[str, Any]) -> SideEffect:
    """Of what leaves something to be looked at: a statement that writes."""
    query = arguments.get("query")
    if tool != EXECUTE or not isinstance(query, str):
        return SideEffect.READ
    return level_of(read(query))


def _whole(tool: str, seen: Observation) -> str:
    if tool != EXECUTE or seen.domain_error:
        return ""
    return "" if seen.body.endswith(("]", CUT)) else "the answer's rows have no end"


def _sense(check: Check) -> str:
    if check.tool == COMMIT:
        answers = check.arguments.get("answers")
        fits = isinstance(answers, list) and all(isinstance(one, str) for one in answers)
        return "" if fits and answers else "the answer is no list of texts"
    query = check.arguments.get("query")
    if not isinstance(query, str) or not query.strip():
        return "the statement is no text"
    return "" if read(query).verb else "not one SQL statement"


def _called(check: Check) -> str:
    return check.tool


_RULES = Rules(_whole, _sense, _level, landed, _called)
