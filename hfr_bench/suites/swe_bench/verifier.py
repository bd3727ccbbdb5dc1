"""Strategy-side checks of single commands, V0 to V2: from what a runtime has seen.

V0 transport: the answer is there and whole (its frame is closed).
V1 deterministic: the command is a text, and was not ended at its timeout.
V2 semantic: a second look, whether the command has run and ended (`command_status`).

No hidden test, no solution and no expected effect is within reach here.
"""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.attempt import Observation
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import SideEffect
from hfr_bench.ports.verifier import Check
from hfr_bench.suites._verifying import ByRules, Rules
from hfr_bench.suites.swe_bench.contracts import BASH, landed, read_answer
from hfr_bench.suites.swe_bench.levels import level_of


class CommandVerifier(ByRules):
    """Implements `ports.verifier.Verifier` for one task."""

    def __init__(self, task: TaskSpec) -> None:
        super().__init__(task, _RULES)


def level_of_call(tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
    """Of this very command; None where the tool's own stands."""
    command = arguments.get("command")
    if tool != BASH or not isinstance(command, str):
        return None
    return level_of(command).level


def _whole(tool: str, seen: Observation) -> str:
    if tool == BASH and read_answer(seen.body) is None:
        return "the answer is not whole: its frame is not closed"
    return ""


def _sound(check: Check) -> str:
    command = check.arguments.get("command")
    if not isinstance(command, str) or not command.strip():
        return "the command is no text"
    if check.tool == BASH and check.observation is not None:
        found = read_answer(check.observation.body)
        if found is not None and found[0] == -1:
            return "the command was ended at its timeout"
    return ""


def _called(_check: Check) -> str:
    return "the command"


_RULES = Rules(_whole, _sound, level_of_call, landed, _called)
