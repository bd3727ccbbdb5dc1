"""Natural keys, success, and a result that is an outcome or a void."""

import pytest
from pydantic import ValidationError

from hfr_bench.model.task import TaskSpec, ToolSpec
from hfr_bench.model.terms import End, Origin, SideEffect, VoidCause
from hfr_bench.model.trace import Said, TraceEvent
from hfr_bench.model.trial import Outcome, TrialResult

PAY = ToolSpec(name="pay", level=SideEffect.QUERYABLE, identity_args=("to", "amount"))


def outcome(**fields: object) -> Outcome:
    plain = {"official": 1.0, "goal_met": True, "accepted": True, "in_time": True}
    return Outcome.model_validate(plain | {"end": End.ACCEPTED} | fields)


def result(**fields: object) -> TrialResult:
    names = ("trial_id", "suite", "task_id", "profile", "arm", "pair_group")
    plain = dict.fromkeys(names, "x") | {"seed": 1, "rate": 0.1, "origin": Origin.REHEARSAL}
    return TrialResult.model_validate(plain | fields)


def test_the_natural_key_leaves_free_text_out() -> None:
    key = PAY.natural_key({"to": "a", "amount": 1, "note": "x"})
    assert key == PAY.natural_key({"note": "y", "amount": 1, "to": "a"})
    assert key != PAY.natural_key({"to": "a", "amount": 2})
    assert PAY.natural_key({"to": "a"}) == PAY.natural_key({"to": "a", "amount": None})


def test_every_level_but_r0_writes() -> None:
    assert [level.value for level in SideEffect if level.writes] == ["R1", "R2", "R3"]


def test_a_task_finds_its_tools_by_name() -> None:
    task = TaskSpec(task_id="t", suite="s", tools=(PAY,))
    assert task.tool("pay") is PAY
    assert task.tool("fly") is None


@pytest.mark.parametrize("spoiled", ["goal_met", "accepted", "in_time"])
def test_success_is_goal_met_and_accepted_and_in_time(spoiled: str) -> None:
    assert outcome().succeeded
    assert not outcome(**{spoiled: False}).succeeded


def test_harm_adds_up_and_escalated_is_not_succeeded() -> None:
    bad = outcome(duplicates=1, unwanted=2, partial=3, accepted=False, end=End.ESCALATED)
    assert (bad.harm, bad.escalated, bad.succeeded) == (6, True, False)


def test_a_trial_has_an_outcome_or_a_void_never_both() -> None:
    assert result(outcome=outcome()).void is None
    assert result(void=VoidCause.SANDBOX).outcome is None
    for wrong in ({}, {"outcome": outcome(), "void": VoidCause.SANDBOX}):
        with pytest.raises(ValidationError, match="exactly one"):
            result(**wrong)


def test_a_trace_line_carries_its_body_by_type() -> None:
    event = TraceEvent(
        trial_id="t", seq=1, t_us=0, body=Said(who="user", text_digest="d", length=1)
    )
    assert TraceEvent.loads(event.dumps()) == event
    with pytest.raises(ValidationError, match="tag"):
        TraceEvent.loads(event.dumps().replace('"type":"said"', '"type":"shouted"'))
