"""Strategy-side checks of scripts and answers, V0 to V2; no grader is within reach here."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.attempt import Observation
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import SideEffect
from hfr_bench.ports.verifier import Check
from hfr_bench.shell.ran import landed
from hfr_bench.suites._verifying import ByRules, Rules
from hfr_bench.suites.agentbench.os_interaction.contracts import BASH, EMPTY, SAID
from hfr_bench.suites.agentbench.os_interaction.levels import level_of
from hfr_bench.suites.agentbench.os_interaction.world import ENDS


class ScriptVerifier(ByRules):
    """For one task. An answer has no frame that closes, so that a cut one may pass for whole."""

    def __init__(self, task: TaskSpec) -> None:
        super().__init__(task, _RULES)


def _level(tool: str, arguments: Mapping[str, Any]) -> SideEffect:
    """Of what leaves something to be looked at: a script that writes."""
    script = arguments.get("script")
    if tool != BASH or not isinstance(script, str):
        return SideEffect.READ
    return level_of(script)


def _whole(tool: str, seen: Observation) -> str:
    if tool != BASH or seen.body.startswith(SAID) or seen.body == EMPTY:
        return ""
    return "the answer is not the shell's"


def _sense(check: Check) -> str:
    word = check.arguments.get(ENDS.get(check.tool, "script"))
    return "" if isinstance(word, str) and word.strip() else "the call holds no text"


def _called(check: Check) -> str:
    return check.tool


_RULES = Rules(_whole, _sense, _level, landed, _called)
