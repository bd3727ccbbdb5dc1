"""Strategy-side checks of scripts: the shell's own answer, a text in the call, a second look."""

from typing import Any

import pytest

from hfr_bench.model.attempt import Observation
from hfr_bench.model.terms import CheckLevel
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.agentbench.os_interaction import OsMiniSuite

WHOLE, SENSE, LOOK = CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.SEMANTIC


def answered(body: str) -> Observation:
    return Observation(answered=True, status=200, body=body, payload=body)


@pytest.mark.parametrize(
    ("level", "tool", "arguments", "body", "after", "found"),
    [
        (WHOLE, "bash_action", {"script": "ls"}, "The output of the OS:\n\na", "", (True, False)),
        (WHOLE, "bash_action", {"script": "ls"}, "The output", "", (False, False)),
        (WHOLE, "finish_action", {"thought": "x"}, "?", "", (True, False)),
        (SENSE, "bash_action", {"script": " "}, "", "", (False, False)),
        (SENSE, "answer_action", {"answer": "x"}, "", "", (True, False)),
        (SENSE, "finish_action", {}, "", "", (False, False)),
        (LOOK, "bash_action", {"script": "ls"}, "", "", (True, False)),
        (LOOK, "command_status", {"script": "rm a"}, "", "", (True, False)),
        (LOOK, "finish_action", {"thought": "x"}, "", "", (True, False)),
        (LOOK, "bash_action", {"script": "rm a"}, "", "", (True, True)),
        (LOOK, "bash_action", {"script": "rm a"}, "", '{"started": 1, "ended": 1}', (True, False)),
        (LOOK, "bash_action", {"script": "rm a"}, "", '{"started": 0, "ended": 0}', (False, False)),
    ],
)
def test_checks(
    suite: OsMiniSuite,
    level: CheckLevel,
    tool: str,
    arguments: dict[str, Any],
    body: str,
    after: str,
    found: tuple[bool, bool],
) -> None:
    task = suite._pool("base")[0].public
    before = '{"started": 0, "ended": 0}'
    check = Check(tool, arguments, answered(body), (), lambda *_: answered(after), before)
    verdict = suite.verifier(task).verify(level, check)
    assert (verdict.passed, verdict.undecided) == found
