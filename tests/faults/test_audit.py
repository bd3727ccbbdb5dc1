"""The delivery audit must notice every way in which a fault can fail to be delivered."""

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import DIALECTS, audit, rows
from hfr_bench.faults.shape import declared
from hfr_bench.model.schedule import Close, FaultEvent, Lasts, Respond, Stall
from hfr_bench.model.terms import Channel, Layer
from hfr_bench.model.trace import AttemptEnded, FaultInjected
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import (
    KINDS,
    TIMEOUT_US,
    At,
    answered,
    events,
    fault,
    hit,
    ran,
    refused,
    schedule,
    sent,
    started,
    timed_out,
)

TRIAL = planned().rows[0].trial
BOOK = "tool:book"
KEPT = hit(forwarded=False)


def audited(planned_events, *bodies, **fields):
    trace = events("t", [b if isinstance(b, At) else At(b) for b in bodies])
    return audit(trace, schedule(TRIAL, planned_events), KINDS, arm="a", **fields)


def only(planned_event, *bodies):
    (found,) = audited([planned_event], *bodies).deliveries
    return found


def test_a_delivered_answer():
    found = only(fault(), sent(), KEPT, refused())
    assert (found.delivered, found.mismatch) == (True, "")


def test_an_event_nobody_met_is_not_reached():
    found = audited([fault(occurrence=2)], sent(), hit(), answered())
    assert found.deliveries == ()
    assert found.sums == {("model", "busy"): (1, 0, 0, (), (), 0)}


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
    assert not found.delivered
    assert told in found.mismatch
    assert "model:agent #1 attempt 1" in found.mismatch


def test_marks_of_the_injector_prove_nothing():
    mark = FaultInjected(injection_id="busy@model:agent#1", kind="busy")
    named = KEPT.model_copy(update={"kind": "busy", "injection_id": "busy@model:agent#1"})
    assert not only(fault(), sent(), mark, named, answered()).delivered
    assert only(fault(), sent(), KEPT, refused()).delivered


def test_a_gateway_that_forwards_what_it_should_keep():
    assert "the model server got it" in only(fault(), sent(), hit(), refused()).mismatch
    assert "0 requests" in only(fault(), sent(), refused()).mismatch
    assert "2 requests" in only(fault(), sent(), KEPT, KEPT, refused()).mismatch


def test_a_lost_outcome_that_lands():
    event = fault("lost", BOOK, lands=True)
    assert only(event, sent(BOOK), ran(), timed_out()).delivered
    missing = only(event, sent(BOOK), timed_out())
    assert "did not run" in missing.mismatch
    other = only(event, sent(BOOK), ran("another operation"), timed_out())
    assert "did not run" in other.mismatch
    late = only(event, sent(BOOK), timed_out(), ran())
    assert "did not run" in late.mismatch
    assert "2 times" in only(event, sent(BOOK), ran(), ran(), timed_out()).mismatch


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

    def walk(*last):
        first = (At(sent(), 1, 1), KEPT, refused())
        second = (At(sent(), 1, 2), *(At(body, 1, 2) for body in last))
        third = (At(sent(), 1, 3), At(hit(), 1, 3), At(answered(), 1, 3))
        return audited([event], *first, *second, *third)

    good = walk(KEPT, refused())
    assert good.deliveries[0].delivered
    assert (good.failed, good.untrue) == ((), ())
    (found,) = walk(hit(), answered()).deliveries
    assert not found.delivered
    assert "attempt 2" in found.mismatch


def test_an_event_that_stays_too_long_is_told():
    late = audited([fault()], sent(), KEPT, refused(), At(sent(), 1, 2), At(refused(), 1, 2))
    assert late.deliveries[0].delivered
    assert "attempt 2: status 500" in late.failed[0]


def test_an_event_may_last_until_the_target_changes():
    event = fault().model_copy(update={"lasts": Lasts(unit="target")})
    first = (sent(), KEPT, refused())
    other = At(sent(target="other"), 1, 2)
    assert only(event, *first, other, At(hit(), 1, 2), At(answered(), 1, 2)).delivered
    same = At(sent(), 1, 2)
    assert not only(event, *first, same, At(hit(), 1, 2), At(answered(), 1, 2)).delivered


def test_layers_have_cursors_of_their_own():
    tool_fault_at_a_model_point = fault("lost", "model:agent", lands=False)
    assert audited([tool_fault_at_a_model_point], sent(), answered()).deliveries == ()


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
    assert found.failed == (
        f"model:agent #1 attempt 1: status 500 body {refused().response_digest[:8]}",
    )
    assert audited([fault()], sent(), refused()).failed == ()


@pytest.mark.parametrize(
    ("bodies", "told"),
    [
        ((sent(BOOK), answered()), "did not run"),
        ((sent(BOOK), ran("another"), answered()), "did not run"),
        ((sent(BOOK), ran(), ran(), answered()), "ran 2 times"),
        ((sent(BOOK), ran(body="other"), answered()), "the true answer is"),
        ((sent(), answered()), "0 requests"),
        ((sent(), KEPT, answered()), "should have reached the model server"),
        ((sent(), hit(), hit(), answered()), "2 requests"),
        ((sent(), hit("other"), answered()), "the true answer is"),
        ((sent(BOOK), ran(), answered(), ran()), "outside any attempt"),
    ],
)
def test_an_answer_that_is_not_the_true_one_is_told(bodies, told):
    (found,) = audited([], *bodies).untrue
    assert told in found


def test_a_true_answer_raises_no_suspicion():
    good = (sent(BOOK), ran(), answered(), sent(), hit(), answered())
    assert audited([], *good).untrue == ()
    user = ran("t.user").model_copy(update={"actor": "user", "point": "user:book"})
    assert audited([], *good, user).untrue == ()


def test_retry_after_is_part_of_the_shape():
    limited = KINDS["busy"].model_copy(
        update={"wire": {"openai_chat": Respond(status=429, headers={"Retry-After": "{s}"})}}
    )
    event = fault().model_copy(update={"params": {"s": 7}})
    for header, delivered in (("7", True), ("8", False), (None, False)):
        seen = refused(429, "", retry_after=header)
        trace = events("t", [At(sent()), At(KEPT), At(seen)])
        (found,) = audit(trace, schedule(TRIAL, [event]), {"busy": limited}).deliveries
        assert found.delivered is delivered


def test_time_counts_on_the_virtual_clock_only():
    event = fault("lost", BOOK, lands=False)
    at_once = (sent(BOOK), timed_out(latency_us=0))
    assert only(event, *at_once).delivered
    assert "took 0 µs" in only(event, started(TRIAL), *at_once).mismatch
    calm = (sent(BOOK), ran(), answered(latency_us=5))
    assert audited([], started(TRIAL), *calm, tool_latency_us=5).untrue == ()
    (found,) = audited([], started(TRIAL), *calm, tool_latency_us=4).untrue
    assert "a tool takes 4 µs" in found
    assert audited([], *calm, tool_latency_us=4).untrue == ()


# What only the real answer makes whole is in test_audit_held.py and with the gateway's tests.
PLAIN = [
    name
    for name, kind in sorted(content.kinds().items())
    if all(isinstance(effect, Respond | Close | Stall) for effect in kind.wire.values())
    and kind.wire.keys() & set(DIALECTS.values())
]


@pytest.mark.parametrize("name", PLAIN)
def test_shipped_kinds_are_audited_as_they_are_played(name):
    kind = content.kinds()[name]
    channel = Channel.MODEL if kind.layer is Layer.MODEL else Channel.TOOL
    model = channel is Channel.MODEL
    point = "model:agent" if model else BOOK
    params = {key: values[0] for key, values in kind.params.items()}
    lands = False if kind.lands is not None else None
    event = FaultEvent(
        injection_id="i", layer=kind.layer, kind=name, point=point, occurrence=1,
        params=params, effect_lands=lands,
    )  # fmt: skip
    wanted = declared(event, kind, DIALECTS[channel], TIMEOUT_US)
    shown = {key: value for key, value in wanted._asdict().items() if value is not None}
    seen = AttemptEnded(answered=False, **shown)
    kept = [At(KEPT)] if model else []

    def delivered(ended, *truth):
        bodies = [started(TRIAL), At(sent(point)), *kept, *truth, At(ended)]
        plan = schedule(TRIAL, [event])
        return audit(events("t", bodies), plan, content.kinds()).deliveries[0].delivered

    assert delivered(seen)
    assert not delivered(answered())
    assert not delivered(seen, At(hit() if model else ran()))
    slow = seen.model_copy(update={"latency_us": seen.latency_us + 1})
    assert delivered(slow) is (wanted.latency_us is None)
    if wanted.retry_after:
        assert not delivered(seen.model_copy(update={"retry_after": None}))


def test_without_injector_nothing_can_be_reached():
    found = audited([fault()], sent(), answered(), injected=False)
    assert (found.deliveries, found.sums) == ((), {})


def test_rows_add_up_by_kind_and_arm():
    good = audited([fault(), fault(occurrence=2)], sent(), KEPT, refused())
    bad = audited([fault()], sent(), answered())
    (row,) = rows([good, bad, good])
    assert (row.kind, row.layer, row.arm) == ("busy", "model", "a")
    assert (row.scheduled, row.reached, row.delivered) == (5, 3, 2)
    assert len(row.mismatched) == 1


def test_what_a_declared_layer_hides_is_masked_and_nothing_else_is():
    hidden = (sent(), KEPT, answered())
    (found,) = audited([fault()], *hidden, masks=True).deliveries
    assert (found.masked, found.delivered, found.mismatch) == (True, False, "")
    sums = audited([fault()], *hidden, masks=True).sums["model", "busy"]
    assert (sums.reached, sums.delivered, sums.masked) == (1, 0, 1)
    (row,) = rows([audited([fault()], *hidden, masks=True)])
    assert row.right
    (undeclared,) = audited([fault()], *hidden).deliveries
    assert not undeclared.masked
    assert undeclared.mismatch
    # Another error than the declared one is no masking.
    (other,) = audited([fault()], sent(), KEPT, refused(status=503), masks=True).deliveries
    assert not other.masked
    assert other.mismatch
