"""What answers tell of a write, and what they hide of the machine."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.terms import Landed
from hfr_bench.suites.osworld import contracts
from hfr_bench.suites.osworld.actions import BadActionError

PREDICATES = contracts.PREDICATES
Counts = tuple[int, int] | None


def file(text: str | None) -> str:
    return contracts.file_told("f", text)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ((0, 0), (1, 1), "committed"),
        ((1, 1), (2, 2), "committed"),
        ((1, 1), (1, 1), "absent"),
        ((0, 0), (1, 0), "unknown"),
        ((2, 2), (1, 1), "unknown"),
        (None, (0, 0), "absent"),
        (None, (1, 1), "unknown"),
        ((0, 0), None, "unknown"),
    ],
)
def test_a_command_has_run_since(before: Counts, after: Counts, found: str) -> None:
    then, now = (None if one is None else contracts.logged(*one) for one in (before, after))
    assert contracts.landed("ran_since", then, now, {}) == found


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (file("a\n"), file("a\nb\n"), "committed"),
        (file("a\n"), file("a\n"), "absent"),
        (file("a\n"), file("a\nb\nb\n"), "unknown"),
        (file(None), file("b\n"), "committed"),
        (file(None), file(None), "absent"),
        (None, file("a\n"), "absent"),
        (None, file("a\nb\n"), "unknown"),
        (file("a\n"), file("a\nb\n")[:-4], "unknown"),
        (file("a\n"), None, "unknown"),
        (file("a\n"), contracts.file_told("f", "a\n", cut=True), "unknown"),
    ],
)
def test_a_file_has_grown_by_a_text(before: str | None, after: str | None, found: str) -> None:
    assert contracts.landed("grown_by", before, after, {"text": "b\n"}) == found


@given(st.text(), st.text(min_size=1))
def test_an_append_is_known_from_a_repeat(held: str, text: str) -> None:
    then, once, twice = (file(held + text * n) for n in range(3))
    told = [contracts.landed("grown_by", then, now, {"text": text}) for now in (then, once, twice)]
    assert told == [Landed.ABSENT, Landed.COMMITTED, Landed.UNKNOWN]


def test_a_file_that_is_written_holds_its_text() -> None:
    for held, found in (("b", "committed"), ("a", "absent"), (None, "absent")):
        assert contracts.landed("holds", None, file(held), {"text": "b"}) == found


@pytest.mark.parametrize("predicate", PREDICATES)
def test_half_an_answer_tells_nothing(predicate: str) -> None:
    whole = contracts.logged(1, 1) if predicate == "ran_since" else file("b")
    for cut in range(len(whole)):
        found = contracts.landed(predicate, whole, whole[:cut], {"text": "b"})
        assert found is Landed.UNKNOWN


def test_an_unknown_predicate_is_named() -> None:
    with pytest.raises(ValueError, match="no predicate 'x'; there are: ran_since, grown_by, holds"):
        contracts.landed("x", None, None, {})


def test_the_home_folder_is_hidden_and_found_again() -> None:
    home = "/tmp/x/work/home"
    assert contracts.outward(f"{home}/a: no", home) == "/home/user/a: no"
    assert contracts.inward("cat /home/user/a /home/user2/b", home) == f"cat {home}/a /home/user2/b"


def test_an_answer_says_the_code_and_both_streams() -> None:
    told = json.loads(contracts.ran("out", "err", 3))
    assert told == {"status": "success", "output": "out", "error": "err", "returncode": 3}
    late = json.loads(contracts.ran("out", "", None))
    assert (late["status"], late["returncode"]) == ("error", -1)


def test_an_action_and_its_log_have_one_name() -> None:
    spec = {"tool": "computer_13", "action_type": "CLICK", "parameters": None}
    plain = {"action_type": "CLICK"}
    assert contracts.noted("computer_13", spec) == contracts.noted("computer_13", plain)
    names = [
        contracts.noted("execute", {"command": "x"}),
        contracts.noted("pyautogui", {"command": "x"}),
        contracts.noted("append_text", {"path": "x", "text": "y"}),
        contracts.noted("write_text", {"path": "x", "text": "y"}),
    ]
    assert len(set(names)) == 4
    with pytest.raises(BadActionError, match="no log of 'wait'"):
        contracts.noted("wait", {})
