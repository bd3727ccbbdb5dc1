"""Checks of single commands: what passes, what does not, and what cannot be told."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from hfr_bench.model.attempt import Observation
from hfr_bench.model.terms import CheckLevel
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.swe_bench.mini import catalog
from hfr_bench.suites.swe_bench.verifier import CommandVerifier
from hfr_bench.testing.fakes import fine, lost

TASK = next(iter(catalog.tasks().values())).public
GOOD = "<returncode>0</returncode>\n<output>\na\n</output>"
ENDED = GOOD.replace(">0<", ">-1<")
V0, V1, V2 = CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.SEMANTIC


def check(seen: Observation | None, command: Any = "echo a >> f", now: Any = (1, 1)) -> Check:
    def look(tool: str, arguments: Mapping[str, Any]) -> Observation:
        assert (tool, arguments) == ("command_status", {"command": command})
        return lost() if now is None else fine(counts(*now))

    arguments = {} if command is None else {"command": command}
    return Check("bash", arguments, seen, (), look, before=counts(0, 0))


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
    assert CommandVerifier(TASK).verify(level, check(seen)).passed is passed


@pytest.mark.parametrize("command", [None, 1, " "])
def test_a_command_is_a_text(command: Any) -> None:
    assert not CommandVerifier(TASK).verify(V1, check(None, command)).passed


@pytest.mark.parametrize(
    ("now", "passed", "undecided"),
    [((1, 1), True, False), ((0, 0), False, False), ((1, 0), True, True), (None, True, True)],
)
def test_a_write_is_looked_for(now: Any, *, passed: bool, undecided: bool) -> None:
    verdict = CommandVerifier(TASK).verify(V2, check(fine(GOOD), now=now))
    assert (verdict.passed, verdict.undecided) == (passed, undecided)


def test_a_read_is_not() -> None:
    assert CommandVerifier(TASK).verify(V2, check(fine(GOOD), "cat f", (0, 0))).passed


def test_what_it_cannot_judge_is_said() -> None:
    with pytest.raises(ValueError, match="level V3: there are V0, V1, V2"):
        CommandVerifier(TASK).verify(CheckLevel.AUTHORITY, check(None))
