"""The delivery audit must notice every way in which a fault can fail to be delivered."""

import pytest

from hfr_bench.faults.audit import audit, rows
from hfr_bench.model.schedule import Lasts
from hfr_bench.model.terms import Channel
from hfr_bench.model.trace import AttemptEnded, FaultInjected, UpstreamHit
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import (
    KINDS,
    At,
    answered,
    events,
    fault,
    ran,
    refused,
    schedule,
    sent,
    timed_out,
)

TRIAL = planned().rows[0].trial
BOOK = "tool:book"


def audited(planned_events, *bodies, **fields):
    trace = events("t", [b if isinstance(b, At) else At(b) for b in bodies])
    return audit(trace, schedule(TRIAL, planned_events), KINDS, arm="a", **fields)


def only(planned_event, *bodies):
    (found,) = audited([planned_event], *bodies).deliveries
    return found


def test_a_delivered_answer():
    found = only(fault(), sent(), refused())
    assert (found.reached, found.delivered, found.mismatch) == (True, True, "")


def test_an_event_nobody_met_is_not_reached():
    found = only(fault(occurrence=2), sent(), answered())
    assert (found.reached, found.delivered) == (False, False)


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (answered(), "seen status 200"),
        (refused(status=503), "seen status 503"),
        (refused(body="{}"), "declared status 500 body"),
        (timed_out(), "seen Timeout"),
        (AttemptEnded(answered=True, status=500, exception="Odd"), "seen Odd"),
    ],
)
def test_an_answer_that_is_not_the_declared_one(seen, told):
    found = only(fault(), sent(), seen)
    assert (found.reached, found.delivered) == (True, False)
    assert told in found.mismatch
    assert "model:agent #1 attempt 1" in found.mismatch


def test_marks_of_the_injector_prove_nothing():
    mark = FaultInjected(injection_id="busy@model:agent#1", kind="busy")
    hit = UpstreamHit(
        point="model:agent", occurrence=1, target="m", told=True, forwarded=False, kind="busy"
    )
    assert not only(fault(), sent(), mark, hit, answered()).delivered
    assert only(fault(), sent(), refused()).delivered


def test_a_lost_outcome_that_lands():
    event = fault("lost", BOOK, lands=True)
    assert only(event, sent(BOOK), ran(), timed_out()).delivered
    missing = only(event, sent(BOOK), timed_out())
    assert "did not run" in missing.mismatch
    other = only(event, sent(BOOK), ran("another operation"), timed_out())
    assert "did not run" in other.mismatch
    late = only(event, sent(BOOK), timed_out(), ran())
    assert "did not run" in late.mismatch


def test_a_lost_outcome_that_is_lost():
    event = fault("lost", BOOK, lands=False)
    assert only(event, sent(BOOK), timed_out()).delivered
    assert "the tool ran" in only(event, sent(BOOK), ran(), timed_out()).mismatch


def test_the_declared_shape_depends_on_the_attempts_timeout():
    event = fault("lost", BOOK, lands=False)
    patient = sent(BOOK).model_copy(update={"timeout_us": 10**12})
    closed = AttemptEnded(answered=False, exception="ConnectionClosed")
    assert only(event, patient, closed).delivered
    assert not only(event, patient, timed_out()).delivered


def test_every_attempt_of_a_lasting_event_must_see_it():
    event = fault(attempts=2)
    first, second = At(sent(), 1, 1), At(sent(), 1, 2)
    again = At(refused(), 1, 2)
    assert only(event, first, refused(), second, again).delivered
    found = only(event, first, refused(), second, At(answered(), 1, 2))
    assert (found.reached, found.delivered) == (True, False)
    assert "attempt 2" in found.mismatch
    third = (At(sent(), 1, 3), At(answered(), 1, 3))
    assert only(event, first, refused(), second, again, *third).delivered


def test_an_event_may_last_until_the_target_changes():
    event = fault().model_copy(update={"lasts": Lasts(unit="target")})
    other = At(sent(target="other"), 1, 2)
    assert only(event, sent(), refused(), other, At(answered(), 1, 2)).delivered
    same = At(sent(), 1, 2)
    assert not only(event, sent(), refused(), same, At(answered(), 1, 2)).delivered


def test_layers_have_cursors_of_their_own():
    tool_fault_at_a_model_point = fault("lost", "model:agent", lands=False)
    found = only(tool_fault_at_a_model_point, sent(), answered())
    assert not found.reached


def test_broken_traces_and_unknown_kinds_are_mismatches():
    assert "no end" in only(fault(), sent()).mismatch
    assert "another attempt" in only(fault(), At(sent(), 1, 1), At(refused(), 2, 1)).mismatch
    assert (
        "unknown kind"
        in only(fault().model_copy(update={"kind": "odd"}), sent(), refused()).mismatch
    )
    wrong = sent().model_copy(update={"channel": Channel.TOOL, "point": BOOK})
    silent = fault("lost", BOOK, lands=False).model_copy(update={"kind": "busy"})
    assert "does not speak tool" in only(silent, wrong, refused()).mismatch


def test_a_failure_nobody_planned_is_told():
    found = audited([], sent(), refused())
    assert found.unplanned == (
        f"model:agent #1 attempt 1: status 500 body {refused().response_digest[:8]}",
    )
    assert audited([fault()], sent(), refused()).unplanned == ()


def test_without_injector_nothing_can_be_reached():
    assert audited([fault()], sent(), answered(), injected=False).deliveries == ()


def test_rows_add_up_by_kind_and_arm():
    good = audited([fault(), fault(occurrence=2)], sent(), refused())
    bad = audited([fault()], sent(), answered())
    (row,) = rows([good, bad, good])
    assert (row.kind, row.layer, row.arm) == ("busy", "model", "a")
    assert (row.scheduled, row.reached, row.delivered) == (5, 3, 2)
    assert len(row.mismatched) == 1
