"""Verdict and state, side by side."""

from typing import Any

import pytest

from hfr_bench.lab.states import states
from hfr_bench.model.trial import Outcome, TrialResult


def ended(rate: float, official: float, state: str, arm: str = "a", **fields: Any) -> TrialResult:
    outcome = Outcome(
        official=official, goal_met=bool(official), accepted=True, in_time=True, end="accepted"
    )
    plain = {"suite": "s", "task_id": "t", "seed": 1, "profile": "p", "pair_group": "g"}
    return TrialResult(
        trial_id=f"{arm}{rate}{state}", rate=rate, arm=arm, origin="rehearsal", outcome=outcome,
        state_digest=state, **(plain | fields),
    )  # fmt: skip


def test_a_trial_is_held_against_its_own_twin() -> None:
    trials = [
        ended(0, 1, "x"),
        ended(0.2, 1, "y"),
        ended(0, 1, "y", arm="b"),
        ended(0.2, 1, "y", arm="b"),
        ended(0.2, 0, "z", arm="b", task_id="other"),  # no twin
    ]
    rows = {row.arm: row for row in states(trials)}
    a, b = rows["a"], rows["b"]
    assert (a.trials, a.official, a.same, a.resolved_other, a.same_failed) == (1, 1, 0, 1, 0)
    assert (b.trials, b.official, b.same, b.resolved_other, b.same_failed) == (1, 1, 1, 0, 0)


@pytest.mark.parametrize(("official", "state"), [(1, "x"), (0, "y")])
def test_nothing_is_told_where_verdict_and_state_agree(official: int, state: str) -> None:
    assert states([ended(0, 1, "x"), ended(0.2, official, state)]) == ()
