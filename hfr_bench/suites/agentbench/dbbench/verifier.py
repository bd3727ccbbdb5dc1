"""Strategy-side checks of statements and answers."""

from hfr_bench.model.task import TaskSpec
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.agentbench.dbbench.contracts import COMMIT, CUT, EXECUTE, landed
from hfr_bench.suites.agentbench.dbbench.levels import level_of
from hfr_bench.suites.agentbench.dbbench.statements import read
from hfr_bench.suites.agentbench.verifier import CallVerifier


class SqlVerifier(CallVerifier):
    """For one task: rows end as rows do, a statement can be read, an answer is one."""

    def __init__(self, task: TaskSpec) -> None:
        super().__init__(task, landed, _writes, _whole, _sense)


def _writes(check: Check) -> bool:
    query = check.arguments.get("query")
    return isinstance(query, str) and level_of(read(query)).writes


def _whole(check: Check) -> str:
    seen = check.observation
    if check.tool != EXECUTE or seen is None or seen.domain_error:
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
