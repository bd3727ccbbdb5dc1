"""Propositions 1 to 4 and boundaries 1 and 2 (paper §3.5, §4.10, appendix D) on the controller.

A world small enough to say what is true of it: which write landed when, how late a query may see
it, how good an answer is. Its assumptions can be taken away, and then the counterexample is found.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Finishing,
    Known,
    Observation,
    Prepared,
    Proposed,
    Reconciled,
    Restored,
    StepView,
    StrategyEvent,
    Verdict,
    Verified,
)
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, CheckLevel, Criticality, Landed, SideEffect
from hfr_bench.model.terms import LedgerState as S
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.ledger import check_move
from hfr_bench.recovery.strategies import BlindResend
from hfr_bench.testing.fakes import FakeModel, fine, lost, refused
from hfr_bench.testing.roads import MODEL, R1, R1_BARE, R2, R2_BARE, R3, READ, Kind, intent

CAREFUL = settings(max_examples=200, deadline=None)
WORK_US = 400_000
DEADLINE_US = 3_600_000_000
PLAN = (READ, R1, MODEL, R2, R1_BARE, R2_BARE, R3)
PAY = Kind("pay", SideEffect.IRREVERSIBLE, contract=True)
"""Irreversible, though the world could be asked: it is not sent again all the same."""

# What becomes of a call: does it run, what is seen, and does the runtime die of it?
RUNS = {"ok", "lost in", "500 in", "crash in", "crash far"}
SEEN = {
    "ok": fine(),
    "domain": fine(domain_error=True),
    "lost in": lost(),
    "lost out": lost(),
    "500 in": refused(500),
    "500 out": refused(500),
    "unsent": lost("ConnectError", sent=False),
    "429": refused(429, retry_after="2"),
    "400": refused(400),
    "403": refused(403),
    "refusal": fine('{"error": {"code": "content_policy_violation"}}'),
    "529": refused(529),
}
CRASHES = ("crash in", "crash out", "crash far")
KIT = Kit(
    equipment=Equipment(ledger=True, query=True, ladder=True),
    substitutes={"m": ("backup", "third")},
    chance_key=("propositions",),
)


@dataclass
class World:
    """One run. `fates`: of the calls, in order; afterwards all is well. `lag_us`: of queries.

    `landed`: (time, step-less key) of every committed effect. `sent`: (step, kind, key, fate).
    `quality`: of answers, in order. `again`: how often the agent asks anew after REPLAN.
    """

    strategy: Any
    plan: Sequence[Kind] = PLAN
    fates: Sequence[str] = ()
    lag_us: int = 0
    queries_fail: Sequence[bool] = ()
    quality: Sequence[float] = ()
    again: int = 2
    now_us: int = 0
    steps: int = 0
    landed: list[tuple[int, str]] = field(default_factory=list)
    sent: list[tuple[int, str, str, str]] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)
    keys: dict[str, set[str]] = field(default_factory=dict)
    store: dict[str, Known] = field(default_factory=dict)
    decisions: list[tuple[str, Decision]] = field(default_factory=list)
    end: Action | None = None

    def run(self) -> "World":
        self.state = self.strategy.begin()
        self._fates, self._fails = iter(self.fates), iter(self.queries_fail)
        self._quality = iter(self.quality)
        at, asked, saved = 0, 0, [(0, json.dumps(self.state))]
        while at < len(self.plan) and self.end is None:
            crash = self._step(self.plan[at])
            if crash is not None:
                at, kept = saved[0] if crash == "crash far" else saved[-1]
                self.state, asked = json.loads(kept), 0
                self._restore()
            elif self.decisions[-1][1].action is Action.REPLAN and asked < self.again:
                asked += 1
            else:
                at, asked = at + 1, 0
                saved.append((at, json.dumps(self.state)))
        if self.end is None:
            self.end = self._ask(Finishing(self.now_us, DEADLINE_US)).action
        return self

    def _ask(self, event: StrategyEvent) -> Decision:
        self.state, decision = self.strategy.decide(self.state, event)
        self.decisions.append((type(event).__name__, decision))
        for move in decision.moves:
            old = self.store.get(move.key)
            check_move(old.state if old else None, move.to)
            level = old.level if old else SideEffect.READ
            self.store[move.key] = Known(move.key, move.stepless_key, move.to, move.tool, level)
        self.now_us += decision.delay_us
        if decision.action in (Action.ESCALATE, Action.FAIL):
            self.end = decision.action
        return decision

    def _restore(self) -> None:
        levels = {kind.name: kind.level for kind in self.plan}
        known = tuple(
            Known(k.key, k.stepless_key, k.state, k.tool, levels[k.stepless_key] or SideEffect.READ)
            for k in self.store.values()
        )
        self._ask(Restored(self.now_us, DEADLINE_US, known))

    def _step(self, kind: Kind) -> str | None:
        """One logical step; the crash that ended it, or None."""
        self.steps += 1
        self._at = (kind, kind.name, 0, "", None)
        event: StrategyEvent = Proposed(self._view())
        while True:
            decision = self._ask(event)
            kind, target, attempts, key, seen = self._at
            key = next((m.key for m in decision.moves if m.to is S.PREPARED), decision.key or key)
            self._at = (kind, decision.substitute or target, attempts, key, seen)
            match decision.action:
                case Action.ACCEPT | Action.REPLAN | Action.ESCALATE | Action.FAIL:
                    if decision.action is Action.ACCEPT and not kind.writes:
                        self.accepted.append(self._q)
                    return None
                case Action.DISPATCH if decision.prepare:
                    event = Prepared(self._view(), fine())
                case Action.DISPATCH:
                    fate = next(self._fates, "ok")
                    seen = self._call(fate)
                    if fate in CRASHES:
                        return fate
                    self._at = (kind, self._at[1], attempts + 1, key, seen)
                    event = Attempted(self._view(), seen)
                case Action.RECONCILE:
                    event = self._query()
                case Action.VERIFY:
                    assert decision.check is not None
                    passed = self._q >= 0.5  # it passes more than the floor does
                    why = () if passed else (f"only {self._q:.1f}",)
                    event = Verified(self._view(), Verdict(decision.check, passed, self._q, why))
                case Action.COMPRESS:
                    event = Compressed(self._view(), True)
                case _:
                    event = Proposed(self._view())

    def _call(self, fate: str) -> Observation:
        kind, target, _, key, _ = self._at
        self.now_us += WORK_US
        self.sent.append((self.steps, kind.name, key, fate))
        self._q = next(self._quality, 1.0)
        seen = SEEN.get(fate, SEEN["lost out"])
        if kind.writes:
            # An R1 tool knows its own keys, and answers them as it did before; no other tool's.
            known = self.keys.setdefault(target, set())
            again = kind.level is SideEffect.IDEMPOTENT and key in known
            if again and fate == "domain":
                return SEEN["ok"]
            if fate in RUNS and not again:
                self.landed.append((self.now_us, kind.name))
                known.add(key)
        if kind.level is None and fate == "ok":
            return FakeModel.says("hello")
        return seen

    def _query(self) -> Reconciled:
        self.now_us += WORK_US
        if next(self._fails, False):
            return Reconciled(self._view(), refused(503), Landed.UNKNOWN)
        name = self._at[0].name
        there = any(what == name and at + self.lag_us <= self.now_us for at, what in self.landed)
        return Reconciled(self._view(), fine(), Landed.COMMITTED if there else Landed.ABSENT)

    def _view(self) -> StepView:
        kind, target, attempts, _, seen = self._at
        answered = seen is not None and seen.answered
        return StepView(
            self.steps, intent(kind, self.steps), kind.name, target, attempts, self.now_us,
            DEADLINE_US, can_reconcile=kind.contract, equivalents=kind.equal,
            can_verify=tuple(CheckLevel)[: 2 if kind.level is None else 3] if answered else (),
        )  # fmt: skip

    @property
    def most(self) -> int:
        """How often the write that landed most often did."""
        return max(Counter(name for _, name in self.landed).values(), default=0)


def hfr(config: dict[str, Any] | None = None, kit: Kit = KIT) -> Hfr:
    return Hfr(config or {}, kit)


NORMAL = [*SEEN, "lost in", "lost out", "500 in", "ok", "ok"]
fates = st.lists(st.sampled_from(NORMAL), max_size=24)
crashing = st.lists(st.sampled_from([*NORMAL, *CRASHES]), max_size=24)
plans = st.permutations(PLAN)
failing = st.lists(st.booleans(), max_size=6)


@CAREFUL
@given(fates, plans, failing, st.integers(1, 4), st.integers(0, 8), st.booleans())
def test_proposition_1_attempts_are_bounded(
    calls: list[str], plan: list[Kind], fails: list[bool], of_step: int, of_task: int, charge: bool
) -> None:
    retry = {"max_attempts_per_step": of_step, "max_retries_per_task": of_task}
    config = {"retry": retry, "degradation": {"charge_budget": charge}}
    world = World(hfr(config), plan, calls, queries_fail=fails).run()
    most = min(world.steps * of_step, world.steps + of_task)
    moves = world.state["moves"]
    assert not (charge and moves)
    assert len(world.sent) <= most + moves


def test_the_bound_of_proposition_1_is_reached() -> None:
    config = {"retry": {"max_attempts_per_step": 3, "max_retries_per_task": 2},
              "budget": {"last_step_reserve": 0}}  # fmt: skip
    world = World(hfr(config), [READ], ["500 out"] * 9, again=0).run()
    assert len(world.sent) == min(1 * 3, 1 + 2)


@CAREFUL
@given(crashing, plans, failing)
def test_proposition_2_an_idempotent_action_has_one_effect_and_a_key_of_its_own(
    calls: list[str], plan: list[Kind], fails: list[bool]
) -> None:
    world = World(hfr(), plan, calls, queries_fail=fails).run()
    effects = Counter(name for _, name in world.landed)
    assert effects["put"] <= 1
    assert effects["set"] <= 1
    writes = {(name, key) for _, name, key, _ in world.sent if name not in ("m", "read")}
    assert all(key for _, key in writes)
    assert len({key for _, key in writes}) == len(writes)


@CAREFUL
@given(crashing, plans, failing)
def test_proposition_3_what_is_in_is_never_sent_again(
    calls: list[str], plan: list[Kind], fails: list[bool]
) -> None:
    """Crashes included: the ledger's store outlives them, and the query is linearizable."""
    world = World(hfr(), plan, calls, queries_fail=fails).run()
    assert world.most <= 1


LAG_US = 5_000_000
WRITES = (R2, MODEL, R1)


def late(calls: list[str], settle_ms: int) -> World:
    """A query that sees a write only after LAG_US: eventually consistent."""
    config = {"idempotency": {"settle_ms": settle_ms}}
    return World(hfr(config), WRITES, calls, lag_us=LAG_US).run()


@CAREFUL
@given(crashing)
def test_proposition_3_holds_of_a_late_query_too_once_it_is_waited_for(calls: list[str]) -> None:
    assert late(calls, LAG_US // 1000).most <= 1


def test_proposition_3_falls_with_its_assumption() -> None:
    calls = find(fates, lambda calls: late(calls, 0).most > 1)
    assert calls == ["lost in"]


def test_each_absence_is_waited_for_anew() -> None:
    calls = ["lost out", "lost in"]
    assert late(calls, LAG_US // 1000).most == 1


FLOORS = {Criticality.LOW: 0.6, Criticality.MEDIUM: 0.8, Criticality.HIGH: 0.92}


@CAREFUL
@given(
    fates,
    st.permutations((MODEL, READ, MODEL, READ)),
    st.lists(st.floats(0, 1), max_size=20),
    st.sampled_from(Criticality),
    st.sampled_from([0.0, 0.7, 0.99]),
)
def test_proposition_4_what_is_accepted_is_good_enough(
    calls: list[str], plan: list[Kind], quality: list[float], how: Criticality, floor: float
) -> None:
    """Degraded or not: the verifier is told the true quality, and so has no false accepts."""
    answered = [call for call in calls if call != "domain"]  # which is accepted as it stands
    kit = Kit(KIT.equipment, KIT.substitutes, KIT.chance_key, how, quality_floor=floor)
    world = World(hfr(None, kit), plan, answered, quality=quality).run()
    assert all(q >= max(floor, FLOORS[how]) for q in world.accepted)


@CAREFUL
@given(fates, plans)
def test_boundary_1_what_is_hopeless_gets_no_second_attempt(
    calls: list[str], plan: list[Kind]
) -> None:
    world = World(hfr(), plan, calls).run()
    hopeless = {step for step, _, _, fate in world.sent if fate in ("400", "403", "refusal")}
    for step in hopeless:
        of_step = [fate for n, _, _, fate in world.sent if n == step]
        assert of_step[-1] in ("400", "403", "refusal")


@CAREFUL
@given(crashing, st.permutations((*PLAN, PAY)))
def test_boundary_2_what_cannot_be_undone_is_sent_once(calls: list[str], plan: list[Kind]) -> None:
    world = World(hfr(), plan, calls).run()
    for kind in (R3, PAY):
        sent = [fate for _, name, _, fate in world.sent if name == kind.name and fate != "unsent"]
        assert len([fate for fate in sent if fate != "domain"]) <= 1
        if sent and sent[-1] not in ("ok", "domain"):
            assert world.end is Action.ESCALATE
            known = [k.state for k in world.store.values() if k.stepless_key == kind.name]
            assert known[-1] is S.UNKNOWN


@pytest.mark.parametrize("kind", [R2, R2_BARE, R3], ids=lambda kind: kind.name)
def test_a_blind_resend_is_caught_by_the_same_world(kind: Kind) -> None:
    assert World(BlindResend({}, KIT), [kind], ["lost in"]).run().most == 2
    assert World(hfr(), [kind], ["lost in"]).run().most == 1
