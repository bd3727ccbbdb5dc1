"""What a trial claims of its recoveries and degraded steps, held to its trace."""

import pytest

from hfr_bench.lab.recovered import recovered
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.terms import Action, Channel, End
from hfr_bench.model.trace import Decided, Escalated, StepEnded
from hfr_bench.testing.results import (
    At,
    answered,
    events,
    outcome,
    ran,
    refused,
    result,
    sent,
    timed_out,
)


def decided(action, step=1, t_us=0, **fields):
    return At(Decided(on="Attempted", action=action, **fields), step, 1, t_us)


def over(action=Action.ACCEPT, step=1, t_us=0):
    body = StepEnded(
        channel=Channel.MODEL, point="model:agent", occurrence=1, attempts=1, action=action
    )
    return At(body, step, 1, t_us)


def person(step=1, t_us=0):
    packet = EscalationPacket(trial_id="t", step=step, reason="toy", status="model:agent")
    return At(Escalated(packet=packet), step, 0, t_us)


def attempt(seen, step=1, t_us=0, purpose="agent"):
    """An attempt that ended at `t_us`."""
    return [At(sent(purpose=purpose), step, 1, t_us - seen.latency_us), At(seen, step, 1, t_us)]


def found(bodies, *, virtual=True, end=End.ACCEPTED, degraded_steps=0, **claims):
    trace = events("t", bodies)
    of = outcome(end=end, degraded_steps=degraded_steps)
    chosen = [(event.step, event.body) for event in trace if event.body.type == "decided"]
    return list(recovered(trace, chosen, result(of=of, **claims), virtual=virtual))


FAILED_ONCE = [
    *attempt(refused(latency_us=100), t_us=1_100),
    decided(Action.RETRY, t_us=1_100),
    *attempt(refused(latency_us=50), t_us=2_000),
    decided(Action.RETRY, t_us=2_000),
    *attempt(answered(latency_us=50), t_us=3_000),
    decided(Action.ACCEPT, t_us=3_000),
]
"""Its first failed attempt began at 1,000; the answer was there at 3,000."""


def test_a_recovery_is_from_the_first_failed_attempts_start_to_the_steps_end():
    bodies = [*FAILED_ONCE, over(t_us=3_000)]
    assert found(bodies, recoveries=1, recovery_us=2_000) == []
    assert found(bodies, recoveries=1, recovery_us=1_999) == [
        "recovery_us is 1999, the trace gives 2000"
    ]
    assert found(bodies) == [
        "recoveries is 0, the trace gives 1",
        "recovery_us is 0, the trace gives 2000",
    ]


def test_a_person_ends_it_too():
    bodies = [*FAILED_ONCE[:3], person(t_us=1_200), At(ran(), 0, 0, 9_000_000)]
    assert found(bodies, end=End.ESCALATED, recoveries=1, recovery_us=200) == []


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param([], id="nothing"),
        pytest.param([*attempt(answered(), t_us=5), over(t_us=5)], id="no failure"),
        pytest.param([*FAILED_ONCE, over(Action.REPLAN, t_us=3_000)], id="handed back"),
        pytest.param([*FAILED_ONCE, person(0, 3_000)], id="a person who was called elsewhere"),
        pytest.param([*FAILED_ONCE, over(step=2, t_us=3_000)], id="broken off by a crash"),
        pytest.param(
            [*attempt(timed_out(), t_us=20_000_000, purpose="reconcile"), over(t_us=20_000_000)],
            id="a read of the strategy's",
        ),
    ],
)
def test_no_recovery(bodies):
    assert found(bodies) == []
    assert found(bodies, recoveries=1) == ["recoveries is 1, the trace gives 0"]


def test_each_step_has_its_own():
    second = [At(*one[:1], 2, 1, one.t_us + 10_000) for one in FAILED_ONCE]
    bodies = [*FAILED_ONCE, over(t_us=3_000), *second, over(step=2, t_us=13_500)]
    assert found(bodies, recoveries=2, recovery_us=4_500) == []


def test_on_the_wall_it_is_held_to_the_span_between_lines():
    """It began between 1,100 and 1,107, less 100; it ended between 3,004 and 3,009."""
    bodies = [
        *attempt(refused(latency_us=100), t_us=1_100),
        decided(Action.RETRY, t_us=1_107),
        *attempt(answered(latency_us=50), t_us=3_000),
        decided(Action.ACCEPT, t_us=3_004),
        over(t_us=3_009),
    ]
    for took_us in (1_997, 2_000, 2_009):
        assert found(bodies, virtual=False, recoveries=1, recovery_us=took_us) == []
    for took_us in (1_996, 2_010, 0, 3_000_000):
        assert found(bodies, virtual=False, recoveries=1, recovery_us=took_us) == [
            f"recovery_us is {took_us}, the trace gives 1997 to 2009"
        ]


@pytest.mark.parametrize("turn", [Action.DEGRADE_MODEL, Action.DEGRADE_TOOL, Action.DEGRADE_SCOPE])
def test_a_step_that_goes_down_the_ladder_counts_once(turn):
    bodies = [
        decided(turn),
        decided(turn),
        decided(Action.DEGRADE_MODEL, 2),
        decided(Action.FAIL, 3),
    ]
    assert found(bodies, degraded_steps=2) == []
    assert found(bodies, end=End.FAILED, degraded_steps=2) == []
    assert found(bodies, degraded_steps=3) == ["degraded_steps is 3, the trace gives 2"]


def test_what_may_not_have_been_carried_out_is_not_held_against_anybody():
    last = [decided(Action.DEGRADE_TOOL), decided(Action.DEGRADE_TOOL, 2)]
    shorter = [decided(Action.COMPRESS), decided(Action.DEGRADE_MODEL), decided(Action.COMPRESS, 2)]
    for bodies, end in ((last, End.FAILED), (shorter, End.ACCEPTED)):
        assert found(bodies, end=end, degraded_steps=1) == []
        assert found(bodies, end=end, degraded_steps=2) == []
        for claimed in (0, 3):
            (told,) = found(bodies, end=end, degraded_steps=claimed)
            assert told == f"degraded_steps is {claimed}, the trace gives 1 to 2"
