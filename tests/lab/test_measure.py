"""A trial's measures, by hand: what it met, when it was safe, what was wasted, what checks said."""

import pytest

from hfr_bench.faults.audit import Meeting
from hfr_bench.lab.measure import measures
from hfr_bench.model.measures import CheckSums, Measures
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.terms import (
    Action,
    Channel,
    CheckLevel,
    Layer,
    LedgerState,
    SafeOutcome,
    SideEffect,
    VoidCause,
)
from hfr_bench.model.trace import LedgerMoved, StepEnded, VerifyAnswered
from hfr_bench.testing.results import (
    KINDS,
    At,
    answered,
    events,
    fault,
    outcome,
    refused,
    result,
    sent,
    timed_out,
)

LIES = KINDS | {"lie": KindSpec(kind="lie", layer=Layer.MODEL, wire={}, silent=True)}
ESCALATED = {"success": False, "end": "escalated", "packet_true": True}


def over(attempts=1):
    return StepEnded(
        channel=Channel.TOOL, point="tool:book", occurrence=1, attempts=attempts,
        action=Action.ACCEPT,
    )  # fmt: skip


def moved(after, key="k"):
    return LedgerMoved(
        key=key, stepless_key=key, tool="book", level=SideEffect.QUERYABLE, after=after
    )


def checked(level, *, passed, undecided=False):
    return VerifyAnswered(level=level, passed=passed, undecided=undecided)


def met(line, kind="lost", **fields):
    event = fault("busy", **fields).model_copy(update={"kind": kind})
    return Meeting(event, line, line)


def measured(bodies, meetings, of=None, kinds=KINDS):
    return measures(events("t", bodies), meetings, result(of=of or outcome()), kinds)


RETRIED = [
    At(sent("tool:book"), 1, 1, 0),
    At(timed_out(cost_microusd=40), 1, 1, 10),
    At(moved(LedgerState.UNKNOWN), 1, 1, 20),
    At(sent("tool:book"), 1, 2, 30),
    At(answered(cost_microusd=7), 1, 2, 40),
    At(over(2), 1, 0, 50),
    At(moved(LedgerState.RECONCILED_COMMITTED), 1, 0, 70),
    At(over(), 2, 0, 90),
]


def test_without_a_fault_there_is_nothing_to_be_safe_from():
    assert measured(RETRIED, []) == Measures(unanswered_microusd=40)


def test_a_finished_trial_is_safe_once_its_step_is_over_and_no_write_is_in_doubt():
    assert measured(RETRIED, [met(0)]).safe_us == 70
    assert measured(RETRIED[:6] + RETRIED[7:], [met(0)]).safe_us == 50


def test_a_trial_that_was_handed_over_is_safe_at_its_end():
    assert measured(RETRIED, [met(3)], outcome(**ESCALATED)).safe_us == 90 - 30


@pytest.mark.parametrize(
    "of",
    [
        outcome(success=False),
        outcome(duplicates=1),
        outcome(**ESCALATED | {"packet_true": False}),
    ],
)
def test_harm_failure_and_an_untrue_packet_are_never_safe(of):
    found = measured(RETRIED, [met(0)], of)
    assert (found.met, found.safe_us) == (True, None)


def test_who_is_needed_is_by_what_was_met():
    needs = met(0, safe_outcome=SafeOutcome.ESCALATE)
    assert measured(RETRIED, [needs]).person
    assert not measured(RETRIED, [met(0)]).person


def test_one_unknown_price_makes_the_waste_unknown():
    assert measured([At(refused(cost_microusd=None))], []).unanswered_microusd is None


def test_a_void_has_no_measures():
    void = result(void=VoidCause.SANDBOX)
    assert measures(events("t", RETRIED), [met(0)], void, KINDS) == Measures()


def test_checks_are_held_against_what_was_done_to_the_answer():
    v0, v2 = CheckLevel.TRANSPORT, CheckLevel.SEMANTIC
    bodies = [
        At(checked(v0, passed=False), 1, 0),  # of a call that is not made yet
        At(sent(), 1, 1),
        At(answered(), 1, 1),
        At(checked(v2, passed=True), 1, 1),
        At(checked(v0, passed=True), 1, 1),
        At(sent(), 1, 2),
        At(checked(v2, passed=False), 1, 2),
        At(sent(), 2, 1),
        At(checked(v2, passed=False), 2, 1),
        At(checked(v2, passed=True, undecided=True), 2, 1),
        At(sent("verify:book", purpose="verify"), 2, 1),
    ]
    lies = [met(1, "lie"), met(5, "lie"), met(10, "lie"), met(7, "busy")]
    found = measured(bodies, lies, kinds=LIES)
    assert found.checks == (
        CheckSums(v0, altered=1, let=1),
        CheckSums(v2, altered=2, let=1, intact=1, barred=1, undecided=1),
    )
