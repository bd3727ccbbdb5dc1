"""Strategy-side checks of single actions, V0 to V2: from what a runtime that owns a browser sees.

V0 transport: an answer is there, and its page is whole.
V1 deterministic: the action was possible, and the page is not the site's refusal.
V2 semantic: a second look, at the site's own page that shows what the button does.

No evaluator, no oracle, no control of the sites and no database is within reach here.
"""

from hfr_bench.model.attempt import Verdict
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import CheckLevel, Landed
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.webarena.mini.contracts import (
    CLICK,
    REFUSED,
    landed,
    level_of,
    whole,
)

_UNDECIDED = 0.5


class ActionVerifier:
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
        level = CheckLevel.SEMANTIC
        spec = self._task.tool(check.tool)
        assert spec is not None
        known = level_of(check.tool, check.arguments) or spec.level
        if not known.writes:
            return _verdict(level, "")
        if check.tool != CLICK or spec.reconcile is None:
            return Verdict(level, True, _UNDECIDED, undecided=True)
        contract = spec.reconcile
        seen = check.look(contract.read, contract.fill(check.arguments))
        done = landed(contract.landed, check.before, seen.body if seen.answered else None, {})
        why = (f"{contract.read} shows {check.arguments.get('name')!r} as {done}",)
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
    if not seen.domain_error and not whole(seen.body):
        return "the page is not whole: its end is missing"
    return ""


def _deterministic(check: Check) -> str:
    seen = check.observation
    if seen is None or not seen.answered:
        return ""
    if seen.body.startswith(REFUSED):
        return seen.body.splitlines()[0]
    return "the site refused" if seen.domain_error else ""


def _verdict(level: CheckLevel, reason: str) -> Verdict:
    return Verdict(level, not reason, 0.0 if reason else 1.0, (reason,) if reason else ())
