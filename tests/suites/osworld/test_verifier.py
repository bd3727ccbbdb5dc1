"""Checks of single actions by what was seen: whole, carried out, and really there."""

from collections.abc import Mapping
from typing import Any

import pytest

from hfr_bench.model.attempt import Observation, Verdict
from hfr_bench.model.terms import CheckLevel
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.osworld import contracts
from hfr_bench.suites.osworld.mini.catalog import tasks
from hfr_bench.suites.osworld.verifier import DeskVerifier
from hfr_bench.testing.fakes import fine, lost

V0, V1, V2 = DeskVerifier.levels
RAN = contracts.ran("out", "", 0)
APPEND = {"path": "f", "text": "b\n"}


def verify(
    level: CheckLevel,
    seen: Observation | None,
    tool: str = "execute",
    arguments: Mapping[str, Any] | None = None,
    before: str | None = None,
    now: str = "",
) -> Verdict:
    task = tasks()["files-append-log"].public
    given = {"command": "echo x >> f"} if arguments is None else arguments
    asked: list[tuple[str, Any]] = []

    def look(name: str, read: Mapping[str, Any]) -> Observation:
        asked.append((name, dict(read)))
        return fine(now) if now else lost()

    verdict = DeskVerifier(task).verify(level, Check(tool, given, seen, (), look, before))
    assert bool(asked) is (level is V2 and bool(verdict.reasons))
    return verdict


def test_v0_wants_a_whole_answer() -> None:
    assert verify(V0, fine(RAN)).passed
    assert verify(V0, None).passed
    assert not verify(V0, fine(RAN[:-3])).passed
    assert not verify(V0, lost()).passed
    assert not verify(V0, fine(RAN), tool="nothing").passed


def test_v1_wants_no_refusal_and_no_timeout() -> None:
    assert verify(V1, fine(RAN)).passed
    assert verify(V1, fine(contracts.ran("", "no", 1))).passed  # a command may fail
    assert not verify(V1, fine(contracts.ran("", "", None))).passed
    assert not verify(V1, fine(contracts.refusal("no tool"))).passed


@pytest.mark.parametrize(
    ("before", "now", "passed", "undecided"),
    [
        ("a\n", "a\nb\n", True, False),
        ("a\n", "a\n", False, False),
        ("a\n", "other", True, True),
        ("a\n", None, True, True),
    ],
)
def test_v2_looks_at_the_file(before: str, now: str | None, passed: bool, undecided: bool) -> None:
    told = "" if now is None else contracts.file_told("f", now)
    then = contracts.file_told("f", before)
    found = verify(V2, fine(RAN), "append_text", APPEND, then, told)
    assert (found.passed, found.undecided) == (passed, undecided)


def test_v2_looks_at_the_log_of_what_writes_and_at_nothing_for_a_read() -> None:
    before, now = contracts.logged(1, 1), contracts.logged(2, 2)
    assert verify(V2, fine(RAN), before=before, now=now).passed
    assert not verify(V2, fine(RAN), before=before, now=before).passed
    assert verify(V2, fine(RAN), arguments={"command": "cat f"}).passed
    assert verify(V2, fine("{}"), "read_file", {"path": "f"}).passed


def test_another_level_is_refused() -> None:
    with pytest.raises(ValueError, match="there are V0, V1, V2"):
        verify(CheckLevel.AUTHORITY, fine(RAN))


def test_v2_leaves_the_end_of_an_episode_alone() -> None:
    found = verify(V2, fine(contracts.done("DONE")), "finish", {"status": "DONE"})
    assert (found.passed, found.undecided, found.quality) == (True, False, 1.0)
