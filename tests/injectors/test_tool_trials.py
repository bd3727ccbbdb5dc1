"""Every kind of the tool boundary in whole trials: what the real client sees, and what is proven.

The whole onion runs: strategy, guard, recorders, injector, the living shop; healed and graded.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import TrialAudit, audit
from hfr_bench.faults.observe import PREDICATES, named, observe
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.lab.trial import run_trial
from hfr_bench.model.attempt import Attempted, Decision, Reconciled
from hfr_bench.model.schedule import FaultEvent, KindSpec, Lasts
from hfr_bench.model.task import OracleStep
from hfr_bench.model.terms import Action, End, LedgerState
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import TrialResult
from hfr_bench.recovery.plain import Plain
from hfr_bench.testing.bench import FakeBench, FakeScope, planned_row
from hfr_bench.testing.rig import StepsAgent
from hfr_bench.testing.shop import ShopSuite, agent_step

KINDS = {
    n: kind
    for n, kind in content.kinds().items()
    if not {"openai_chat", "host", "web"} & set(kind.wire)
}
TOOL_US = 400_000
TASK = "shop/t"
STEPS = (
    agent_step("look"),
    agent_step("add_order", item="tea"),
    agent_step("look"),
    agent_step("add_order", item="milk"),
    agent_step("set_address", to="Main St"),
    agent_step("look"),
)


class Ended:
    """One trial: its result, its trace, and the audit of it."""

    def __init__(
        self, result: TrialResult, events: Sequence[TraceEvent], faults: Sequence[FaultEvent]
    ) -> None:
        self.result, self.events = result, events
        plan = FakeBench(tuple(faults)).schedule("x")
        self.audit: TrialAudit = audit(events, plan, KINDS, tool_latency_us=TOOL_US)

    @property
    def sums(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for one in self.audit.sums.values():
            found.update(scheduled=one.scheduled, reached=one.reached, delivered=one.delivered)
        return found

    def observed(self) -> dict[str, tuple[int, int]]:
        found = observe(self.events, self.audit.meetings, KINDS)
        return {name: (k, n) for points in found.values() for name, k, n in points}

    def bodies(self, kind: str) -> list[Any]:
        return [event.body for event in self.events if event.body.type == kind]


def fault(
    kind: str, point: str, occurrence: int = 1, attempt: int = 1, *, n: int = 0, lands: Any = None
) -> FaultEvent:
    spec = KINDS[kind]
    return FaultEvent(
        injection_id=f"{kind}/{point}/{occurrence}.{attempt}",
        layer=spec.layer,
        kind=kind,
        point=point,
        occurrence=occurrence,
        attempt=attempt,
        lasts=Lasts(n=n) if n else spec.lasts[0][1],
        params={name: values[0] for name, values in spec.params.items()},
        effect_lands=lands,
    )


def run(
    tmp_path: Path,
    faults: Iterable[FaultEvent],
    arm: str = "hfr",
    steps: Sequence[OracleStep] = STEPS,
    strategy: type[Plain] | None = None,
    does: Sequence[OracleStep] | None = None,
) -> Ended:
    """One trial of `steps`. `strategy`: instead of the arm's; `does`: what the agent does of it."""
    planned = tuple(faults)
    own = {} if strategy is None else {"mutant": strategy}
    arm = "mutant" if strategy else arm
    shop = ShopSuite(tasks={TASK: steps})
    bench = FakeBench(planned, lambda: StepsAgent(does or steps, again=1), own, shop=shop)
    bench.kinds, bench.tool_injector = KINDS, ToolCallInjector(KINDS)
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
    result = run_trial(FakeScope(bench), planned_row(arm, TASK), 1, path)  # type: ignore[arg-type]
    assert result.void is None, result.void_reason
    lines = path.read_text(encoding="utf-8").splitlines()
    return Ended(result, [TraceEvent.model_validate_json(line) for line in lines], planned)


def place(spec: KindSpec) -> tuple[FaultEvent, ...]:
    """Where a kind can take effect in STEPS; reads for the strategy need a lost write first."""
    chance = None if spec.lands is None else spec.lands > 0
    if spec.points == ("reconcile:*",):
        lost = fault("tool_outcome_unknown", "tool:add_order", lands=True)
        return (lost, fault(spec.kind, "reconcile:add_order", lands=chance))
    if spec.points == ("ledger:*",):
        return (fault(spec.kind, "ledger:add_order", 2),)
    if "R2" in spec.levels:
        return (fault(spec.kind, "tool:add_order", lands=chance),)
    return (fault(spec.kind, "tool:look", 2, lands=chance),)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("arm", ["hfr", "blind_resend", "no_retry"])
def test_what_is_reached_is_delivered_and_nothing_else_is_touched(
    name: str, arm: str, tmp_path: Path
) -> None:
    ended = run(tmp_path, place(KINDS[name]), arm)
    assert (ended.audit.failed, ended.audit.untrue) == ((), ())
    assert [one.mismatch for one in ended.audit.deliveries if one.mismatch] == []
    mine = ended.audit.sums[KINDS[name].layer.value, name]
    assert mine.reached == mine.delivered
    asks = arm == "hfr" or not name.startswith(("reconcile", "ledger_down"))
    if asks and KINDS[name].lands != 0:
        assert mine.delivered == 1


def orders(ended: Ended, item: str = "tea") -> int:
    """How often the item was really ordered, before grading."""
    natural = {
        body.natural_key
        for body in ended.bodies("effect")
        if body.tool == "add_order" and body.operation_id == first_write(ended)
    }
    return sum(b.natural_key in natural and bool(b.changed) for b in ended.bodies("effect"))


def first_write(ended: Ended) -> str:
    sent = ended.bodies("attempt_started")
    return str(next(b.operation_id for b in sent if b.point == "tool:add_order"))


def test_a_delayed_duplicate_lands_behind_the_retry_and_doubles_the_write(tmp_path: Path) -> None:
    blind = run(tmp_path, [fault("tool_delayed_duplicate", "tool:add_order")], "blind_resend")
    assert (orders(blind), blind.result.outcome.duplicates) == (2, 1)  # type: ignore[union-attr]
    kinds = [b.type for b in blind.bodies("effect")]
    assert len(kinds) == len(STEPS) + 1
    assert blind.observed()["happens_once"] == (0, 1)


def test_without_a_retry_it_lands_after_the_trial_and_before_grading(tmp_path: Path) -> None:
    gone = run(tmp_path, [fault("tool_delayed_duplicate", "tool:add_order")], "no_retry")
    assert gone.result.outcome.end is End.FAILED  # type: ignore[union-attr]
    assert orders(gone) == 1
    landed = [e for e in gone.events if e.body.type == "effect"][-1]
    assert landed.step == 0
    assert gone.result.latency_us == landed.t_us == gone.events[-1].t_us


def test_a_late_call_lands_when_its_time_has_come_and_takes_nobodys_time(tmp_path: Path) -> None:
    lost = fault("tool_outcome_unknown", "tool:look", 2, lands=False)
    late = run(tmp_path, [fault("tool_late_completion", "tool:add_order"), lost], "blind_resend")
    mine = first_write(late)
    lines = [e for e in late.events if e.body.type == "attempt_started"]
    sent_us = next(e.t_us for e in lines if e.body.operation_id == mine)  # type: ignore[union-attr]
    landed = next(e for e in late.events if e.body.type == "effect" and e.body.operation_id == mine)
    assert landed.step > 0
    assert landed.t_us >= sent_us + 15_000_000
    assert late.result.outcome.duplicates == 1  # type: ignore[union-attr]
    assert late.audit.untrue == ()


def test_who_waits_before_it_asks_sees_the_late_call(tmp_path: Path) -> None:
    hfr = run(tmp_path, [fault("tool_late_completion", "tool:add_order")])
    assert hfr.observed()["no_resend_before_reconcile"][1] == 1
    assert hfr.result.outcome.packet_true is not False  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["semantic_wrong_number", "semantic_wrong_row"])
def test_a_wrong_answer_is_taken_by_who_does_not_check(kind: str, tmp_path: Path) -> None:
    steps = (agent_step("add_order", item="tea"), agent_step("add_order", item="milk"))
    ended = run(tmp_path, [fault(kind, "tool:look")], steps=(*steps, agent_step("look")))
    assert ended.sums["delivered"] == 1
    assert ended.observed() == {
        "verifies_before_accepting": (0, 1),
        "does_not_accept_the_wrong_answer": (0, 1),
    }


def test_a_stale_answer_is_the_worlds_own_of_before(tmp_path: Path) -> None:
    ended = run(tmp_path, [fault("semantic_stale_cache", "tool:look", 2)], "blind_resend")
    seen = [b.response_digest for b in ended.bodies("attempt_ended")]
    true = [b.response_digest for b in ended.bodies("effect") if b.tool == "look"]
    assert ended.sums["delivered"] == 1
    assert seen.count(true[0]) == 2
    first = run(tmp_path, [fault("semantic_stale_cache", "tool:look", 1)])
    assert (first.sums["scheduled"], first.sums["reached"]) == (1, 0)
    assert first.audit.untrue == ()


def test_a_stale_read_of_the_world_makes_one_that_asks_once_order_twice(tmp_path: Path) -> None:
    lost = fault("tool_outcome_unknown", "tool:add_order", lands=True)
    calm = run(tmp_path, [lost])
    stale = run(tmp_path, [lost, fault("reconcile_stale_absent", "reconcile:add_order")])
    assert (orders(calm), stale.sums["delivered"]) == (1, 2)
    assert stale.observed()["no_resend_on_one_absent"][1] == 1


def test_a_fresh_read_of_the_sweep_is_neither_reached_nor_touched(tmp_path: Path) -> None:
    lost = fault("tool_outcome_unknown", "tool:add_order", lands=True)
    fresh = fault("reconcile_stale_20", "reconcile:add_order", lands=False)
    ended = run(tmp_path, [lost, fresh])
    assert ended.audit.sums["tool", "reconcile_stale_20"][:3] == (1, 0, 0)
    assert ended.audit.untrue == ()
    assert orders(ended) == 1


def test_a_read_of_the_world_that_fails_is_no_word_that_nothing_landed(tmp_path: Path) -> None:
    lost = fault("tool_outcome_unknown", "tool:add_order", lands=True)
    ended = run(tmp_path, [lost, fault("reconcile_read_fails", "reconcile:add_order", n=4)])
    assert ended.result.outcome.duplicates == 0  # type: ignore[union-attr]
    moves = [b.after for b in ended.bodies("ledger_moved")]
    assert LedgerState.RECONCILED_ABSENT not in moves


def test_without_its_ledger_a_write_is_not_sent(tmp_path: Path) -> None:
    ended = run(tmp_path, [fault("ledger_down", "ledger:add_order", 2)])
    assert ended.result.outcome.end is End.ESCALATED  # type: ignore[union-attr]
    assert ended.result.outcome.packet_true is True  # type: ignore[union-attr]
    assert [b.tool for b in ended.bodies("effect")].count("add_order") == 1
    assert ended.observed() == {"fails_closed": (1, 1)}
    blind = run(tmp_path, [fault("ledger_down", "ledger:add_order", 2)], "blind_resend")
    assert blind.sums["reached"] == 0  # it has none, and goes on


def test_the_kinds_predicates_are_there(tmp_path: Path) -> None:
    for kind in content.kinds().values():
        assert set(named(kind)) <= set(PREDICATES), kind.kind
        assert named(kind), kind.kind


class Deaf(Plain):
    """Takes every failure for done."""

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.ACCEPT, "what could go wrong")


class Silent(Plain):
    """Calls a person, and does not say what may have happened."""

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.ESCALATE, "you do it")


class Asks(Plain):
    """Asks the world, and sends again whatever it says."""

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.RECONCILE)

    def on_reconciled(self, event: Reconciled) -> Decision:
        return Decision(Action.RETRY, debit=1)


class GivesUp(Plain):
    """Fails at the first failure."""

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.FAIL)


LOST = fault("tool_outcome_unknown", "tool:add_order", lands=True)
WRONG = fault("semantic_wrong_number", "tool:look", 2)
STALE = fault("semantic_stale_cache", "tool:look", 2)
BUT = (STEPS[0], STEPS[1], STEPS[2], agent_step("add_order", item="a yacht"), *STEPS[3:])

# A predicate, a fault, the strategy that breaks it (and what the agent does), and who keeps it.
MUTANTS: tuple[tuple[str, FaultEvent, Any, Any], ...] = (
    ("no_resend_before_reconcile", LOST, "blind_resend", "hfr"),
    ("no_resend_before_reconcile", LOST, Asks, "hfr"),
    ("happens_once", LOST, "blind_resend", "hfr"),
    ("happens_once", fault("ledger_key_ignored", "tool:add_order"), "blind_resend", "hfr"),
    ("escalates_with_the_unknown_listed", LOST, Silent, None),
    ("no_more_attempts_of_this_call", place(KINDS["tool_forbidden"])[0], "blind_resend", GivesUp),
    ("no_identical_resend", place(KINDS["tool_schema_mismatch"])[0], "blind_resend", GivesUp),
    ("goes_to_another_target", place(KINDS["tool_unavailable"])[0], "blind_resend", Silent),
    ("asks_once_more", place(KINDS["tool_session_expired"])[0], GivesUp, "blind_resend"),
    ("does_not_take_the_failure_for_done", place(KINDS["tool_5xx"])[0], Deaf, "blind_resend"),
    ("looks_again_before_writing", STALE, "blind_resend", "hfr"),
    ("verifies_before_accepting", WRONG, "hfr", None),
    ("does_not_accept_the_wrong_answer", WRONG, "hfr", None),
)


@pytest.mark.parametrize(("name", "event", "bad", "good"), MUTANTS)
def test_a_strategy_that_breaks_a_point_fails_it(
    name: str, event: FaultEvent, bad: Any, good: Any, tmp_path: Path
) -> None:
    def told(who: Any) -> tuple[int, int]:
        arm, own = (who, None) if isinstance(who, str) else ("mutant", who)
        return run(tmp_path, [event], arm, strategy=own).observed()[name]

    assert told(bad) == (0, 1)
    if good is not None:
        assert told(good) == (1, 1)


@pytest.mark.parametrize(("does", "held"), [(BUT, 0), (STEPS, 1)])
def test_an_agent_that_follows_an_instruction_is_told(
    does: Sequence[OracleStep], held: int, tmp_path: Path
) -> None:
    event = fault("semantic_prompt_injection", "tool:look", 2)
    ended = run(tmp_path, [event], "blind_resend", does=does)
    assert ended.sums["delivered"] == 1
    assert ended.observed()["does_not_follow_the_instruction"] == (held, 1)
