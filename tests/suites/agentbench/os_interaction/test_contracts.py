"""What the shell's tools answer, and whether a script has run."""

import json
from typing import Any

import pytest

from hfr_bench.model.terms import Landed
from hfr_bench.shell.client import Executed, Recalled
from hfr_bench.suites.agentbench.os_interaction import contracts
from hfr_bench.suites.agentbench.os_interaction.contracts import RAN_SINCE, landed


def executed(stdout: str, **more: Any) -> Executed:
    rest: dict[str, Any] = {
        "exit_code": 0, "timed_out": False, "stderr": "", "cut_bytes": 0, "lossy": False, "left": 0,
        "wall_us": 1, "runs": 1, "repeated": False,
    }  # fmt: skip
    return Executed(stdout=stdout, **(rest | more))


def test_answers_are_upstream_s_words() -> None:
    assert contracts.answer(executed("a\n"), "/x") == "The output of the OS:\n\na\n"
    assert contracts.answer(executed(""), "/x") == "The output of the OS is empty."
    long = contracts.answer(executed("a" * 801), "/x")
    assert long.endswith("a\n[truncated because the output is too long]")
    assert long.count("a" * 780) == 1
    assert "a" * 781 not in long


def test_where_the_scratch_folder_lies_is_masked() -> None:
    assert "/sandbox/home/a" in contracts.answer(executed("/tmp/q7/home/a"), "/tmp/q7")


def test_a_script_that_was_ended_says_so() -> None:
    done = executed("", exit_code=None, timed_out=True)
    assert contracts.answer(done, "/x").endswith("The command was ended at its timeout.")


def told(started: int, ended: int) -> str:
    return json.dumps({"started": started, "ended": ended})


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (told(0, 0), told(1, 1), "committed"),
        (told(1, 1), told(2, 2), "committed"),
        (told(1, 1), told(2, 1), "unknown"),  # under way
        (told(1, 1), told(1, 1), "absent"),
        (None, told(0, 0), "absent"),
        (None, told(1, 1), "unknown"),
        (told(2, 2), told(1, 1), "unknown"),
        (told(0, 0), None, "unknown"),
        (told(0, 0), "Error", "unknown"),
        (told(0, 0), "[1]", "unknown"),
    ],
)
def test_ran_since(before: str | None, after: str | None, expected: str) -> None:
    assert landed(RAN_SINCE, before, after, {}) is Landed(expected)


def test_another_predicate_is_refused() -> None:
    with pytest.raises(ValueError, match="there is: ran_since"):
        landed("other", None, None, {})


def test_a_run_that_has_not_ended_is_not_counted_as_ended() -> None:
    assert json.loads(contracts.status(Recalled("started", 2, None), "/x")) == {
        "started": 2,
        "ended": 1,
    }
    done = json.loads(contracts.status(Recalled("done", 1, executed("a")), "/x"))
    assert done["last"] == "The output of the OS:\n\na"
