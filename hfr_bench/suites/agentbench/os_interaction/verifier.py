"""Strategy-side checks of scripts and answers."""

from hfr_bench.model.task import TaskSpec
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.agentbench.os_interaction.contracts import BASH, EMPTY, SAID, landed
from hfr_bench.suites.agentbench.os_interaction.levels import level_of
from hfr_bench.suites.agentbench.os_interaction.world import ENDS
from hfr_bench.suites.agentbench.verifier import CallVerifier


class ScriptVerifier(CallVerifier):
    """For one task. An answer has no frame that closes, so that a cut one may pass for whole."""

    def __init__(self, task: TaskSpec) -> None:
        super().__init__(task, landed, _writes, _whole, _sense)


def _writes(check: Check) -> bool:
    script = check.arguments.get("script")
    return isinstance(script, str) and level_of(script).writes


def _whole(check: Check) -> str:
    seen = check.observation
    if check.tool != BASH or seen is None:
        return ""
    return (
        "" if seen.body.startswith(SAID) or seen.body == EMPTY else "the answer is not the shell's"
    )


def _sense(check: Check) -> str:
    word = check.arguments.get(ENDS.get(check.tool, "script"))
    return "" if isinstance(word, str) and word.strip() else "the call holds no text"
