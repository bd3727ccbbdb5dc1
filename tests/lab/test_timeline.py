"""A trial as a timeline: belief beside truth, effects judged as the judge does, nothing lost."""

import pytest

from hfr_bench.lab.timeline import seconds, timeline
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.terms import Action, CheckLevel, FaultClass, Landed, LedgerState, SideEffect
from hfr_bench.model.trace import (
    Decided,
    Escalated,
    FaultInjected,
    LedgerMoved,
    ReconcileAnswered,
    Said,
    StepEnded,
    UpstreamHit,
    VerifyAnswered,
)
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import (
    At,
    answered,
    ended,
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


def told(*bodies, faults=()):
    """The timeline of a trial with these bodies, all of step 1."""
    lines = [started(TRIAL), *(b if isinstance(b, At) else At(b) for b in bodies)]
    return timeline(events("t", lines), schedule(TRIAL, faults))


def first(*bodies):
    """What the timeline's first step says, as (what, text, mark)."""
    (step, *_) = told(*bodies).steps
    return [(line.what, line.text, line.mark) for line in step.lines]


def test_a_write_is_told_attempt_by_attempt():
    bodies = (
        sent("tool:book", target="book", level=SideEffect.QUERYABLE, key="0123456789"),
        FaultInjected(injection_id="i", kind="lost", effect_lands=True),
        ran(),
        timed_out(cost_microusd=500),
        ran(),
    )
    assert first(*bodies) == [
        ("try", "tool:book #1, R2, key 01234567", ""),
        ("fault", "lost: the write lands, its answer is lost", "injected"),
        ("effect", "book ran: row", "expected"),
        ("seen", "Timeout, took 10.0 s, $0.0005", ""),
        ("effect", "book ran: row", "duplicate"),
    ]


def test_an_effect_that_nobody_wanted_is_marked():
    wrong = ran().model_copy(update={"natural_key": "other"})
    assert [mark for _, _, mark in first(wrong, wrong)] == ["unwanted", "duplicate"]


def test_what_changes_nothing_and_what_the_user_does_is_no_effect():
    by_user = ran().model_copy(update={"actor": "user"})
    read = ran(changed=False).model_copy(update={"level": SideEffect.READ, "domain_error": True})
    assert first(by_user, read) == [
        ("effect", "book (user) ran, changed 1 row(s)", ""),
        ("effect", "book ran, changed nothing, domain error", ""),
    ]


def test_what_was_seen_is_told_in_full():
    busy = refused(429, retry_after="7", sent=False, cost_microusd=None)
    assert first(busy) == [
        ("seen", "429, no answer in it, Retry-After 7, never sent, took 0.00 s, price unknown", "")
    ]
    own = answered(domain_error=True)
    assert first(own) == [("seen", "200, the tool's own error, took 0.00 s, $0.0000", "")]


def test_the_gateway_speaks_only_where_something_was_injected_or_broke():
    injected = hit(forwarded=False).model_copy(update={"kind": "busy"})
    organic = UpstreamHit(point="p", occurrence=1, target="m", told=True, forwarded=True)
    absorbed = hit().model_copy(update={"absorbed": 2})
    assert first(absorbed) == [
        ("fault", "the model service itself failed 2 times, unseen, then answered", "")
    ]
    assert first(hit(), injected, organic) == [
        ("fault", "busy at the gateway, the model was not asked", "injected"),
        ("fault", "the model service itself failed; nobody injected it", "organic"),
    ]


def test_decisions_tell_belief_reason_budget_and_wait():
    decided = Decided(
        on="Attempted", action=Action.RETRY, reason="busy", fault_class=FaultClass.RATE_LIMIT,
        confidence=0.9, evidence="429", delay_us=1_500_000, debit=1, step_left=2, task_left=9,
        deadline_left_us=60_000_000, substitute="m2",
    )  # fmt: skip
    assert first(decided) == [
        (
            "decide",
            "RETRY -> m2: busy, believes T2 90% (429); takes 1, left: step 2, task 9, time 60.0 s",
            "",
        ),
        ("wait", "1.50 s of trial time", ""),
    ]


def test_ordinary_moves_go_without_saying_but_for_the_last():
    plain = [Decided(on=on, action=Action.DISPATCH) for on in ("Proposed", "Prepared")]
    accepted = Decided(on="Finishing", action=Action.ACCEPT)
    assert first(*plain, accepted) == [("decide", "ACCEPT", "")]


def test_ledger_queries_checks_and_words():
    moved = LedgerMoved(
        key="k", stepless_key="s", tool="book", level=SideEffect.QUERYABLE,
        before=LedgerState.PREPARED, after=LedgerState.UNKNOWN, evidence="no answer",
    )  # fmt: skip
    check = VerifyAnswered(level=CheckLevel.SEMANTIC, passed=False, reasons=("a", "b"))
    assert first(
        moved,
        ReconcileAnswered(tool="book", landed=Landed.ABSENT),
        check,
        Said(who="agent", text_digest="d", length=7),
    ) == [
        ("ledger", "book: PREPARED -> UNKNOWN (no answer)", ""),
        ("answer", "the world says of book: absent", ""),
        ("answer", "check V2 did not pass (a; b)", ""),
        ("said", "agent, 7 characters", ""),
    ]


def test_steps_are_named_by_the_agent_s_call_and_end_with_their_result():
    end = StepEnded(
        channel=sent().channel, point="p", occurrence=1, attempts=2, action=Action.ACCEPT
    )
    made = told(
        sent("prepare:book", purpose="prepare"), sent("tool:book", occurrence=3), end,
        At(Said(who="user", text_digest="d", length=1), 0, 0),
    )  # fmt: skip
    step, between = made.steps
    assert (step.number, step.title, step.end) == (1, "tool:book #3", "ACCEPT after 2 attempt(s)")
    assert (between.number, between.title, between.end) == (0, "", "")


def test_planned_faults_are_those_at_steps_that_it_came_to():
    met, missed = fault("busy"), fault("lost", "tool:book", 2, lands=False)
    made = told(sent(), faults=(met, missed))
    assert made.planned == (met,)
    assert made.scheduled == 2


def test_packet_result_and_notes_are_kept():
    packet = EscalationPacket(trial_id="t", step=1, reason="r")
    made = told(Escalated(packet=packet), ended(TRIAL))
    assert made.packet == packet
    assert made.result.outcome.succeeded
    assert told().result is None
    assert timeline(events("t", [started(TRIAL)]), schedule(TRIAL), ["n"]).notes == ("n",)
    assert type(made).loads(made.dumps()) == made


def test_a_trace_without_its_first_line_has_no_story():
    for trace in ([], events("t", [At(sent())])):
        with pytest.raises(ValueError, match="does not begin with trial_started"):
            timeline(trace, schedule(TRIAL))


def test_times():
    assert [seconds(us) for us in (0, 70_000, 9_994_000, 12_340_000)] == [
        "0.00 s", "0.07 s", "9.99 s", "12.3 s",
    ]  # fmt: skip
