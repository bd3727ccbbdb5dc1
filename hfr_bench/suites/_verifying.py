"""What strategy-side checks of our suites share: V0 an answer is there, V1, V2 a second look.

A suite says what is its own, in `Rules`; all of it is known to a runtime, none of it to a grader
alone. No suite has to use this: `ports.verifier.Verifier` is what the lab asks for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hfr_bench.model.attempt import Observation, Verdict
from hfr_bench.model.task import TaskSpec, ToolSpec
from hfr_bench.model.terms import CheckLevel, Landed, SideEffect
from hfr_bench.ports.verifier import Check

JudgeLanded = Callable[[str, str | None, str | None, Mapping[str, Any]], Landed]
UNDECIDED = 0.5
"""The quality of what could not be decided."""
LEVELS = (CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.SEMANTIC)


@dataclass(frozen=True, slots=True)
class Rules:
    """What is a suite's own. Reasons are texts against a call; "" = there is none.

    `whole`: V0, of an answer that came. `sound`: V1, of a call and its answer, if there is one.
    `level_of`, `landed`: the suite's own, as `ports.suite` has them. `called`: the call in a few
    words, for reasons.
    """

    whole: Callable[[str, Observation], str]
    sound: Callable[[Check], str]
    level_of: Callable[[str, Mapping[str, Any]], SideEffect | None]
    landed: JudgeLanded
    called: Callable[[Check], str]


class ByRules:
    """Implements `ports.verifier.Verifier` for one task, at V0, V1 and V2."""

    levels = LEVELS

    def __init__(self, task: TaskSpec, rules: Rules) -> None:
        self._task, self._rules = task, rules

    def verify(self, level: CheckLevel, check: Check) -> Verdict:
        if level not in self.levels:
            raise ValueError(f"level {level}: there are {', '.join(self.levels)}")
        spec = self._task.tool(check.tool)
        if spec is None:
            return judged(level, f"no tool {check.tool}")
        if level is CheckLevel.TRANSPORT:
            return judged(level, self._transport(check))
        if level is CheckLevel.DETERMINISTIC:
            return judged(level, self._rules.sound(check))
        known = self._rules.level_of(check.tool, check.arguments) or spec.level
        if not known.writes:
            return judged(level)
        return second_look(spec, check, self._rules.landed, self._rules.called(check))

    def _transport(self, check: Check) -> str:
        seen = check.observation
        if seen is None:
            return ""
        return unanswered(seen) or self._rules.whole(check.tool, seen)


def unanswered(seen: Observation) -> str:
    """Why there is no answer; "" if there is one."""
    return "" if seen.answered else f"no answer ({seen.exception or seen.status})"


def second_look(spec: ToolSpec, check: Check, landed: JudgeLanded, called: str) -> Verdict:
    """V2 of a write: the read of its recovery contract once more, and what that shows.

    What a tool without a contract did cannot be told.
    """
    level, contract = CheckLevel.SEMANTIC, spec.reconcile
    if contract is None:
        return undecided(level)
    seen = check.look(contract.read, contract.fill(check.arguments))
    done = Landed.UNKNOWN
    if seen.answered and not seen.domain_error:
        done = landed(contract.landed, check.before, seen.body, check.arguments)
    why = f"{contract.read} shows {called} as {done}"
    if done is Landed.UNKNOWN:
        return undecided(level, why)
    ok = done is Landed.COMMITTED
    return Verdict(level, passed=ok, quality=float(ok), reasons=(why,))


def judged(level: CheckLevel, *reasons: str) -> Verdict:
    """Passed unless there is a reason against it; "" is none."""
    told = tuple(reason for reason in reasons if reason)
    return Verdict(level, not told, 0.0 if told else 1.0, told)


def undecided(level: CheckLevel, *reasons: str) -> Verdict:
    """It passes, with half the quality."""
    return Verdict(level, True, UNDECIDED, reasons, undecided=True)
