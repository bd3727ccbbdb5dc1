"""The official verdict from a test log, and the ends that are no verdict, apart.

The rule is SWE-bench 5.0.2's: every FAIL_TO_PASS and PASS_TO_PASS test passes, in a log that has
both markers, tells of no failed preparation, and does not claim success against the exit code of
its own test command. Nothing here runs anything.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from hfr_bench.model.record import digest
from hfr_bench.suites.swe_bench.patches import patch_sha256, suspect_spoof
from hfr_bench.suites.swe_bench.rows import EvalType, Gold
from hfr_bench.suites.swe_bench.statuses import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    XFAIL,
    Found,
    Parser,
)

GRADER = "hfr-swe-bench/1"
"""Changes whenever a verdict could; part of every cache key."""

START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
EXIT_CODE = ">>>>> Test Exit Code"
APPLY_FAILED_MARK, TIMED_OUT_MARK = ">>>>> Patch Apply Failed", ">>>>> Tests Timed Out"
_BAD_MARKS = (APPLY_FAILED_MARK, ">>>>> Reset Failed", ">>>>> Tests Errored", TIMED_OUT_MARK)
_EXIT = re.compile(rf"{re.escape(EXIT_CODE)}:\s*(-?\d+)")


class Outcome(StrEnum):
    """How an evaluation ended.

    RESOLVED and UNRESOLVED are verdicts; EMPTY_PATCH, APPLY_FAILED and EVAL_TIMEOUT are the patch's
    doing and count as unresolved; INFRA_ERROR is ours: a void.
    """

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    EMPTY_PATCH = "empty_patch"
    APPLY_FAILED = "apply_failed"
    EVAL_TIMEOUT = "eval_timeout"
    INFRA_ERROR = "infra_error"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of running a task's tests.

    `log`: all that was said, both streams merged; None = the tests were never started; `infra`:
    what broke on our side, "" if nothing did.
    """

    log: str | None
    applied: bool = True
    timed_out: bool = False
    infra: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """The named tests of one list, by whether they count as passed."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of those that count as passed; 1 for an empty list, as upstream has it."""
        total = len(self.passed) + len(self.failed)
        return len(self.passed) / total if total else 1.0


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict.

    `fail_to_pass`, `pass_to_pass`: None where no log could be read (`reason` says why);
    `suspect_spoof`: reasons to look at a resolved patch, see `patches`; `hint`: what an unreadable
    log points to: advice only, it never changes the outcome, since a patch can print what it likes.
    """

    outcome: Outcome
    reason: str = ""
    fail_to_pass: Results | None = None
    pass_to_pass: Results | None = None
    suspect_spoof: tuple[str, ...] = ()
    hint: str = ""

    @property
    def resolved(self) -> bool:
        return self.outcome is Outcome.RESOLVED

    @property
    def partial(self) -> bool:
        """Some of FAIL_TO_PASS pass, and all of PASS_TO_PASS."""
        if self.fail_to_pass is None or self.pass_to_pass is None:
            return False
        return 0 < self.fail_to_pass.share < 1 and self.pass_to_pass.share == 1


def grade(
    gold: Gold,
    patch: str | None,
    evaluation: Evaluation,
    parser: Parser,
    eval_type: EvalType = "pass_and_fail",
) -> Grade:
    """The verdict on a patch. `parser`: see `parsers.parser`."""
    early = _without_log(patch, evaluation)
    if early is not None:
        return early
    log = evaluation.log or ""
    found, reason = read_log(log, parser)
    if found is None:
        marks = {APPLY_FAILED_MARK: Outcome.APPLY_FAILED, TIMED_OUT_MARK: Outcome.EVAL_TIMEOUT}
        outcome = next((end for mark, end in marks.items() if mark in log), Outcome.UNRESOLVED)
        return Grade(outcome, reason, hint=hint(log))
    fail_to_pass = _judged(gold.fail_to_pass, found, eval_type, frozenset({PASSED, XFAIL}))
    pass_to_pass = _judged(gold.pass_to_pass, found, eval_type, frozenset({PASSED, XFAIL, SKIPPED}))
    if fail_to_pass.failed or pass_to_pass.failed:
        what = (("FAIL_TO_PASS", fail_to_pass), ("PASS_TO_PASS", pass_to_pass))
        reason = ", ".join(f"{len(t.failed)} of {name} failed" for name, t in what if t.failed)
        return Grade(Outcome.UNRESOLVED, reason, fail_to_pass, pass_to_pass)
    suspect = suspect_spoof(patch or "")
    return Grade(Outcome.RESOLVED, "", fail_to_pass, pass_to_pass, suspect)


def read_log(log: str, parser: Parser) -> tuple[Found | None, str]:
    """Test name -> status, or None and why the log is no record of a test run."""
    if bad := [mark for mark in _BAD_MARKS if mark in log]:
        return None, f"the log says {bad[0]!r}"
    if lacking := [mark for mark in (START, END) if mark not in log]:
        return None, f"the log lacks {lacking[0]!r}: the tests were not run to their end"
    found = parser(log.split(START)[1].split(END, maxsplit=1)[0]) or parser(log)
    if not found:
        return None, "no test result in the log"
    code = recorded_exit_code(log)
    if code not in (None, 0) and found and not {FAILED, ERROR} & set(found.values()):
        return None, f"no test failed by the log, but the test command ended with {code}"
    return found, ""


def recorded_exit_code(log: str) -> int | None:
    """Of the test command, as the eval script wrote it down; None if it did not."""
    found = _EXIT.search(log)
    return int(found[1]) if found else None


def cache_key(
    instance_id: str, patch: str, image: str, eval_script: str, gold: Gold, attempt: int = 1
) -> str:
    """Names one evaluation by all that its verdict rests on: never a run's name alone.

    `image`: its id, not a tag that may move; `attempt`: for repeats that must run anew.
    """
    return digest(
        {
            "grader": GRADER,
            "instance_id": instance_id,
            "patch_sha256": patch_sha256(patch),
            "image": image,
            "eval_script_sha256": patch_sha256(eval_script),
            "tests": [list(gold.fail_to_pass), list(gold.pass_to_pass)],
            "attempt": attempt,
        }
    )


def hint(log: str) -> str:
    """What an unreadable log points to: "environment: ..." or "either: ..."; "" = nothing known."""
    for sure, name, pattern in _HINTS:
        if pattern.search(log):
            return f"{'environment' if sure else 'either'}: {name}"
    return ""


def _without_log(patch: str | None, evaluation: Evaluation) -> Grade | None:
    """The ends that need no log, in the order in which they happen."""
    if not (patch or "").strip():
        return Grade(Outcome.EMPTY_PATCH, "the patch is empty")
    if evaluation.infra:
        return Grade(Outcome.INFRA_ERROR, evaluation.infra)
    if not evaluation.applied:
        return Grade(Outcome.APPLY_FAILED, "no way of applying the patch worked")
    if evaluation.timed_out:
        return Grade(Outcome.EVAL_TIMEOUT, "the tests were ended at their timeout")
    if evaluation.log is None:
        return Grade(Outcome.INFRA_ERROR, "the tests were never started")
    return None


def _judged(
    names: Iterable[str], found: Found, eval_type: EvalType, good: frozenset[str]
) -> Results:
    """Which of the named tests count as passed.

    Stricter than upstream in one thing: a status that is none of the five (a line "PASSEDx name")
    is a failure here; there it takes the test out of the verdict, so that nothing need pass.
    """
    passed: list[str] = []
    failed: list[str] = []
    for name in names:
        status = _status(name, found)
        ok = found.get(name) != FAILED if eval_type == "fail_only" else status in good
        (passed if ok else failed).append(name)
    return Results(tuple(passed), tuple(failed))


def _status(name: str, found: Mapping[str, str]) -> str | None:
    """Of a test by its name; by the beginning of one, where the row's own name was cut short.

    676 names in Verified end within their parameters. Such a name stands for those that begin with
    it if they agree on whether they passed; the first one's status is theirs.
    """
    if name in found or name.count("[") <= name.count("]"):
        return found.get(name)
    candidates = [status for other, status in found.items() if other.startswith(name)]
    if len({status in (PASSED, XFAIL) for status in candidates}) == 1:
        return candidates[0]
    return None


_HINTS = tuple(
    (sure, name, re.compile(pattern, re.MULTILINE))
    for sure, name, pattern in (
        (True, "out of memory", r"Cannot allocate memory|MemoryError|^Killed$"),
        (True, "no space left", r"No space left on device"),
        (True, "no container", r"Error response from daemon|Cannot connect to the Docker daemon"),
        (True, "no network", r"Could not resolve host|Temporary failure in name resolution"),
        (False, "a module is missing", r"ModuleNotFoundError|No module named"),
        (False, "no test collected", r"no tests ran|collected 0 items"),
    )
)
