"""Strategy-side checks of single commands, V0 to V2: from what a runtime has seen.

V0 transport: the answer is there and whole (its frame is closed).
V1 deterministic: the command is a text, and was not ended at its timeout; after a write, the Python
   files that differ from where work began parse; at the hand-in there is a patch, git can carry it,
   and it is not of what runs the tests alone, too.
V2 semantic: a second look, whether the command has run and ended (`command_status`), and all that
   V1 asks; at the hand-in, the visible tests of what was changed pass (a failure speaks against
   it where they are known to have passed before).

What is asked of the repository is asked by `bash` itself, in the agent's own sandbox, through the
verify point like any read: charged, and faulted. No hidden test, no solution and no expected effect
is within reach here.
"""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.attempt import Observation, Verdict
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import CheckLevel, SideEffect
from hfr_bench.ports.verifier import Check
from hfr_bench.shell.ran import landed
from hfr_bench.suites._verifying import ByRules, Rules, judged, undecided
from hfr_bench.suites.swe_bench.checks import (
    check_change,
    check_parses,
    check_tests,
    visible_tests,
)
from hfr_bench.suites.swe_bench.contracts import BASH, SUBMIT, read_answer
from hfr_bench.suites.swe_bench.levels import level_of
from hfr_bench.suites.swe_bench.looking import Project, Sight, look, read_look, run_tests
from hfr_bench.suites.swe_bench.parsers import parser

_ENDED = -1  # the code of a command that was ended at its timeout


class CommandVerifier(ByRules):
    """Implements `ports.verifier.Verifier` for one task."""

    def __init__(self, task: TaskSpec, project: Project) -> None:
        super().__init__(task, _RULES)
        self._project = project

    def verify(self, level: CheckLevel, check: Check) -> Verdict:
        found = super().verify(level, check)
        if level is CheckLevel.TRANSPORT or not found.passed or not _answered(check):
            return found
        handed_in = _hands_in(check)
        if not handed_in and not _writes(check):
            return found
        return _worse(found, self._of_repository(level, check, handed_in=handed_in))

    def _of_repository(self, level: CheckLevel, check: Check, *, handed_in: bool) -> Verdict:
        seen = check.look(BASH, {"command": look(self._project)})
        sight = read_look(seen.body) if seen.answered else "the repository could not be looked at"
        if isinstance(sight, str):
            return undecided(level, sight)
        reasons = list(check_parses(sorted(sight.files), sight.files.get).reasons)
        if handed_in:
            reasons += check_change(sight.changed).reasons
            if sight.refused:
                reasons.append(f"the patch does not apply: {sight.refused[:200]}")
        if reasons or level is not CheckLevel.SEMANTIC or not handed_in:
            return judged(level, *reasons)
        return self._tested(check, sight)

    def _tested(self, check: Check, sight: Sight) -> Verdict:
        """V2 of what is handed in: the visible tests that know the change."""
        level, project = CheckLevel.SEMANTIC, self._project
        chosen = visible_tests(sight.changed, sight.tree, sight.read())
        if not chosen or not project.test:
            return undecided(level, "no visible test is known for it")
        seen = check.look(BASH, {"command": run_tests(project, [test.path for test in chosen])})
        read = read_answer(seen.body) if seen.answered else None
        if read is None or read[0] == _ENDED:
            return undecided(level, "the visible tests did not come to an end")
        found = check_tests(parser(project.parser)(read[1]))
        if found.passed or project.green:
            return found
        return undecided(level, *found.reasons, "nobody knows whether they passed before")


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
        if found is not None and found[0] == _ENDED:
            return "the command was ended at its timeout"
    return ""


def _answered(check: Check) -> bool:
    return check.tool == BASH and check.observation is not None and check.observation.answered


def _writes(check: Check) -> bool:
    level = level_of_call(check.tool, check.arguments)
    return level is not None and level.writes


def _hands_in(check: Check) -> bool:
    """Whether the answer is one by which a runner takes the work for done."""
    read = read_answer(check.observation.body) if check.observation else None
    return read is not None and read[0] == 0 and read[1].lstrip().startswith(SUBMIT)


def _worse(one: Verdict, other: Verdict) -> Verdict:
    """What two checks of a level come to: both must pass, and be sure of it."""
    if not other.passed or (other.undecided and not one.undecided):
        return other
    return one


def _called(_check: Check) -> str:
    return "the command"


_RULES = Rules(_whole, _sound, level_of_call, landed, _called)
