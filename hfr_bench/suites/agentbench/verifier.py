"""Strategy-side checks, V0 to V2, of both suites' tools: from what a runtime has seen.

V0 transport: the answer is there, and as whole as the suite can tell.
V1 deterministic: the call makes sense by itself.
V2 semantic: a second look at the world, through the tool's own reconcile read.

No grader, no solution and no expected effect is within reach here.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hfr_bench.model.attempt import Verdict
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import CheckLevel, Landed
from hfr_bench.ports.verifier import Check

JudgeLanded = Callable[[str, str | None, str | None, Mapping[str, Any]], Landed]
Reason = Callable[[Check], str]
_UNDECIDED = 0.5


class CallVerifier:
    """Implements `ports.verifier.Verifier` for one task.

    `whole`, `sense`: why a call fails V0 or V1, "" if it does not. `writes`: whether a call does.
    """

    levels = (CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.SEMANTIC)

    def __init__(
        self,
        task: TaskSpec,
        landed: JudgeLanded,
        writes: Callable[[Check], bool],
        whole: Reason,
        sense: Reason,
    ) -> None:
        self._task, self._landed, self._writes = task, landed, writes
        self._whole, self._sense = whole, sense

    def verify(self, level: CheckLevel, check: Check) -> Verdict:
        if level not in self.levels:
            raise ValueError(f"level {level}: there are {', '.join(self.levels)}")
        if self._task.tool(check.tool) is None:
            return _verdict(level, f"no tool {check.tool}")
        if level is CheckLevel.TRANSPORT:
            return _verdict(level, _no_answer(check) or self._whole(check))
        if level is CheckLevel.DETERMINISTIC:
            return _verdict(level, self._sense(check))
        return self._second_look(check)

    def _second_look(self, check: Check) -> Verdict:
        level, spec = CheckLevel.SEMANTIC, self._task.tool(check.tool)
        contract = spec.reconcile if spec else None
        if contract is None or not self._writes(check):
            return _verdict(level, "")
        seen = check.look(contract.read, contract.fill(check.arguments))
        body = seen.body if seen.answered and not seen.domain_error else None
        found = self._landed(contract.landed, check.before, body, check.arguments)
        why = (f"{contract.read} shows {check.tool} as {found}",)
        if found is Landed.UNKNOWN:
            return Verdict(level, True, _UNDECIDED, why, undecided=True)
        done = found is Landed.COMMITTED
        return Verdict(level, passed=done, quality=float(done), reasons=why)


def _no_answer(check: Check) -> str:
    seen = check.observation
    if seen is None or seen.answered:
        return ""
    return f"no answer ({seen.exception or seen.status})"


def _verdict(level: CheckLevel, reason: str) -> Verdict:
    return Verdict(level, not reason, 0.0 if reason else 1.0, (reason,) if reason else ())
