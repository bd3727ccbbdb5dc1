"""Strategy-side checks of single actions, V0 to V2: from what a runtime has seen.

V0 transport: an answer is there, and whole (it is JSON).
V1 deterministic: the action was one, and was not ended at its timeout.
V2 semantic: a second look: at the file that was written, at the log of what was run.

No evaluator, no oracle and no expected effect is within reach here.
"""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.attempt import Observation
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import SideEffect
from hfr_bench.ports.verifier import Check
from hfr_bench.suites._verifying import ByRules, Rules
from hfr_bench.suites.osworld.contracts import FINISH, landed, level_of, read_answer


class DeskVerifier(ByRules):
    """Implements `ports.verifier.Verifier` for one task."""

    def __init__(self, task: TaskSpec) -> None:
        super().__init__(task, _RULES)


def _whole(_tool: str, seen: Observation) -> str:
    return "" if read_answer(seen.body) is not None else "the answer is not whole: it is no JSON"


def _sound(check: Check) -> str:
    seen = check.observation
    told = read_answer(seen.body) if seen is not None and seen.answered else None
    if told is not None and told.get("status") == "error":
        return str(told.get("message") or told.get("error") or "refused")
    return ""


def _level(tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
    """As the suite's; but the end of an episode leaves nothing to be looked at."""
    return SideEffect.READ if tool == FINISH else level_of(tool, arguments)


def _called(_check: Check) -> str:
    return "it"


_RULES = Rules(_whole, _sound, _level, landed, _called)
