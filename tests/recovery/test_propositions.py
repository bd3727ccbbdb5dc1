"""The paper's propositions 1 to 3 over random fault schedules in a living world.

The same laws are shown to catch known-bad strategies: a law that cannot be broken proves nothing.
"""

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.attempt import Decision, StrategyEvent
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.terms import End
from hfr_bench.model.trace import AttemptStarted, Decided
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import BlindResend, FixedRetry
from hfr_bench.testing import laws
from hfr_bench.testing.rig import FULL, Ran, Rig, StepsAgent, crash, fault, lost_answer
from hfr_bench.testing.shop import TOOLS, agent_step

KIT = Kit(equipment=FULL, chance_key=("shop", 1))
STEPS = (
    agent_step("look"),
    agent_step("add_order", item="tea"),
    agent_step("set_address", to="here"),
    agent_step("add_order", item="tea"),
    agent_step("add_order", item="milk"),
    agent_step("send_mail", text="hi"),
    agent_step("close_account"),
)
CAREFUL = settings(max_examples=80, deadline=None)

PLACES = [
    *((f"tool:{tool.name}", 1) for tool in TOOLS),
    *((f"{why}:add_order", n) for why in ("tool", "prepare", "reconcile") for n in (1, 2, 3)),
    *((f"reconcile:{name}", 1) for name in ("close_account", "add_order")),
]


def planned(kind: str, place: tuple[str, int], attempt: int, n: int, lands: bool) -> FaultEvent:
    return fault(kind, *place, attempt, n=n, lands=lands)


events = st.builds(
    planned,
    st.sampled_from(["lost", "lost", "busy", "limited", "forbidden"]),
    st.sampled_from(PLACES),
    st.sampled_from([1, 1, 2, 3]),
    st.integers(1, 4),
    st.booleans(),
)
schedules = st.lists(events, min_size=1, max_size=10, unique_by=lambda event: event.injection_id)
budgets = st.fixed_dictionaries(
    {}, optional={"retries_per_step": st.integers(0, 4), "retries_per_task": st.integers(0, 8)}
)


def run(faults: list[FaultEvent], config: dict[str, int], strategy: Any = Hfr) -> Ran:
    return Rig(
        strategy(config, KIT), steps=STEPS, faults=faults, agent=StepsAgent(STEPS, again=2)
    ).run()


@CAREFUL
@given(schedules, budgets)
def test_proposition_1_attempts_are_bounded(
    faults: list[FaultEvent], config: dict[str, int]
) -> None:
    ran = run(faults, config)
    steps = ran.guard.tally.steps
    of_step, of_task = config.get("retries_per_step", 3), config.get("retries_per_task", 10)
    assert ran.attempts() <= min(steps * (1 + of_step), steps + of_task)
    most = Counter(
        event.step
        for event in ran.events
        if isinstance(event.body, AttemptStarted) and event.body.purpose == "agent"
    )
    assert max(most.values(), default=0) <= 1 + of_step


@CAREFUL
@given(schedules, budgets)
def test_whatever_is_done_again_is_debited_reads_for_the_strategy_too(
    faults: list[FaultEvent], config: dict[str, int]
) -> None:
    ran = run(faults, config)
    debited = sum(e.body.debit for e in ran.events if isinstance(e.body, Decided))
    again = sum(isinstance(e.body, AttemptStarted) and e.attempt > 1 for e in ran.events)
    assert again <= debited <= config.get("retries_per_task", 10)


@CAREFUL
@given(schedules, budgets)
def test_propositions_2_and_3_nothing_is_duplicated(
    faults: list[FaultEvent], config: dict[str, int]
) -> None:
    ran = run(faults, config)
    assert ran.effects.duplicates == ran.effects.unwanted == 0
    assert ran.world.orders("tea") <= 2
    assert ran.world.orders("milk") <= 1
    assert ran.world.mails in ([], ["hi"])
    assert laws.blind_resends(ran.events) == []
    given_up = any(e.body.action == "REPLAN" for e in ran.events if e.body.type == "step_ended")
    if ran.end is End.ACCEPTED and not given_up:
        assert ran.grade.goal_met


crashes = st.lists(
    st.builds(
        crash,
        st.sampled_from([tool.name for tool in TOOLS]),
        st.sampled_from([1, 1, 2, 3]),
        lands=st.booleans(),
    ),
    max_size=4,
    unique_by=lambda event: event.injection_id,
)


@CAREFUL
@given(schedules, crashes)
def test_propositions_2_and_3_hold_across_crashes_of_the_runtime(
    faults: list[FaultEvent], dies: list[FaultEvent]
) -> None:
    """Its state is a checkpoint's then; the ledger's store knows more (paper §5.4)."""
    ran = run([*dies, *faults], {})
    assert ran.duplicates == ran.effects.unwanted == 0
    assert ran.world.mails in ([], ["hi"])
    assert laws.illegal_moves(ran.events) == []
    assert ran.packet_true is not False


@CAREFUL
@given(schedules, budgets)
def test_the_ledger_moves_legally_and_before_the_attempt_it_protects(
    faults: list[FaultEvent], config: dict[str, int]
) -> None:
    ran = run(faults, config)
    assert laws.illegal_moves(ran.events) == []
    assert laws.unprotected_writes(ran.events) == []


@CAREFUL
@given(schedules, budgets)
def test_hopeless_failures_are_not_retried_and_stated_waits_are_kept(
    faults: list[FaultEvent], config: dict[str, int]
) -> None:
    ran = run(faults, config)
    assert laws.retried_after(ran.events, 403) == []
    assert laws.hurried_after(ran.events, 429, 7_000_000) == []


@CAREFUL
@given(schedules)
def test_what_a_person_is_handed_is_true(faults: list[FaultEvent]) -> None:
    ran = run(faults, {})
    assert ran.packet_true is not False


class Reloading:
    """Writes its strategy's state out and reads it back around every decision."""

    def __init__(self, inner: Hfr) -> None:
        self._inner = inner

    def begin(self) -> dict[str, Any]:
        return self._reload(self._inner.begin())

    def decide(
        self, state: dict[str, Any], event: StrategyEvent
    ) -> tuple[dict[str, Any], Decision]:
        after, decision = self._inner.decide(state, event)
        return self._reload(after), decision

    @staticmethod
    def _reload(state: dict[str, Any]) -> dict[str, Any]:
        return dict(json.loads(json.dumps(state)))


@CAREFUL
@given(schedules)
def test_a_state_written_out_and_read_back_goes_on_the_same(faults: list[FaultEvent]) -> None:
    plain = run(faults, {})
    reloaded = run(faults, {}, lambda config, kit: Reloading(Hfr(config, kit)))
    assert plain.events == reloaded.events


def test_the_laws_catch_a_blind_resend() -> None:
    for strategy in (BlindResend, FixedRetry):
        ran = run([lost_answer("add_order")], {}, strategy)
        assert ran.duplicates == 1
        assert laws.blind_resends(ran.events)
        assert len(laws.unprotected_writes(ran.events)) == 7  # they keep no ledger at all


def test_the_laws_catch_a_retried_refusal_and_a_hurried_retry() -> None:
    ran = run([fault("forbidden", "tool:look")], {}, BlindResend)
    assert len(laws.retried_after(ran.events, 403)) == 1
    ran = run([fault("limited", "tool:look")], {}, BlindResend)
    assert len(laws.hurried_after(ran.events, 429, 7_000_000)) == 1
