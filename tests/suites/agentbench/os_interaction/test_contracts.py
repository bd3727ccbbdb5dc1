"""What `bash_action` answers."""

from typing import Any

from hfr_bench.shell.client import Executed
from hfr_bench.suites.agentbench.os_interaction import contracts


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
