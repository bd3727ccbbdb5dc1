"""Checks of single commands, and of what they leave: what passes, what not, what cannot be told."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from hfr_bench.model.attempt import Observation
from hfr_bench.model.terms import CheckLevel
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.swe_bench.looking import Project
from hfr_bench.suites.swe_bench.mini import catalog
from hfr_bench.suites.swe_bench.verifier import CommandVerifier
from hfr_bench.testing.fakes import fine, lost

TASK = next(iter(catalog.tasks().values())).public
GOOD = "<returncode>0</returncode>\n<output>\na\n</output>"
ENDED = GOOD.replace(">0<", ">-1<")
HANDED_IN = GOOD.replace("\na\n", "\nCOMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n")
HAND_IN = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
V0, V1, V2 = CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.SEMANTIC
PROJECT = Project(("0" * 40,), "pytest -rA", "parse_log_pytest", green=True)
VERIFIER = CommandVerifier(TASK, PROJECT)


def framed(said: str, code: int = 0) -> Observation:
    return fine(f"<returncode>{code}</returncode>\n<output>\n{said}\n</output>")


def shown(*changed: str, text: str = "x = 1\n", applies: str = "yes") -> Observation:
    """A look at a repository whose changed Python files hold `text`, and one test of each."""
    parts = {
        "changed": "\n".join(changed),
        "new": "",
        "applies": applies,
        **{f"file {name}": text for name in changed if name.endswith(".py")},
        "tree": "tests/test_m.py",
        "mentions": "",
        "end": "",
    }
    said = "\n".join(f"\n== hfr-check {name}\n{body}" for name, body in parts.items())
    return framed(said.removesuffix("\n"))


class Looks:
    """Answers each look in turn, and keeps what was asked; a status is told as `now`."""

    def __init__(self, *answers: Observation, now: Any = (1, 1)) -> None:
        self.asked: list[tuple[str, str]] = []
        self._answers, self._now = list(answers), now

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Observation:
        self.asked.append((tool, arguments["command"]))
        if tool == "command_status":
            return lost() if self._now is None else fine(counts(*self._now))
        return self._answers.pop(0) if self._answers else shown("m.py")


def check(
    seen: Observation | None, command: Any = "echo a >> f", look: Looks | None = None
) -> Check:
    arguments = {} if command is None else {"command": command}
    return Check("bash", arguments, seen, (), look or Looks(), before=counts(0, 0))


def handed_in(*answers: Observation) -> Check:
    return check(fine(HANDED_IN), HAND_IN, Looks(*answers))


def counts(started: int, ended: int) -> str:
    return json.dumps({"started": started, "ended": ended})


@pytest.mark.parametrize(
    ("level", "seen", "passed"),
    [
        (V0, fine(GOOD), True),
        (V0, None, True),
        (V0, lost(), False),
        (V0, fine(GOOD[:-3]), False),
        (V1, fine(GOOD), True),
        (V1, fine(ENDED), False),
    ],
)
def test_an_answer_is_whole_and_ended_by_itself(
    level: CheckLevel, seen: Observation | None, *, passed: bool
) -> None:
    assert VERIFIER.verify(level, check(seen)).passed is passed


@pytest.mark.parametrize("command", [None, 1, " "])
def test_a_command_is_a_text(command: Any) -> None:
    assert not VERIFIER.verify(V1, check(None, command)).passed


@pytest.mark.parametrize(
    ("now", "passed", "undecided"),
    [((1, 1), True, False), ((0, 0), False, False), ((1, 0), True, True), (None, True, True)],
)
def test_a_write_is_looked_for(now: Any, *, passed: bool, undecided: bool) -> None:
    verdict = VERIFIER.verify(V2, check(fine(GOOD), look=Looks(now=now)))
    assert (verdict.passed, verdict.undecided) == (passed, undecided)


@pytest.mark.parametrize(("seen", "command"), [(fine(GOOD), "cat f"), (None, "echo a >> f")])
@pytest.mark.parametrize("level", [V0, V1])
def test_nobody_looks_for_a_read_nor_before_a_call(
    level: CheckLevel, seen: Observation | None, command: str
) -> None:
    look = Looks()
    assert VERIFIER.verify(level, check(seen, command, look)).passed
    assert look.asked == []


@pytest.mark.parametrize("level", [V1, V2])
def test_a_write_that_leaves_a_file_that_does_not_parse(level: CheckLevel) -> None:
    look = Looks(shown("m.py", "notes.txt", text="x = 1\ndef f(:\n"))
    verdict = VERIFIER.verify(level, check(fine(GOOD), look=look))
    assert not verdict.passed
    assert verdict.reasons == ("m.py:2: invalid syntax",)
    assert [tool for tool, _ in look.asked] == ["command_status", "bash"][
        -1 if level is V1 else 0 :
    ]


def test_the_cheapest_level_looks_at_nothing() -> None:
    assert VERIFIER.verify(V0, handed_in(shown())).passed


@pytest.mark.parametrize("level", [V1, V2])
@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (shown(), "nothing is changed"),
        (shown("conftest.py"), "touches only what runs the tests"),
        (shown("m.py", text="(\n"), "m.py:1: "),
        (shown("m.py", applies="error: no"), "the patch does not apply: error: no"),
    ],
)
def test_what_is_handed_in(level: CheckLevel, seen: Observation, said: str) -> None:
    verdict = VERIFIER.verify(level, handed_in(seen))
    assert not verdict.passed
    assert said in "; ".join(verdict.reasons)


def test_a_good_patch_and_its_visible_tests() -> None:
    assert VERIFIER.verify(V1, handed_in(shown("m.py"))).passed
    fails = framed("FAILED tests/test_m.py::test_a - x", 1)
    for ran, passed in ((framed("PASSED tests/test_m.py::test_a"), True), (fails, False)):
        look = Looks(shown("m.py"), ran)
        verdict = VERIFIER.verify(V2, check(fine(HANDED_IN), HAND_IN, look))
        assert (verdict.passed, verdict.undecided) == (passed, False)
        assert look.asked[1] == ("bash", "pytest -rA tests/test_m.py\n# == hfr-check")


@pytest.mark.parametrize(
    "answers",
    [
        (lost(),),
        (fine(GOOD[:-3]),),
        (shown("notes.txt"),),
        (shown("m.py"), lost()),
        (shown("m.py"), framed("", -1)),
        (shown("m.py"), framed("no summary", 1)),
    ],
)
def test_what_could_not_be_looked_at_decides_nothing(answers: tuple[Observation, ...]) -> None:
    verdict = VERIFIER.verify(V2, handed_in(*answers))
    assert (verdict.passed, verdict.undecided) == (True, True)
    assert verdict.reasons


def test_a_test_that_may_have_failed_all_along_decides_nothing() -> None:
    unknown = CommandVerifier(TASK, replace(PROJECT, green=False))
    fails = framed("FAILED tests/test_m.py::test_a - x", 1)
    verdict = unknown.verify(V2, handed_in(shown("m.py"), fails))
    assert (verdict.passed, verdict.undecided) == (True, True)
    assert verdict.reasons[0] == "failed: tests/test_m.py::test_a"
    passes = framed("PASSED tests/test_m.py::test_a")
    assert not unknown.verify(V2, handed_in(shown("m.py"), passes)).undecided


def test_without_a_test_command_none_is_run() -> None:
    verdict = CommandVerifier(TASK, Project(("0" * 40,))).verify(V2, handed_in(shown("m.py")))
    assert (verdict.passed, verdict.undecided) == (True, True)


def test_an_answer_that_hands_nothing_in_is_a_read() -> None:
    look = Looks()
    assert VERIFIER.verify(V1, check(fine(GOOD), HAND_IN, look)).passed
    assert VERIFIER.verify(V1, check(framed("COMPLETE_TASK_AND_SUBMIT", 1), HAND_IN, look)).passed
    assert look.asked == []


def test_what_it_cannot_judge_is_said() -> None:
    with pytest.raises(ValueError, match="level V3: there are V0, V1, V2"):
        VERIFIER.verify(CheckLevel.AUTHORITY, check(None))
