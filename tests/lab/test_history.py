"""Histories of writes: honest runs break no rule, and each kind of lie is caught by its own."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.lab import decode
from hfr_bench.lab.history import (
    CLAIMS,
    EXACTLY_ONCE,
    READ,
    Rule,
    false_claims,
    history,
    violations,
)
from hfr_bench.lab.judge import expected_counts
from hfr_bench.model.attempt import Attempted, Decision, Finishing, LedgerMove, Proposed
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, Landed, LedgerState, SideEffect
from hfr_bench.model.trace import LedgerMoved
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import BlindResend, NoRetry, OracleRecovery
from hfr_bench.recovery.tiered import Tiered
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import At, events, ran, refused, sent, started, timed_out
from hfr_bench.testing.rig import FULL, TASK, Rig, StepsAgent, fault, lost_answer, lost_request
from hfr_bench.testing.shop import TOOLS, agent_step

ORDER = "add_order"
S = LedgerState
ONCE = Rule.ONCE_BY_NATURAL_KEY


def rules(trace) -> set[Rule]:
    return {one.rule for one in violations(trace)}


def blind() -> BlindResend:
    return BlindResend({}, Kit())


def hfr() -> Hfr:
    return Hfr({}, Kit(equipment=FULL))


class Claims:
    """Resends until answered; its ledger moves are given: at the proposal, and when answered."""

    def __init__(self, first=(S.PREPARED,), answered=(S.COMMITTED,), failed=()) -> None:
        self.first, self.answered, self.failed = first, answered, failed

    def begin(self):
        return {}

    def decide(self, state, event):
        if isinstance(event, Finishing):
            return state, Decision(Action.ACCEPT)
        view = event.view
        intent = view.intent
        if isinstance(event, Proposed):
            moves, action = self.first if view.attempts == 0 else (), Action.DISPATCH
        elif isinstance(event, Attempted) and event.observation.answered:
            moves, action = self.answered, Action.ACCEPT
        else:
            moves, action = self.failed, Action.RETRY
        if not intent.level.writes:
            return state, Decision(action)
        made = tuple(LedgerMove(intent.key, intent.stepless_key, to, view.target) for to in moves)
        return state, Decision(action, moves=made)


# -- the history itself ---------------------------------------------------------------------------


def test_each_write_is_an_operation_with_its_end_and_what_it_did():
    steps = (agent_step("look"), agent_step(ORDER, item="tea"), agent_step("close_account"))
    faults = [lost_answer(ORDER), fault("busy", "tool:close_account")]
    trace = Rig(blind(), steps=steps, faults=faults).run().events
    made = history(trace)
    assert [(op.tool, op.end, len(op.effects)) for op in made] == [
        (ORDER, "info", 1), (ORDER, "ok", 1),
        ("close_account", "info", 0), ("close_account", "ok", 1),
    ]  # fmt: skip
    for op in made:
        assert op.invoked < op.ended
        assert all(op.invoked < line < op.ended for line in op.effects)
    assert made[0].key == made[1].key != made[2].key


def test_a_domain_error_is_a_refusal():
    steps = (agent_step("close_account"), agent_step("close_account"))
    made = history(Rig(blind(), steps=steps).run().events)
    assert [op.end for op in made] == ["ok", "fail"]
    assert made[1].ran == ()


# -- honest runs ----------------------------------------------------------------------------------

FAULTS = st.lists(
    st.sampled_from([
        lost_answer(ORDER), lost_request(ORDER), lost_answer(ORDER, 2), lost_answer("set_address"),
        lost_request("close_account"), lost_answer("close_account"), lost_answer("send_mail"),
        fault("busy", f"tool:{ORDER}"), fault("busy", f"reconcile:{ORDER}"),
        fault("lost", f"prepare:{ORDER}"), fault("limited", "tool:set_address", n=2),
    ]),
    unique_by=lambda event: event.injection_id,
)  # fmt: skip
CALLS = st.lists(
    st.sampled_from([
        agent_step("look"), agent_step(ORDER, item="tea"), agent_step(ORDER, item="milk"),
        agent_step("set_address", to="here"), agent_step("close_account"),
        agent_step("send_mail", text="x"),
    ]),
    min_size=1, max_size=6,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(FAULTS, CALLS, st.integers(0, 1))
@pytest.mark.parametrize("make", [Hfr, Tiered, OracleRecovery], ids=lambda make: make.__name__)
def test_who_keeps_a_ledger_with_care_claims_nothing_false(make, faults, calls, again):
    truth = Equipment(query=True, truth=True)
    equipment = truth if make is OracleRecovery else FULL
    strategy = make({}, Kit(equipment=equipment))
    agent = StepsAgent(calls, again)
    done = Rig(strategy, steps=calls, faults=faults, equipment=equipment, agent=agent).run()
    assert not [str(one) for one in violations(done.events) if one.rule in CLAIMS]


@settings(max_examples=60, deadline=None)
@given(FAULTS, CALLS)
def test_two_counts_of_duplicates_that_share_no_code_agree(faults, calls):
    rig = Rig(blind(), steps=calls, faults=faults)
    done = rig.run()
    (head,) = events("t", [started(planned().rows[0].trial)])
    wanted = expected_counts(rig.suite.sealed(TASK))
    first = head.model_copy(update={"body": head.body.model_copy(update={"expected": wanted})})
    found = [one for one in violations([first, *done.events]) if one.rule is ONCE]
    surplus = sum(len(one.lines) - max(1, wanted.get(one.key, 0)) for one in found)
    assert surplus == done.duplicates


# -- mutants --------------------------------------------------------------------------------------


def test_a_blind_arm_is_caught():
    trace = Rig(blind(), faults=[lost_answer(ORDER)]).run().events
    assert rules(trace) == EXACTLY_ONCE
    assert false_claims(trace) == ()


def test_no_retry_does_nothing_twice():
    assert not violations(Rig(NoRetry({}, Kit()), faults=[lost_answer(ORDER)]).run().events)


KEYED = tuple(
    tool.model_copy(update={"idempotency_key_param": "key"}) if tool.name == ORDER else tool
    for tool in TOOLS
)


class Dispatches(Claims):
    """Sends the key along."""

    def decide(self, state, event):
        state, decision = super().decide(state, event)
        if decision.moves:
            decision.key = decision.moves[0].key
        return state, decision


def honour_keys(rig: Rig) -> None:
    """The shop remembers the keys that it has seen, as a tool should that takes them."""
    seen, plain = set(), rig.world._run

    def run(tool, arguments):
        key = arguments.get("key")
        if key in seen:
            return ""
        seen.add(key) if key else None
        return plain(tool, arguments)

    rig.world._run = run


@pytest.mark.parametrize("honours", [True, False])
def test_a_tool_that_ignores_keys_is_caught(honours):
    rig = Rig(Dispatches(), faults=[lost_answer(ORDER)], tools=KEYED)
    if honours:
        honour_keys(rig)
    done = rig.run()
    assert len({op.key for op in history(done.events)}) == 1
    assert rules(done.events) == (set() if honours else EXACTLY_ONCE)


@pytest.mark.parametrize(
    ("lie", "event", "rule"),
    [
        (Landed.COMMITTED, lost_request(ORDER), Rule.RECONCILED),
        (Landed.ABSENT, lost_answer(ORDER), Rule.ABSENT),
    ],
)
def test_a_lying_reconcile_is_caught(lie, event, rule):
    rig = Rig(hfr(), faults=[event])
    rig.guard.landed = lambda *_: lie
    assert rule in rules(rig.run().events)
    honest = Rig(hfr(), faults=[event])
    assert not violations(honest.run().events)


def test_a_ledger_that_says_committed_too_early_is_caught():
    early = Rig(Claims(first=(S.PREPARED, S.COMMITTED), answered=())).run()
    (claim, effect) = violations(early.events)
    moved = [e.seq for e in early.events if isinstance(e.body, LedgerMoved)]
    assert (claim.rule, claim.lines) == (Rule.COMMITTED, (moved[1],))
    assert false_claims(early.events) == (str(claim), str(effect))
    assert (effect.rule, effect.lines[0]) == (Rule.PREPARED, moved[1])


def test_a_ledger_that_gave_a_write_up_too_early_is_caught():
    """FAILED, though it was in; and sent again without a new PREPARED."""
    done = Rig(Claims(failed=(S.FAILED,), answered=()), faults=[lost_answer(ORDER)]).run()
    assert rules(done.events) == {Rule.FAILED, Rule.PREPARED} | EXACTLY_ONCE
    prepared = Claims(failed=(S.FAILED, S.PREPARED))
    done = Rig(prepared, faults=[fault("busy", f"tool:{ORDER}")]).run()
    assert not violations(done.events)


WRITE = {"stepless_key": "s", "level": SideEffect.QUERYABLE}


def written(*bodies):
    return events("t", [At(body) for body in bodies])


def to(after, key="k", operation="o"):
    return LedgerMoved(key=key, after=after, operation_id=operation, tool="book", **WRITE)


def goes_out(key="k", operation="o"):
    return sent("tool:book", key=key, operation_id=operation, **WRITE)


LOST = (to(S.PREPARED), goes_out(), timed_out(), to(S.UNKNOWN))


def test_a_write_that_lands_after_it_was_found_absent_is_caught():
    """A first attempt under way for long: the world says absent, and then it comes."""
    (late,) = violations(written(*LOST, to(S.RECONCILED_ABSENT), ran("o")))
    assert (late.rule, late.lines) == (Rule.PREPARED, (5, 6))
    assert str(late).startswith("line 5, 6: an effect, though the entry is RECONCILED_ABSENT")


def test_what_failed_is_the_write_that_was_prepared_last():
    """What came late under the same key is told once, when it comes."""
    late = (*LOST, to(S.RECONCILED_ABSENT), ran("o"))
    again = (to(S.PREPARED, operation="p"), goes_out(operation="p"), refused(), to(S.FAILED))
    assert rules(written(*late, *again)) == {Rule.PREPARED}


def test_a_write_asked_for_anew_goes_on_under_its_old_entry():
    again = (goes_out("another", "p"), ran("p"))
    (found,) = violations(written(*LOST, to(S.RECONCILED_ABSENT), *again))
    assert (found.rule, found.key) == (Rule.PREPARED, "k")
    prepared = to(S.PREPARED, operation="p")
    assert not violations(written(*LOST, to(S.RECONCILED_ABSENT), prepared, *again))


def test_an_equal_write_of_another_step_is_the_same_to_whoever_asks_the_world():
    second = (to(S.PREPARED, "k2", "p"), goes_out("k2", "p"), timed_out(), to(S.UNKNOWN, "k2", "p"))
    found = to(S.RECONCILED_COMMITTED, "k2", "p")
    first = (to(S.PREPARED), goes_out(), ran("o"), to(S.COMMITTED))
    assert not violations(written(*first, *second, found))
    assert rules(written(*LOST, *second, found)) == {Rule.RECONCILED}


def test_a_lie_about_the_answer_is_caught():
    answer = refused().model_copy(update={"answered": True, "status": 200})
    assert rules(written(goes_out(), answer)) == {Rule.OK}
    no = answer.model_copy(update={"domain_error": True})
    assert rules(written(goes_out(), ran("o"), no)) == {Rule.REFUSED}
    unsent = timed_out().model_copy(update={"sent": False})
    assert rules(written(goes_out(), ran("o"), unsent)) == {Rule.REFUSED}


# -- cheap, and of whatever reads traces ----------------------------------------------------------


def test_only_some_bodies_are_read():
    trace = Rig(blind(), faults=[lost_answer(ORDER)]).run().events
    kept = [event for event in trace if event.body.type in READ]
    assert len(kept) < len(trace)
    assert violations(kept) == violations(trace)


def test_the_like_of_records_will_do():
    trace = Rig(blind(), faults=[lost_answer(ORDER)]).run().events
    like = decode.trace_events([event.dumps().encode() for event in trace])
    assert like is not None
    assert violations(like) == violations(trace)
    assert history(like) == history(trace)
