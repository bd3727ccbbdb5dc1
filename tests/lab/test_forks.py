"""What all arms of a fork must share, and what each made of it."""

from typing import Any

from hfr_bench.faults.audit import Meeting
from hfr_bench.lab.forks import Came, came_alike, fork_of, forks, state_at
from hfr_bench.model.terms import Action, Channel, Origin
from hfr_bench.model.trace import AttemptStarted, Decided, StepEnded, TraceEvent
from hfr_bench.model.trial import Outcome, Trial, TrialResult
from hfr_bench.testing.results import fault


def lines(*bodies: Any, late_us: int = 0) -> list[TraceEvent]:
    return [
        TraceEvent(trial_id="t", seq=n, t_us=n + late_us, body=body)
        for n, body in enumerate(bodies)
    ]


def asked(digest: str, purpose: str = "agent") -> AttemptStarted:
    return AttemptStarted(
        point="p", occurrence=1, channel=Channel.TOOL, target="x", timeout_us=1, purpose=purpose,
        request_digest=digest,
    )  # fmt: skip


def done(digest: str) -> StepEnded:
    return StepEnded(
        channel=Channel.TOOL, point="p", occurrence=1, attempts=1, action=Action.ACCEPT,
        result_digest=digest,
    )  # fmt: skip


FIRST = fault()


def state(*bodies: Any, late_us: int = 0) -> str:
    met = [Meeting(FIRST, len(bodies) - 1, len(bodies) - 1)]
    return state_at(lines(*bodies, late_us=late_us), met, FIRST.injection_id)


def test_a_state_is_what_the_agent_asked_and_was_answered_up_to_the_fault() -> None:
    same = state(asked("a"), done("1"), asked("b"))
    assert same == state(asked("a"), done("1"), asked("b"), late_us=9)
    assert same != state(asked("a"), done("2"), asked("b"))
    assert same != state(asked("a"), done("1"), asked("c"))


def test_what_an_arm_does_for_itself_is_no_part_of_it() -> None:
    own = (asked("r", "prepare"), Decided(on="Proposed", action=Action.DISPATCH))
    assert state(asked("a"), *own, done("1"), asked("b")) == state(
        asked("a"), done("1"), asked("b")
    )


def test_whoever_never_met_the_fault_has_no_state() -> None:
    assert state_at(lines(asked("a")), [], FIRST.injection_id) == ""


def came(
    arm: str, state: str, number: int = 1, *, won: bool = True, parted: bool = False, **outcome: Any
) -> Came:
    place = {"suite": "s", "task_id": "t", "seed": 1, "rate": 1.0, "arm": arm, "pair_group": "g"}
    profile = f"fork/tool:pay#1/lost/landed/c{number}"
    trial = Trial(
        trial_id=f"{arm}{number}", prereg_digest="p", profile=profile, cohort_id="c",
        schedule_id="s", schedule_digest="d", **place,
    )  # fmt: skip
    end = Outcome(
        official=1, goal_met=won, accepted=won, in_time=True, end="accepted" if won else "failed",
        **outcome,
    )  # fmt: skip
    result = TrialResult(
        trial_id=trial.trial_id, profile=profile, origin=Origin.REHEARSAL, outcome=end,
        cost_microusd=7, **place,
    )  # fmt: skip
    return Came(trial, state, result, parted)


def test_arms_are_summed_over_the_continuations_of_a_fork() -> None:
    trials = [
        came("a", "x"),
        came("b", "x", won=False),
        came("a", "x", 2),
        came("b", "x", 2, duplicates=3),
    ]
    a, b = forks(trials, ["a", "b"])
    assert (a.fork, a.trials, a.came, a.succeeded, a.harm) == (
        "fork/tool:pay#1/lost/landed", 2, 2, 2, 0,
    )  # fmt: skip
    assert (b.succeeded, b.duplicates, b.harm, b.cost_microusd) == (1, 3, 3, 14)
    assert a.same_state
    assert b.same_state


def test_one_arm_that_came_otherwise_is_told_and_decides() -> None:
    good = came_alike([came("a", "x"), came("b", "x")])
    assert (good.passed, good.decides) == (True, True)
    for other in ("y", ""):
        bad = came_alike([came("a", "x"), came("b", other), came("a", "x", 2)])
        assert bad.passed is False
        assert "t seed 1 fork/tool:pay#1/lost/landed" in bad.detail
        assert not any(row.same_state for row in forks([came("a", "x"), came("b", other)], ["a"]))


def test_who_parted_from_the_recorded_prefix_is_counted_apart() -> None:
    trials = [came("a", "x"), came("b", "y", parted=True), came("b", "x", 2, won=False)]
    assert came_alike(trials).passed
    a, b = forks(trials, ["a", "b"])
    assert (a.trials, a.came, a.parted, a.same_state) == (1, 1, 0, True)
    assert (b.trials, b.came, b.parted, b.succeeded) == (2, 1, 1, 0)
    assert '"parted"' not in a.dumps()
    alone = [came("a", "x", parted=True)]
    assert came_alike(alone).passed
    assert forks(alone, ["a"])[0].came == 0


def test_a_fork_that_no_arm_came_to_is_counted_and_breaks_nothing() -> None:
    row = came_alike([came("a", ""), came("b", "")])
    assert row.passed
    assert "1 of them no arm came to" in row.detail
    assert came_alike([]).passed is None


def test_where_the_model_is_live_a_fork_that_is_none_decides_nothing() -> None:
    told = came_alike([came("a", "x"), came("b", "y")], live=True)
    assert (told.passed, told.decides) == (False, False)


def test_trials_of_other_designs_are_of_no_fork() -> None:
    trial = came("a", "x").trial
    assert fork_of(trial.model_copy(update={"profile": "stress-0.2"})) == ""
    assert fork_of(trial.model_copy(update={"profile": "fork/none", "rate": 0.0})) == ""
