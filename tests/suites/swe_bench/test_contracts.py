"""What `bash` answers, and what a runtime may conclude from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.shell.client import Executed
from hfr_bench.suites.swe_bench.contracts import (
    answer,
    masked,
    read_answer,
)


def ran(exit_code: int | None = 0, stdout: str = "", *, timed_out: bool = False) -> Executed:
    return Executed(exit_code, timed_out, stdout, "", 0, False, 0, 1, 1, False)


@given(st.text(), st.integers(0, 255))
def test_an_answer_is_read_back(said: str, code: int) -> None:
    found = read_answer(answer(ran(code, said), "/no/such/place"))
    assert found is not None
    assert found[0] == code


@given(st.text(max_size=50), st.data())
def test_a_part_of_an_answer_is_told_from_the_whole(said: str, data: st.DataObject) -> None:
    whole = answer(ran(0, said), "/no/such/place")
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert read_answer(whole[:cut]) is None


def test_what_differs_from_run_to_run_is_masked() -> None:
    assert masked("rootdir: /tmp/x/testbed, 2 passed in 1.37s", "/tmp/x/testbed") == (
        "rootdir: /testbed, 2 passed in 0.00s"
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/bin/bash: line 2:    14 Killed    x", "/bin/bash: line 2:    0 Killed    x"),
        ("a.py: line 2: 14 Killed", "a.py: line 2: 14 Killed"),
        ("sed: couldn't flush ./sedAb1Cd2: No", "sed: couldn't flush ./sedXXXXXX: No"),
        ("bash -c exec # hfr-call=abc.3.1; ls", "bash -c exec # hfr-call; ls"),
    ],
)
def test_what_failing_and_marked_commands_say_is_masked(said: str, told: str) -> None:
    assert masked(said, "/no/such/place") == told


@given(st.text(alphabet="sed: Ab1;=hfrcal-\n /bin.0234k", max_size=60))
def test_what_is_masked_stays_as_it_is(said: str) -> None:
    once = masked(said, "/no/such/place")
    assert masked(once, "/no/such/place") == once


def test_a_command_that_was_ended_says_so() -> None:
    assert read_answer(answer(ran(None, "a", timed_out=True), "/x")) == (
        -1,
        "a\nThe command was ended at its timeout.\n",
    )
