"""Whether a command has run: the answer of `command_status`, and what follows from two of them."""

import json

import pytest

from hfr_bench.model.terms import Landed
from hfr_bench.shell.client import Executed, Recalled
from hfr_bench.shell.ran import RAN_SINCE, landed, status


def ran(stdout: str) -> Executed:
    return Executed(0, False, stdout, "", 0, False, 0, 1, 1, False)


def counts(started: int, ended: int) -> str:
    return json.dumps({"started": started, "ended": ended})


@pytest.mark.parametrize(
    ("state", "runs", "told"),
    [("absent", 0, (0, 0)), ("started", 3, (3, 2)), ("done", 2, (2, 2))],
)
def test_the_status_counts_what_began_and_what_ended(
    state: str, runs: int, told: tuple[int, int]
) -> None:
    executed = ran("a") if state == "done" else None
    recalled = Recalled(state, runs, executed)  # type: ignore[arg-type]
    found = json.loads(status(recalled, lambda done: f"said: {done.stdout}"))
    assert (found["started"], found["ended"]) == told
    assert found.get("last") == ("said: a" if state == "done" else None)


@pytest.mark.parametrize(
    ("before", "after", "is_landed"),
    [
        (counts(0, 0), counts(0, 0), Landed.ABSENT),
        (counts(0, 0), counts(1, 1), Landed.COMMITTED),
        (counts(0, 0), counts(1, 0), Landed.UNKNOWN),  # it runs, or was ended in its midst
        (counts(2, 2), counts(2, 2), Landed.ABSENT),
        (counts(2, 2), counts(3, 3), Landed.COMMITTED),
        (counts(3, 3), counts(1, 1), Landed.UNKNOWN),  # another sandbox
        (None, counts(0, 0), Landed.ABSENT),
        (None, counts(1, 1), Landed.UNKNOWN),
        (counts(0, 0), None, Landed.UNKNOWN),
        (counts(0, 0), "nonsense", Landed.UNKNOWN),
        (counts(0, 0), '{"started": "1", "ended": 1}', Landed.UNKNOWN),
        (counts(0, 0), "[1]", Landed.UNKNOWN),
        (counts(1, 1), counts(2, 1), Landed.UNKNOWN),
    ],
)
def test_whether_it_has_run_since(before: str | None, after: str | None, is_landed: Landed) -> None:
    assert landed(RAN_SINCE, before, after, {}) is is_landed


def test_an_unknown_predicate_is_refused() -> None:
    with pytest.raises(ValueError, match="no predicate 'other'; there is: ran_since"):
        landed("other", None, None, {})
