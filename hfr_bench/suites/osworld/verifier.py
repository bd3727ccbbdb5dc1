"""Strategy-side checks of single actions, V0 to V2: from what a runtime has seen.

V0 transport: an answer is there, and whole (it is JSON).
V1 deterministic: the action was one, and was not ended at its timeout.
V2 semantic: a second look: at the file that was written, at the log of what was run.

No evaluator, no oracle and no expected effect is within reach here.
"""

from hfr_bench.model.attempt import Verdict
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import CheckLevel, Landed
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.osworld.contracts import landed, level_of, read_answer

_UNDECIDED = 0.5


class DeskVerifier:
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
        level, spec = CheckLevel.SEMANTIC, self._task.tool(check.tool)
        assert spec is not None
        known = level_of(check.tool, check.arguments) or spec.level
        if not known.writes or spec.reconcile is None:
            return _verdict(level, "")
        contract = spec.reconcile
        found = check.look(contract.read, contract.fill(check.arguments))
        body = found.body if found.answered else None
        done = landed(contract.landed, check.before, body, check.arguments)
        why = (f"{contract.read} shows it as {done}",)
        if done is Landed.UNKNOWN:
            return Verdict(level, True, _UNDECIDED, why, undecided=True)
        ok = done is Landed.COMMITTED
        return Verdict(level, passed=ok, quality=float(ok), reasons=why)


def _transport(check: Check) -> str:
    seen = check.observation
    if seen is None:
        return ""
    if not seen.answered:
        return f"no answer ({seen.exception or seen.status})"
    return "" if read_answer(seen.body) is not None else "the answer is not whole: it is no JSON"


def _deterministic(check: Check) -> str:
    seen = check.observation
    if seen is None or not seen.answered:
        return ""
    told = read_answer(seen.body)
    if told is not None and told.get("status") == "error":
        return str(told.get("message") or told.get("error") or "refused")
    return ""


def _verdict(level: CheckLevel, reason: str) -> Verdict:
    return Verdict(level, not reason, 0.0 if reason else 1.0, (reason,) if reason else ())
