"""`should_retry` row by row, the stop conditions, and the two boundaries (paper §3.5, §4.3)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.attempt import Fault
from hfr_bench.model.terms import Channel, FaultClass, SideEffect
from hfr_bench.recovery.retry import (
    FRESH,
    RETRY_ON,
    SAME_CLASS_K,
    Standing,
    Stop,
    after_compression,
    after_failure,
    after_rejection,
    after_repair,
    after_retry,
    is_ambiguous,
    may_repair,
    stop_reason,
)

QUICK = settings(deadline=None)
F, R = FaultClass, SideEffect
R2_UP = (R.QUERYABLE, R.IRREVERSIBLE)

classes = st.sampled_from(list(F))
hopeless_classes = st.sampled_from([F.PERMANENT, F.REFUSAL])
levels = st.sampled_from(list(R))
channels = st.sampled_from(list(Channel))
keys = st.sampled_from(["", "a", "b", "c"])
faults = st.builds(Fault, classes, st.floats(0, 1), st.none() | classes, repairable=st.booleans())
codes = st.frozensets(
    st.sampled_from([*F, "T3_readonly", "T6_after_compress", "T3_write_without_idempotency"])
)
standings = st.builds(
    Standing,
    classes,
    st.integers(0, 4),
    keys,
    st.integers(0, 3),
    st.booleans(),
    st.lists(keys, max_size=3).map(tuple),
    st.booleans(),
    st.integers(0, 4),
    st.booleans(),
)
circumstances = st.fixed_dictionaries(
    {
        "attempts_left": st.integers(-1, 5),
        "in_time": st.booleans(),
        "breaker_open": st.booleans(),
        "sent": st.booleans(),
        "absent": st.booleans(),
        "same_class_k": st.integers(1, 5),
        "retry_on": codes,
        "never_on": codes,
    }
)
FINE: dict[str, Any] = {"attempts_left": 3, "in_time": True}


def asked(
    fault: Fault,
    level: SideEffect = R.READ,
    standing: Standing | None = None,
    channel: Channel = Channel.TOOL,
    **more: Any,
) -> Stop | None:
    if standing is None:
        standing = after_failure(FRESH, fault.fault_class, "first")
    return stop_reason(fault, level, channel, standing, **{**FINE, **more})


# -- the boundaries, whatever else holds ------------------------------------------------------


@QUICK
@given(hopeless_classes, faults, levels, channels, standings, circumstances, st.booleans())
def test_boundary_1_what_is_permanent_or_refused_is_never_retried(
    hopeless: FaultClass,
    other: Fault,
    level: SideEffect,
    channel: Channel,
    standing: Standing,
    more: dict[str, Any],
    primary: bool,
) -> None:
    pair = (hopeless, other.fault_class) if primary else (other.fault_class, hopeless)
    fault = Fault(pair[0], other.confidence, pair[1])
    assert stop_reason(fault, level, channel, standing, **more) is Stop.HOPELESS


@QUICK
@given(faults, standings, circumstances)
def test_boundary_2_the_irreversible_is_never_sent_again(
    fault: Fault, standing: Standing, more: dict[str, Any]
) -> None:
    more["sent"] = True
    assert stop_reason(fault, R.IRREVERSIBLE, Channel.TOOL, standing, **more)


@QUICK
@given(faults, standings, circumstances)
def test_an_ambiguous_write_is_retried_only_when_the_world_does_not_have_it(
    fault: Fault, standing: Standing, more: dict[str, Any]
) -> None:
    stop = stop_reason(fault, R.QUERYABLE, Channel.TOOL, standing, **more)
    if stop is None and is_ambiguous(fault, more["sent"], R.QUERYABLE):
        assert more["absent"]


@QUICK
@given(faults, levels, channels, standings, circumstances)
def test_no_retry_without_budget_time_and_a_closed_breaker(
    fault: Fault, level: SideEffect, channel: Channel, standing: Standing, more: dict[str, Any]
) -> None:
    if stop_reason(fault, level, channel, standing, **more) is None:
        assert more["attempts_left"] >= 1
        assert more["in_time"]
        assert not more["breaker_open"]
        assert standing.evidence_new or standing.same_class_run < more["same_class_k"]


# -- should_retry, row by row -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault_class", "stop"),
    [
        (F.TRANSIENT, None),
        (F.RATE_LIMIT, None),
        (F.TIMEOUT, None),
        (F.OVERLOAD, Stop.SAME_TARGET),
        (F.TOOL_UNAVAILABLE, Stop.SAME_TARGET),
        (F.CONTEXT_OVERFLOW, Stop.COMPRESS_FIRST),
        (F.PERMANENT, Stop.HOPELESS),
        (F.REFUSAL, Stop.HOPELESS),
        (F.SEMANTIC, None),
    ],
)
@pytest.mark.parametrize(
    "at",
    [(R.READ, Channel.MODEL), (R.READ, Channel.TOOL), (R.IDEMPOTENT, Channel.TOOL)],
    ids=str,
)
def test_what_cannot_land_twice_goes_by_its_class(
    fault_class: FaultClass, stop: Stop | None, at: tuple[SideEffect, Channel]
) -> None:
    assert asked(Fault(fault_class), at[0], channel=at[1]) is stop


@pytest.mark.parametrize(
    ("fault_class", "sent", "absent"),
    [
        (F.TRANSIENT, Stop.RECONCILE_FIRST, None),
        (F.RATE_LIMIT, None, None),
        (F.TIMEOUT, Stop.RECONCILE_FIRST, None),
        (F.OVERLOAD, Stop.SAME_TARGET, Stop.SAME_TARGET),
        (F.TOOL_UNAVAILABLE, Stop.RECONCILE_FIRST, Stop.SAME_TARGET),
    ],
)
def test_a_queryable_write_asks_the_world_first(
    fault_class: FaultClass, sent: Stop | None, absent: Stop | None
) -> None:
    fault = Fault(fault_class)
    assert asked(fault, R.QUERYABLE) is sent
    assert asked(fault, R.QUERYABLE, absent=True) is absent
    assert asked(fault, R.QUERYABLE, sent=False) is absent
    assert asked(fault, R.IRREVERSIBLE, absent=True) is Stop.IRREVERSIBLE
    assert asked(fault, R.IRREVERSIBLE, sent=False) is absent
    assert asked(fault, R.QUERYABLE, channel=Channel.MODEL) is absent


def test_an_answered_write_is_not_sent_again_for_being_rejected() -> None:
    rejected, unreadable = Fault(F.SEMANTIC), Fault(F.SEMANTIC, confidence=0.6)
    assert asked(rejected, R.QUERYABLE) is Stop.LANDED
    assert asked(rejected, R.QUERYABLE, absent=True) is Stop.LANDED
    assert asked(rejected, R.IDEMPOTENT) is None
    assert asked(unreadable, R.QUERYABLE) is Stop.RECONCILE_FIRST
    assert asked(unreadable, R.QUERYABLE, absent=True) is None


def test_budget_deadline_and_breaker_in_that_order() -> None:
    fault = Fault(F.TRANSIENT)
    everything = {"attempts_left": 0, "in_time": False, "breaker_open": True}
    assert asked(fault, **everything) is Stop.NO_BUDGET
    assert asked(fault, **{**everything, "attempts_left": 1}) is Stop.TOO_LATE
    assert asked(fault, breaker_open=True) is Stop.BREAKER_OPEN


def test_an_overflow_is_retried_once_the_context_is_shorter() -> None:
    fault = Fault(F.CONTEXT_OVERFLOW)
    shorter = after_compression(after_failure(FRESH, F.CONTEXT_OVERFLOW, "4k over"))
    assert asked(fault, standing=shorter) is None
    assert asked(fault, standing=shorter, retry_on=frozenset({"T1"})) is Stop.NOT_RETRIED


def test_the_configuration_names_what_is_retried() -> None:
    assert asked(Fault(F.RATE_LIMIT), retry_on=RETRY_ON - {"T2"}) is Stop.NOT_RETRIED
    assert asked(Fault(F.RATE_LIMIT), never_on=frozenset({"T2"})) is Stop.NOT_RETRIED
    assert asked(Fault(F.TIMEOUT), retry_on=RETRY_ON - {"T3_readonly"}) is Stop.NOT_RETRIED
    assert asked(Fault(F.TIMEOUT), retry_on=frozenset({"T3"})) is None
    assert asked(Fault(F.OVERLOAD), retry_on=RETRY_ON | {"T4"}) is None


@pytest.mark.parametrize("fault_class", [F.TRANSIENT, F.TOOL_UNAVAILABLE, F.OVERLOAD])
def test_an_unsure_class_is_probed_once(fault_class: FaultClass) -> None:
    fault = Fault(fault_class, confidence=0.3)
    once = after_failure(FRESH, fault_class, "unclassified")
    assert asked(fault, standing=once) is None
    twice = after_failure(once, fault_class, "unclassified")
    assert asked(fault, standing=twice) is Stop.PROBED
    assert asked(fault, R.QUERYABLE, once) is Stop.RECONCILE_FIRST
    named = RETRY_ON | {"T4", "T5"}
    assert (asked(fault, standing=twice, retry_on=named) is None) == (fault_class != F.TRANSIENT)


# -- loops ------------------------------------------------------------------------------------


def test_the_k_th_same_failure_in_a_row_ends_it() -> None:
    fault, standing = Fault(F.TRANSIENT), FRESH
    answers = []
    for _ in range(SAME_CLASS_K):
        standing = after_failure(standing, F.TRANSIENT, "server error")
        answers.append(asked(fault, standing=standing))
    assert answers == [*[None] * (SAME_CLASS_K - 1), Stop.SAME_CLASS]
    assert asked(fault, standing=standing, same_class_k=SAME_CLASS_K + 1) is None
    assert asked(fault, standing=after_failure(FRESH, F.TRANSIENT, "new"), same_class_k=1) is None
    nothing_new = after_failure(FRESH, F.TRANSIENT, "")
    assert asked(fault, standing=nothing_new, same_class_k=1) is Stop.SAME_CLASS


def test_new_evidence_or_another_class_breaks_the_run() -> None:
    twice = after_failure(after_failure(FRESH, F.TRANSIENT, "500"), F.TRANSIENT, "500")
    assert (twice.same_class_run, twice.evidence_new) == (2, False)
    other = after_failure(twice, F.TIMEOUT, "500")
    assert (other.same_class_run, other.evidence_new) == (1, False)
    new = after_failure(twice, F.TRANSIENT, "dns")
    assert (new.same_class_run, new.evidence_new) == (1, True)
    old = after_failure(new, F.TRANSIENT, "500")
    assert (old.same_class_run, old.evidence_new) == (2, False)


def test_a_rejection_is_retried_with_its_evidence_and_not_twice_for_the_same() -> None:
    fault = Fault(F.SEMANTIC)
    first = after_rejection(FRESH, "test_checkout: 500")
    assert asked(fault, standing=first) is None
    second = after_rejection(first, "test_checkout: 500")
    assert asked(fault, standing=second) is Stop.SAME_REJECTION
    after_outage = after_rejection(after_failure(first, F.TRANSIENT, "x"), "test_checkout: 500")
    assert asked(fault, standing=after_outage) is Stop.SAME_REJECTION
    assert asked(fault, standing=second._replace(evidence_new=True)) is Stop.SAME_REJECTION
    other = after_rejection(first, "test_refund: 500")
    assert other.same_rejection_run == 1
    assert asked(fault, standing=other) is None
    back = after_rejection(other, "test_checkout: 500")
    assert asked(fault, standing=back) is Stop.NO_EVIDENCE


def test_a_rejection_without_reasons_teaches_nothing() -> None:
    assert asked(Fault(F.SEMANTIC), standing=after_rejection(FRESH, "")) is Stop.NO_EVIDENCE


@QUICK
@given(st.lists(st.tuples(st.booleans(), classes, keys), max_size=30))
def test_the_standing_is_the_same_after_json(history: list[tuple[bool, FaultClass, str]]) -> None:
    plain = restored = FRESH
    for rejected, fault_class, key in history:
        restored = Standing(*json.loads(json.dumps(restored)))
        if rejected:
            plain, restored = after_rejection(plain, key), after_rejection(restored, key)
        else:
            plain = after_failure(plain, fault_class, key)
            restored = after_failure(restored, fault_class, key)
        assert plain == restored
        assert json.dumps(plain) == json.dumps(restored)
        fault = Fault(fault_class)
        assert asked(fault, standing=plain) == asked(fault, standing=restored)


@QUICK
@given(st.lists(st.text(max_size=3), max_size=60), st.integers(1, 4))
def test_no_stream_of_evidence_keeps_a_step_going_for_ever(stream: list[str], k: int) -> None:
    standing, went_on = FRESH, 0
    for key in stream:
        standing = after_failure(standing, F.TRANSIENT, key)
        stop = asked(Fault(F.TRANSIENT), standing=standing, same_class_k=k)
        went_on += stop is None
        assert len(standing.seen) <= 16
    assert went_on <= 16 * k


def test_even_ever_new_evidence_ends() -> None:
    standing, answers = FRESH, []
    for n in range(40):
        standing = after_failure(standing, F.TRANSIENT, f"evidence {n}")
        answers.append(asked(Fault(F.TRANSIENT), standing=standing))
    assert answers[:16] == [None] * 16
    assert set(answers[20:]) == {Stop.SAME_CLASS}
    assert len(standing.seen) == 16


def test_retries_and_repairs_are_counted() -> None:
    assert after_retry(after_retry(FRESH)).retries == 2
    assert after_repair(FRESH).repaired
    assert Standing() == FRESH


# -- what may have landed, and what may be mended ----------------------------------------------


@pytest.mark.parametrize("level", R)
@pytest.mark.parametrize("fault_class", F)
def test_ambiguous_is_a_write_of_r2_or_r3_that_left_us(
    fault_class: FaultClass, level: SideEffect
) -> None:
    open_class = fault_class in (F.TRANSIENT, F.TIMEOUT, F.TOOL_UNAVAILABLE)
    assert is_ambiguous(Fault(fault_class), True, level) == (open_class and level in R2_UP)
    unsure = Fault(fault_class, confidence=0.3)
    assert is_ambiguous(unsure, True, level) == (level in R2_UP)
    composite = Fault(fault_class, secondary=F.TIMEOUT)
    assert is_ambiguous(composite, True, level) == (level in R2_UP)
    assert not is_ambiguous(unsure, False, level)


def test_a_bad_call_is_mended_once() -> None:
    bad = Fault(F.TOOL_UNAVAILABLE, repairable=True)
    assert may_repair(bad, FRESH)
    assert not may_repair(bad, after_repair(FRESH))
    assert not may_repair(Fault(F.TOOL_UNAVAILABLE), FRESH)


@QUICK
@given(faults, standings, st.sampled_from([None, 400, 401, 403, 422]))
def test_nothing_refused_or_forbidden_is_mended(
    fault: Fault, standing: Standing, status: int | None
) -> None:
    if may_repair(fault, standing, status):
        assert fault.repairable
        assert not standing.repaired
        assert F.REFUSAL not in (fault.fault_class, fault.secondary)
        assert status not in (401, 403)
