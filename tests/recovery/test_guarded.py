"""A broken controller: what goes on without it, and what stops (paper §4.1)."""

from typing import Any

import pytest

from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Finishing,
    GoalChanged,
    Known,
    Proposed,
    Receipt,
    Reconciled,
    Restored,
    StrategyEvent,
    Verdict,
    Verified,
)
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import (
    Action,
    Channel,
    CheckLevel,
    Criticality,
    Landed,
    LedgerState,
    SideEffect,
)
from hfr_bench.recovery.guarded import guarded
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import NoRetry
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import fine, lost, refused
from hfr_bench.testing.rig import Rig, lost_answer
from hfr_bench.testing.wrapped import DEADLINE_US, Breaks, NoBeginning, Returns, Says
from hfr_bench.testing.wrapped import step_view as view

KIT = Kit(equipment=Equipment(ledger=True, query=True, ladder=True), substitutes={"m": ("b",)})
WRITE = SideEffect.QUERYABLE
OK, BUSY = fine(), refused(503)
READING, WRITING = view(attempts=1), view(WRITE, attempts=1)
ASKING = view(attempts=1, channel=Channel.MODEL)
END = Finishing(0, DEADLINE_US)
NOTE = Known("k", "s", LedgerState.UNKNOWN, "x", WRITE)


@pytest.mark.parametrize(
    ("event", "action"),
    [
        (Proposed(view()), Action.DISPATCH),
        (Proposed(view(channel=Channel.MODEL)), Action.DISPATCH),
        (Attempted(READING, OK), Action.ACCEPT),
        (Attempted(READING, BUSY), Action.REPLAN),
        (Attempted(ASKING, OK), Action.ACCEPT),
        (Attempted(ASKING, lost()), Action.FAIL),
        (Compressed(ASKING, done=True), Action.RETRY),
        (Compressed(ASKING, done=False), Action.FAIL),
        (Verified(READING, Verdict(CheckLevel.SEMANTIC, passed=True)), Action.ACCEPT),
        (END, Action.ACCEPT),
        (GoalChanged(0, 2), Action.ACCEPT),
        (Restored(0, DEADLINE_US, ()), Action.ACCEPT),
    ],
)
@pytest.mark.parametrize("criticality", [Criticality.LOW, Criticality.MEDIUM])
def test_a_broken_controller_lets_reads_go_on(
    event: StrategyEvent, action: Action, criticality: Criticality
) -> None:
    guard = guarded(Breaks(NoRetry({}, KIT)), criticality)
    state, decision = guard.decide(guard.begin(), event)
    assert decision.action is action
    assert decision.reason == "controller unavailable, fail-open: RuntimeError: a defect"
    assert (state["failures"], state["error"]) == (1, "RuntimeError: a defect")
    assert guarded(Breaks(NoRetry({}, KIT)), Criticality.HIGH).decide(state, event)[1].action == (
        Action.ESCALATE
    )


@pytest.mark.parametrize(
    "event",
    [
        Proposed(view(WRITE)),
        Proposed(view(SideEffect.IRREVERSIBLE)),
        Proposed(view(SideEffect.IDEMPOTENT)),
        Attempted(WRITING, OK),
        Attempted(WRITING, lost()),
        Reconciled(WRITING, OK, Landed.COMMITTED),
        Verified(READING, Verdict(CheckLevel.SEMANTIC, passed=False)),
        Restored(0, DEADLINE_US, (NOTE,)),
        Receipt(0, "k", Landed.COMMITTED),
    ],
)
def test_a_broken_controller_stops_before_and_after_writes(event: StrategyEvent) -> None:
    guard = guarded(Breaks(NoRetry({}, KIT)), Criticality.LOW)
    decision = guard.decide(guard.begin(), event)[1]
    assert decision.action is Action.ESCALATE
    assert decision.reason.startswith("controller unavailable, fail-closed: ")


@pytest.mark.parametrize("event", [END, GoalChanged(0, 2), Restored(0, DEADLINE_US, ())])
def test_a_task_that_has_written_does_not_end_without_its_controller(event: StrategyEvent) -> None:
    whole, broken = guarded(NoRetry({}, KIT)), guarded(Breaks(NoRetry({}, KIT)))
    read, _ = whole.decide(whole.begin(), Proposed(view()))
    wrote, _ = whole.decide(whole.begin(), Proposed(view(WRITE)))
    assert (read["wrote"], wrote["wrote"]) == (False, True)
    assert broken.decide({**broken.begin(), "wrote": True}, event)[1].action is Action.ESCALATE


def test_a_before_read_is_no_write() -> None:
    guard = guarded(Says(Action.DISPATCH, prepare=True))
    assert not guard.decide(guard.begin(), Proposed(view(WRITE)))[0]["wrote"]


@pytest.mark.parametrize(
    "broken",
    [
        NoBeginning(Action.DISPATCH),
        Returns({}, None),
        Returns({}, "DISPATCH"),
        Returns({}, Decision(Action.RETRY, delay_us=-1)),
        Returns({}, Decision(Action.RETRY, debit=-1)),
    ],
)
def test_every_defect_is_a_failure_of_the_controller(broken: Any) -> None:
    guard = guarded(broken)
    state, decision = guard.decide(guard.begin(), Proposed(view()))
    assert decision.action is Action.DISPATCH
    assert state["failures"] >= 1


def test_the_state_before_the_failure_is_kept() -> None:
    guard = guarded(Breaks(Says(Action.DISPATCH), rate=0.0))
    state, _ = guard.decide(guard.begin(), Proposed(view()))
    failing = guarded(Breaks(Says(Action.DISPATCH)))
    after, _ = failing.decide(state, Proposed(view(step=2)))
    assert after["inner"] == state["inner"] == {"inner": {"heard": 1}, "n": 1}


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("criticality", list(Criticality))
def test_a_guarded_strategy_keeps_the_rules_however_often_it_breaks(
    rate: float, criticality: Criticality
) -> None:
    made = lambda: guarded(Breaks(Hfr({}, KIT), rate), criticality)  # noqa: E731
    assert check_strategy(made, walks=40, safe=True, defects=True) > 20


def test_a_guarded_strategy_that_is_well_decides_as_it_would_alone() -> None:
    faults = [lost_answer("add_order")]
    alone, around = (
        Rig(Hfr({}, KIT), faults=faults).run(),
        Rig(guarded(Hfr({}, KIT)), faults=faults),
    )
    assert around.run().events == alone.events
