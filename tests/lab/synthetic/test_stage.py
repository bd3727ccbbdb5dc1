"""What a strategy is told: each class looks like itself; constants are told like fresh events."""

import pytest

from hfr_bench.lab.synthetic.params import FAULTS, MODEL, READ, WRITE
from hfr_bench.lab.synthetic.stage import SEEN, Now, Stage, TimedStage, point
from hfr_bench.model.terms import Channel, FaultClass, Landed
from hfr_bench.recovery.classify import classify
from hfr_bench.recovery.retry import SURE

ELSEWHERE = {
    Channel.MODEL: (FaultClass.TOOL_UNAVAILABLE,),
    Channel.TOOL: (FaultClass.OVERLOAD, FaultClass.CONTEXT_OVERFLOW),
}


@pytest.mark.parametrize("channel", list(Channel))
def test_every_class_looks_like_itself_to_the_classifier(channel):
    for fault_class, seen in zip(FAULTS, SEEN[1:], strict=True):
        if fault_class in ELSEWHERE[channel]:
            continue
        fault = classify(channel, seen)
        assert fault.fault_class is fault_class
        assert not fault.repairable
        if fault_class is not FaultClass.SEMANTIC:
            assert fault.confidence >= SURE


def test_points_are_made_once_and_are_all_different():
    stage = Stage()
    keys = [(k, n, v, a) for k in range(3) for n in range(1, 9) for v in range(3)
            for a in range(1, 9)]  # fmt: skip
    found = {id(stage.point(*key, 0)) for key in keys}
    assert len(found) == len(keys)
    assert all(stage.point(*key, 99) is stage.point(*key, 0) for key in keys)


def test_a_timed_stage_tells_the_time():
    told = TimedStage().point(WRITE, 2, 0, 1, 77)
    assert told.proposed.view.now_us == told.attempted[0].view.now_us == 77
    known, made = Stage().point(WRITE, 2, 0, 1, 0), point(Now(WRITE, 2, 0, 1))
    assert known == made
    assert list(made.attempted) == list(Now(WRITE, 2, 0, 1).attempted)


def test_writes_can_be_asked_for_and_carry_keys_of_their_own():
    one, other = Now(WRITE, 2, 0, 1), Now(WRITE, 3, 0, 1)
    assert one.proposed.view.can_reconcile
    assert one.proposed.view.intent.key != other.proposed.view.intent.key
    assert (one.committed.landed, one.absent.landed) == (Landed.COMMITTED, Landed.ABSENT)
    assert not Now(READ, 2, 0, 1).proposed.view.can_reconcile


def test_answers_of_models_and_reads_can_be_checked_and_each_rejection_is_new():
    for kind in (MODEL, READ):
        first, second = Now(kind, 1, 0, 1), Now(kind, 1, 0, 2)
        assert first.attempted[0].view.can_verify
        assert not first.attempted[1].view.can_verify
        assert first.rejected.verdict.reasons != second.rejected.verdict.reasons
    assert not Now(WRITE, 1, 0, 1).attempted[0].view.can_verify
