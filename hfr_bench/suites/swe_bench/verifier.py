"""Strategy-side checks of single commands, V0 to V2: from what a runtime has seen.

V0 transport: the answer is there and whole (its frame is closed).
V1 deterministic: the command is a text, and was not ended at its timeout.
V2 semantic: a second look, whether the command has run and ended (`command_status`).

No hidden test, no solution and no expected effect is within reach here.
"""

from hfr_bench.model.attempt import Verdict
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import CheckLevel, Landed
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.swe_bench.contracts import BASH, RAN_SINCE, landed, read_answer
from hfr_bench.suites.swe_bench.levels import level_of

_UNDECIDED = 0.5


class CommandVerifier:
    """Implements `ports.verifier.Verifier` for one task."""

    levels = (CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.SEMANTIC)

    def __init__(self, task: TaskSpec) -> None:
        self._task = task

    def verify(self, level: CheckLevel, check: Check) -> Verdict:
        if level not in self.levels:
            raise ValueError(f"level {level}: there are {', '.join(self.levels)}")
        if self._task.tool(check.tool) is None:
            return _verdict(level, f"no tool {check.tool}")
        if level is CheckLevel.TRANSPORT:
            return _verdict(level, _transport(check))
        if level is CheckLevel.DETERMINISTIC:
            return _verdict(level, _deterministic(check))
        return self._second_look(check)

    def _second_look(self, check: Check) -> Verdict:
        level, command = CheckLevel.SEMANTIC, check.arguments.get("command")
        if check.tool != BASH or not isinstance(command, str):
            return _verdict(level, "")
        if not level_of(command).level.writes:
            return _verdict(level, "")
        contract = next(t.reconcile for t in self._task.tools if t.name == BASH)
        assert contract is not None
        seen = check.look(contract.read, contract.fill(check.arguments))
        ran = landed(RAN_SINCE, check.before, seen.body if seen.answered else None, {})
        why = (f"{contract.read} shows the command as {ran}",)
        if ran is Landed.UNKNOWN:
            return Verdict(level, True, _UNDECIDED, why, undecided=True)
        done = ran is Landed.COMMITTED
        return Verdict(level, passed=done, quality=float(done), reasons=why)


def _transport(check: Check) -> str:
    seen = check.observation
    if seen is None:
        return ""
    if not seen.answered:
        return f"no answer ({seen.exception or seen.status})"
    if check.tool == BASH and read_answer(seen.body) is None:
        return "the answer is not whole: its frame is not closed"
    return ""


def _deterministic(check: Check) -> str:
    command = check.arguments.get("command")
    if not isinstance(command, str) or not command.strip():
        return "the command is no text"
    if check.tool == BASH and check.observation is not None:
        found = read_answer(check.observation.body)
        if found is not None and found[0] == -1:
            return "the command was ended at its timeout"
    return ""


def _verdict(level: CheckLevel, reason: str) -> Verdict:
    return Verdict(level, not reason, 0.0 if reason else 1.0, (reason,) if reason else ())
