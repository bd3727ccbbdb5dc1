"""The guard carries out decisions, one step at a time; it decides nothing itself."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Fault,
    LedgerMove,
    Prepared,
    Proposed,
    Reconciled,
    StrategyEvent,
    Truth,
)
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, CheckLevel, End, FaultClass, Landed, LedgerState, Rung
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    Decided,
    Escalated,
    LedgerMoved,
    ReconcileAnswered,
    StepEnded,
)
from hfr_bench.ports.agent import ToolRequest
from hfr_bench.testing.fakes import (
    FakeAgent,
    FakeInjector,
    FakeLedger,
    FakeModel,
    FakePort,
    FakeStrategy,
    fine,
    lost,
    refused,
)
from hfr_bench.testing.rig import FULL, Rig, lost_answer, lost_request
from hfr_bench.testing.shop import agent_step

TEA = ToolRequest("c", "add_order", {"item": "tea"})
GO, RETRY, ACCEPT = Decision(Action.DISPATCH), Decision(Action.RETRY), Decision(Action.ACCEPT)
RECONCILE, REPLAN = Decision(Action.RECONCILE), Decision(Action.REPLAN)
PREPARE = Decision(Action.DISPATCH, prepare=True)


def rig(*decisions: Decision, **parts: Any) -> Rig:
    return Rig(FakeStrategy(decisions), **parts)


def asked(of: Rig) -> list[StrategyEvent]:
    strategy = of.guard.strategy
    assert isinstance(strategy, FakeStrategy)
    return strategy.asked


def test_it_asks_before_every_attempt_and_after_every_observation() -> None:
    made = rig(GO, RETRY, GO, ACCEPT, ACCEPT, faults=[lost_request("add_order")])
    ran = made.run()
    names = [type(event).__name__ for event in asked(made)]
    assert names == ["Proposed", "Attempted", "Proposed", "Attempted", "Finishing"]
    assert [body.on for body in made.sink.of(Decided)] == names
    assert (ran.end, ran.attempts()) == (End.ACCEPTED, 2)
    (ended,) = made.sink.of(StepEnded)
    assert (ended.attempts, ended.action) == (2, Action.ACCEPT)


def test_it_shows_the_strategy_where_the_step_stands() -> None:
    made = rig(GO, RETRY, GO, ACCEPT, ACCEPT, faults=[lost_request("add_order")], deadline_s=99)
    made.run()
    views = [event.view for event in asked(made)[:-1] if hasattr(event, "view")]
    assert [view.attempts for view in views] == [0, 1, 1, 2]
    assert [view.now_us for view in views] == [0, 10_000_000, 10_000_000, 10_400_000]
    first = views[0]
    assert (first.step, first.point, first.target) == (1, "tool:add_order", "add_order")
    assert (first.deadline_us, first.needs_before, first.can_reconcile) == (99_000_000, True, True)
    assert len({view.intent.key for view in views}) == 1


def test_occurrences_count_steps_at_a_point_and_attempts_within() -> None:
    steps = (agent_step("look"), agent_step("add_order", item="a"), agent_step("look"))
    made = rig(GO, RETRY, *(GO, ACCEPT) * 3, ACCEPT, steps=steps, faults=[lost_request("look")])
    made.run()
    started = [event for event in made.sink.events if isinstance(event.body, AttemptStarted)]
    assert [(e.body.point, e.body.occurrence, e.attempt, e.step) for e in started] == [
        ("tool:look", 1, 1, 1),
        ("tool:look", 1, 2, 1),
        ("tool:add_order", 1, 1, 2),
        ("tool:look", 2, 1, 3),
    ]
    assert len({e.body.operation_id for e in started}) == 4


def test_delays_are_waited_before_going_on() -> None:
    made = rig(
        GO,
        Decision(Action.RETRY, delay_us=3_000_000),
        GO,
        ACCEPT,
        ACCEPT,
        faults=[lost_request("add_order")],
    )
    made.run()
    starts = [e.t_us for e in made.sink.events if isinstance(e.body, AttemptStarted)]
    assert starts == [0, 13_000_000]
    assert made.guard.tally.backoff_us == 3_000_000
    assert (made.guard.tally.recoveries, made.guard.tally.recovery_us) == (1, 13_400_000)


def test_recovery_is_counted_from_the_start_of_the_first_failed_attempt() -> None:
    made = rig(GO, RETRY, GO, RETRY, GO, ACCEPT, ACCEPT, faults=[lost_request("add_order", n=2)])
    made.run()
    assert made.guard.tally.recovery_us == 20_400_000


# -- reads made for the strategy ----------------------------------------------------------------


def test_a_before_read_and_a_reconcile_have_points_of_their_own() -> None:
    made = rig(PREPARE, GO, RECONCILE, ACCEPT, ACCEPT, faults=[lost_answer("add_order")])
    ran = made.run()
    started = made.sink.of(AttemptStarted)
    assert [(b.point, b.purpose, b.target, b.key == "") for b in started] == [
        ("prepare:add_order", "prepare", "look", True),
        ("tool:add_order", "agent", "add_order", False),
        ("reconcile:add_order", "reconcile", "look", True),
    ]
    assert isinstance(asked(made)[1], Prepared)
    reconciled = asked(made)[3]
    assert isinstance(reconciled, Reconciled)
    assert reconciled.landed is Landed.COMMITTED
    (answered,) = made.sink.of(ReconcileAnswered)
    assert (answered.tool, answered.landed) == ("add_order", Landed.COMMITTED)
    assert (ran.duplicates, ran.grade.goal_met) == (0, True)


def test_a_write_that_is_not_there_is_absent() -> None:
    made = rig(
        PREPARE, GO, RECONCILE, RETRY, GO, ACCEPT, ACCEPT, faults=[lost_request("add_order")]
    )
    ran = made.run()
    assert made.sink.of(ReconcileAnswered)[0].landed is Landed.ABSENT
    assert ran.grade.goal_met
    assert made.agent.told == ['{"done": "add_order"}']  # its own answer, not the read before it


def test_without_its_before_read_an_accumulating_write_stays_unknown() -> None:
    made = rig(GO, RECONCILE, ACCEPT, ACCEPT, faults=[lost_answer("add_order")])
    made.run()
    assert made.sink.of(ReconcileAnswered)[0].landed is Landed.UNKNOWN


def test_a_read_after_a_failed_one_is_its_next_attempt_any_other_a_new_occurrence() -> None:
    injector = FakeInjector(
        {
            ("tool:add_order", 1, 1): lost(),
            ("tool:add_order", 1, 2): lost(),
            ("reconcile:add_order", 1, 1): refused(503),
        }
    )
    made = rig(*(GO, RECONCILE, RECONCILE, RETRY, GO, RECONCILE, ACCEPT, ACCEPT), injector=injector)
    made.run()
    reads = [
        (e.body.occurrence, e.attempt)
        for e in made.sink.events
        if isinstance(e.body, AttemptStarted) and e.body.purpose == "reconcile"
    ]
    assert reads == [(1, 1), (1, 2), (2, 1)]
    failed = asked(made)[2]
    assert isinstance(failed, Reconciled)
    assert (failed.landed, failed.observation.status) == (Landed.UNKNOWN, 503)


def test_the_agent_is_told_that_a_lost_write_is_in() -> None:
    made = rig(PREPARE, GO, RECONCILE, ACCEPT, ACCEPT, faults=[lost_answer("add_order")])
    made.run()
    (told,) = made.agent.told  # type: ignore[attr-defined]
    assert '"status": "committed"' in told
    assert "tea" in told


# -- ledger ---------------------------------------------------------------------------------------


def moving(*states: LedgerState, action: Action = Action.DISPATCH, debit: int = 0) -> Any:
    """A decision that moves the write at hand."""

    def decide(event: StrategyEvent) -> Decision:
        assert isinstance(event, Proposed | Attempted)
        intent = event.view.intent
        moves = [LedgerMove(intent.key, intent.stepless_key, to, intent.target) for to in states]
        return Decision(action, moves=tuple(moves), debit=debit)

    return decide


def scripted(*answers: Decision | Callable[[StrategyEvent], Decision]) -> FakeStrategy:
    left = iter(answers)

    def decide(event: StrategyEvent) -> Decision:
        answer = next(left)
        return answer if isinstance(answer, Decision) else answer(event)

    return FakeStrategy(decide)


def test_a_move_is_durable_and_written_before_the_attempt_it_protects() -> None:
    ledger = FakeLedger()
    strategy = scripted(
        moving(LedgerState.PREPARED, debit=2),
        moving(LedgerState.COMMITTED, action=Action.ACCEPT),
        ACCEPT,
    )
    at_work: list[LedgerState] = []

    def world(call: Any) -> Any:
        at_work.extend(entry.state for entry in ledger.entries())
        return fine()

    made = Rig(strategy, ledger=ledger)
    made.guard.onion = {call: FakePort(world) for call in made.guard.onion}
    made.run()
    kinds = [type(body) for body in made.sink.bodies]
    assert kinds.index(LedgerMoved) < kinds.index(StepEnded)
    assert at_work == [LedgerState.PREPARED]
    debit, entries = ledger.applied[0]
    assert (debit.retries, debit.step) == (2, 1)
    assert (entries[0].tool, entries[0].level) == ("add_order", "R2")
    first, second = made.sink.of(LedgerMoved)
    assert (first.before, first.after) == (None, LedgerState.PREPARED)
    assert (second.before, second.after) == (LedgerState.PREPARED, LedgerState.COMMITTED)


def test_an_illegal_move_ends_the_trial_as_the_strategys_failure() -> None:
    made = Rig(scripted(moving(LedgerState.COMMITTED)))
    ran = made.run()
    assert (ran.end, ran.attempts()) == (End.FAILED, 0)
    assert "moved the ledger illegally: ledger: None -> COMMITTED" in ran.reason


# -- ends -----------------------------------------------------------------------------------------


def test_an_escalation_is_charged_and_hands_over_what_is_known() -> None:
    strategy = scripted(
        moving(LedgerState.PREPARED),
        moving(LedgerState.UNKNOWN, action=Action.ESCALATE),
    )
    made = Rig(strategy, faults=[lost_answer("add_order")])
    ran = made.run()
    (packet,) = made.human.packets
    assert (packet.step, packet.status, packet.committed) == (1, "tool:add_order", ())
    assert len(packet.unknown) == 1
    assert made.sink.of(Escalated)[0].packet == packet
    assert made.sums.cost_microusd == 20_000 + 1000
    assert made.guard.tally.human_us == 10_000_000
    assert (ran.end, ran.packet_true) == (End.ESCALATED, True)


def test_without_a_ledger_the_packet_lists_only_answers_seen() -> None:
    escalate = Decision(Action.ESCALATE, "why", fault=Fault(FaultClass.TIMEOUT, evidence="proof"))
    steps = (agent_step("add_order", item="a"), agent_step("add_order", item="b"))
    made = rig(
        *(GO, ACCEPT, GO, escalate),
        steps=steps,
        faults=[lost_answer("add_order", 2)],
        equipment=Equipment(),
    )
    ran = made.run()
    (packet,) = made.human.packets
    assert (len(packet.committed), packet.unknown) == (1, ())
    assert (packet.reason, packet.evidence) == ("why", "proof")
    assert ran.packet_true is False  # the second one landed, and nobody says so


@pytest.mark.parametrize(
    ("decision", "end"),
    [
        (Decision(Action.FAIL, "no"), End.FAILED),
        (Decision(Action.ESCALATE, "no"), End.ESCALATED),
        (RECONCILE, End.FAILED),
        (PREPARE, End.FAILED),
        (Decision(Action.VERIFY, check=CheckLevel.TRANSPORT), End.FAILED),
        (Decision(Action.COMPRESS, rung=Rung.COMPRESSED), End.FAILED),
        (Decision(Action.DEGRADE_MODEL, substitute="other"), End.FAILED),
        (Decision(Action.RETRY, delay_us=-1), End.FAILED),
        (Decision(Action.RETRY, debit=-1), End.FAILED),
        ("not a decision", End.FAILED),
    ],
    ids=str,
)
def test_whatever_cannot_be_done_ends_the_trial_as_a_failure(decision: Any, end: End) -> None:
    ran = rig(decision, steps=(agent_step("look"),)).run()
    assert (ran.end, ran.attempts()) == (end, 0)


def test_a_model_step_is_never_replanned() -> None:
    agent = FakeAgent(lambda runtime: runtime.model([], []) and None)
    made = rig(GO, REPLAN, agent=agent)
    assert (made.run().end, "REPLAN" in made.run().reason) == (End.FAILED, True)


def test_a_degraded_step_goes_to_the_substitute_and_counts_once() -> None:
    seen: list[str] = []

    def model(call: Any) -> Any:
        seen.append(call.target)
        return FakeModel.says("") if call.target == "c" else refused(529)

    there = [Decision(Action.DEGRADE_MODEL, substitute=name) for name in "bc"]
    agent = FakeAgent(lambda runtime: runtime.model([], []) and None)
    made = rig(*(GO, there[0], GO, there[1], GO, ACCEPT, ACCEPT), agent=agent, model=model)
    made.run()
    assert seen == ["rehearsal-primary", "b", "c"]
    assert made.guard.tally.degraded_steps == 1


def test_an_exception_of_the_strategy_is_its_failure_not_ours() -> None:
    def broken(event: StrategyEvent) -> Decision:
        raise ZeroDivisionError("oops")

    ran = Rig(FakeStrategy(broken)).run()
    assert (ran.end, ran.reason) == (End.FAILED, "the strategy raised ZeroDivisionError: oops")


def test_no_agent_swallows_the_end_with_except_exception() -> None:
    reached = []

    def stubborn(runtime: Any) -> None:
        with contextlib.suppress(Exception):
            runtime.tool(TEA)
        reached.append("swallowed")

    ran = rig(Decision(Action.FAIL, "no"), agent=FakeAgent(stubborn)).run()
    assert (ran.end, reached) == (End.FAILED, [])


def test_an_agent_that_swallows_everything_meets_the_end_again() -> None:
    def deaf(runtime: Any) -> None:
        for _ in range(3):
            with contextlib.suppress(BaseException):
                runtime.tool(TEA)

    made = rig(Decision(Action.FAIL, "no"), agent=FakeAgent(deaf))
    assert (made.run().end, len(asked(made))) == (End.FAILED, 1)


def test_our_own_failure_is_not_swallowed_either() -> None:
    def broken(call: Any) -> Any:
        raise InfrastructureError("the host is gone")

    def careless(runtime: Any) -> None:
        with contextlib.suppress(Exception):
            runtime.model([], [])

    with pytest.raises(InfrastructureError, match="gone"):
        rig(GO, ACCEPT, agent=FakeAgent(careless), model=broken).run()


@pytest.mark.parametrize(
    ("last", "end"),
    [
        (ACCEPT, End.ACCEPTED),
        (Decision(Action.ESCALATE), End.ESCALATED),
        (Decision(Action.FAIL), End.UNACCEPTED),
        (RETRY, End.UNACCEPTED),
    ],
    ids=lambda value: str(value)[:24],
)
def test_final_acceptance_is_the_strategys(last: Decision, end: End) -> None:
    assert rig(GO, ACCEPT, last).run().end is end


def test_only_yardsticks_are_shown_the_truth() -> None:
    for equipment, truth in (
        (FULL, None),
        (Equipment(truth=True), Truth(landed=True, clears_by="retry")),
    ):
        made = rig(GO, ACCEPT, ACCEPT, faults=[lost_answer("add_order")], equipment=equipment)
        made.run()
        event = asked(made)[1]
        assert isinstance(event, Attempted)
        assert event.truth == truth
    assert isinstance(asked(made)[0], Proposed)
    assert len(made.sink.of(AttemptEnded)) == 1
