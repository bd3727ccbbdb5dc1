"""Every road that a strategy can be led along in a small world, for exhaustive tests of one.

A plan is one step or two; everything that may be heard in it is heard, and every decision is held
against table 9, against what a guard could carry out, and against the ledger's store.
"""

import json
from collections.abc import Iterator
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Finishing,
    GoalChanged,
    Intent,
    Known,
    Observation,
    Prepared,
    Proposed,
    Receipt,
    Reconciled,
    Restored,
    StepView,
    StrategyEvent,
    Verdict,
    Verified,
)
from hfr_bench.model.terms import Action, Channel, CheckLevel, Landed, SideEffect
from hfr_bench.model.terms import LedgerState as S
from hfr_bench.ports.strategy import Strategy
from hfr_bench.recovery.ledger import check_move
from hfr_bench.recovery.machine import MOVES, Phase, check, route
from hfr_bench.testing.fakes import FakeModel, fine, lost, refused

DEADLINE_US = 600_000_000
JITTER_US = 500_000
"""Waits below it pass unnoticed, so that roads that differ only by chance are one."""


class Kind(NamedTuple):
    """A step that an agent may ask for."""

    name: str
    level: SideEffect | None = None  # None: a model step
    contract: bool = False
    before: bool = False
    equal: tuple[str, ...] = ()

    @property
    def channel(self) -> Channel:
        return Channel.MODEL if self.level is None else Channel.TOOL

    @property
    def writes(self) -> bool:
        return self.level is not None and self.level.writes


MODEL = Kind("m")
READ = Kind("read", SideEffect.READ, equal=("read2",))
R1 = Kind("put", SideEffect.IDEMPOTENT, contract=True, equal=("put2",))
R1_BARE = Kind("set", SideEffect.IDEMPOTENT)
R2 = Kind("close", SideEffect.QUERYABLE, contract=True)
R2_BEFORE = Kind("add", SideEffect.QUERYABLE, contract=True, before=True)
R2_BARE = Kind("post", SideEffect.QUERYABLE)
R3 = Kind("mail", SideEffect.IRREVERSIBLE)
KINDS = (MODEL, READ, R1, R1_BARE, R2, R2_BEFORE, R2_BARE, R3)

OVERFLOW = refused(400, '{"error": {"code": "context_length_exceeded"}}')
SILENT_REFUSAL = fine('{"error": {"code": "content_policy_violation"}}')
FAILED = (
    lost(),
    lost("ConnectError", sent=False),
    refused(500),
    refused(429, retry_after="3"),
    refused(400),
    refused(403),
    refused(529),
    OVERFLOW,
    SILENT_REFUSAL,
)
OF_MODEL = (FakeModel.says("hello"), FakeModel.says(""), *FAILED)
OF_TOOL = (fine(), fine(domain_error=True), Observation(answered=False, status=200), *FAILED)
FEW = (fine(), lost(), lost("ConnectError", sent=False))
"""What is heard where the world is larger: an answer, no answer, nothing sent."""

BEFORE = (CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.AUTHORITY)
AFTER = {Channel.TOOL: tuple(CheckLevel), Channel.MODEL: tuple(CheckLevel)[:2]}
VERDICTS = (
    (True, 0.95, ()),
    (True, 0.3, ()),
    (False, 0.0, ("a",)),
    (False, 0.0, ("b",)),
    (False, 0.0, ()),
)
ANSWERS = (
    (fine(), Landed.COMMITTED),
    (fine(), Landed.ABSENT),
    (fine(), Landed.UNKNOWN),
    (refused(503), Landed.UNKNOWN),
)


class Place(NamedTuple):
    """Where the runtime is: what a guard keeps. `rest`: where the controller's route ended.

    `store`: by key (step-less key, state, goal). `stale`: the state that a crash goes back to.
    """

    waits: str = "proposed"
    step: int = 1
    at: int = 0
    target: str = ""
    attempts: int = 0
    answered: bool = False
    short: bool = False
    now_us: int = 0
    goal: int = 1
    rest: Phase = Phase.INIT
    store: tuple[tuple[str, tuple[str, S, int]], ...] = ()
    stale: str = ""


Node = tuple[str, Place]


class Walk:
    """Every road of one strategy through one plan. `late`: crashes, receipts, new goals too."""

    def __init__(
        self,
        strategy: Strategy,
        plan: tuple[Kind, ...],
        *,
        late: bool = False,
        steps: int = 3,
        most: int = 20_000,
    ) -> None:
        self.strategy, self.plan, self.late, self.steps = strategy, plan, late, steps
        self.phases: set[Phase] = set()
        begun = json.dumps(strategy.begin())
        start = (begun, Place(target=plan[0].name, stale=begun if late else ""))
        self.nodes: list[Node] = [start]
        self.graph: list[set[int]] = []
        number = {start: 0}
        for node in self.nodes:  # grows
            following = set()
            for one in self._after(node):
                if one not in number:
                    number[one] = len(self.nodes)
                    self.nodes.append(one)
                    assert len(self.nodes) <= most, f"more than {most} states"
                following.add(number[one])
            self.graph.append(following)
        self.ends = [self.nodes[n] for n, following in enumerate(self.graph) if not following]

    def _after(self, node: Node) -> Iterator[Node]:
        state, place = node
        if place.waits == "over":
            assert json.loads(state)["stop"], node
            return
        for event in self.heard(place):
            crashed = isinstance(event, Restored)
            after, decision = decided(self.strategy, place.stale if crashed else state, event)
            here = place._replace(stale="") if crashed else place
            there = self._carried(here, event, decision)
            known = {key: tuple(entry[:3]) for key, entry in after["ledger"].items()}
            assert known == dict(there.store), (known, there, event, decision)
            one = json.dumps(after, allow_nan=False), there
            if one != node or not isinstance(event, Receipt | GoalChanged):
                yield one

    # -- what may be heard ------------------------------------------------------------------------

    def heard(self, place: Place) -> Iterator[StrategyEvent]:
        view, kind = self.view(place), self._kind(place)
        match place.waits:
            case "proposed":
                yield Proposed(view)
                if not place.attempts and self.late:
                    yield from self._news(place)
            case "dispatched":
                seen = OF_MODEL if kind.level is None else OF_TOOL
                for one in FEW if self.late else seen:
                    answered = one.answered
                    yield Attempted(self.view(place._replace(answered=answered)), one)
                if place.stale:
                    yield from (self.crash(place, drifted) for drifted in (False, True))
            case "preparing":
                yield from (Prepared(view, seen) for seen in (fine(), lost(), refused(403)))
            case "reconciling":
                yield from (Reconciled(view, *answer) for answer in ANSWERS)
            case "compressing":
                yield Compressed(self.view(place._replace(short=True)), True)
                yield Compressed(view, False)
            case "finishing":
                yield Finishing(place.now_us, DEADLINE_US)
            case level:
                for verdict in VERDICTS:
                    yield Verified(view, Verdict(CheckLevel(level), *verdict))

    def _news(self, place: Place) -> Iterator[StrategyEvent]:
        for key, (_, _, goal) in place.store:
            for landed in Landed:
                yield Receipt(place.now_us, key, landed, goal)
        yield Receipt(place.now_us, "never sent", Landed.COMMITTED)
        if place.goal == 1:
            yield GoalChanged(place.now_us, 2)

    def crash(self, place: Place, drifted: bool) -> Restored:
        levels = {kind.name: kind.level or SideEffect.READ for kind in self.plan}
        known = tuple(
            Known(key, name, state, name, levels[name], goal)
            for key, (name, state, goal) in place.store
        )
        return Restored(place.now_us, DEADLINE_US, known, drifted)

    def _kind(self, place: Place) -> Kind:
        return self.plan[min(place.at, len(self.plan) - 1)]

    def view(self, place: Place) -> StepView:
        kind = self._kind(place)
        levels = AFTER[kind.channel] if place.answered else ()
        if kind.level is not None and not place.attempts:
            levels = BEFORE
        return StepView(
            step=place.step,
            intent=intent(kind, place.step),
            point=kind.name,
            target=place.target,
            attempts=place.attempts,
            now_us=place.now_us,
            deadline_us=DEADLINE_US,
            needs_before=kind.before,
            can_reconcile=kind.contract,
            goal_version=place.goal,
            tokens=100,
            context_left=0 if kind is MODEL and place.step == 2 and not place.short else None,
            equivalents=kind.equal,
            can_verify=levels,
        )

    # -- what comes of it -------------------------------------------------------------------------

    def _carried(self, place: Place, event: StrategyEvent, decision: Decision) -> Place:
        if isinstance(event, Attempted):
            place = place._replace(answered=event.observation.answered)
        path = route(event, decision)
        check(path)
        self.phases.update(path)
        self._continues(place, event, path)
        self._possible(place, event, decision)
        place = place._replace(
            store=stored(place, decision, self._kind(place).name, event),
            now_us=place.now_us + (decision.delay_us if decision.delay_us > JITTER_US else 0),
            rest=path[-1] if path else place.rest,
        )
        if isinstance(event, Compressed):
            place = place._replace(short=event.done)
        return self._next(place, event, decision)

    def _next(self, place: Place, event: StrategyEvent, decision: Decision) -> Place:
        action = decision.action
        if action in (Action.ESCALATE, Action.FAIL) or isinstance(event, Finishing):
            return place._replace(waits="over")
        if isinstance(event, Receipt | GoalChanged):
            goal = event.goal_version if isinstance(event, GoalChanged) else place.goal
            return place._replace(goal=goal)
        if isinstance(event, Restored):
            return self._new(place, 0)  # the agent's checkpoint is as old as ours
        match action:
            case Action.ACCEPT | Action.DEGRADE_SCOPE:
                return self._new(place, place.at + 1)
            case Action.REPLAN:
                return self._new(place, place.at)
            case Action.RETRY:
                return place._replace(waits="proposed")
            case Action.DEGRADE_MODEL | Action.DEGRADE_TOOL:
                return place._replace(waits="proposed", target=decision.substitute or "")
            case Action.VERIFY:
                return place._replace(waits=str(decision.check))
            case Action.RECONCILE:
                return place._replace(waits="reconciling")
            case Action.COMPRESS:
                return place._replace(waits="compressing")
        if decision.prepare:
            return place._replace(waits="preparing")
        return place._replace(waits="dispatched", attempts=place.attempts + 1)

    def _new(self, place: Place, at: int) -> Place:
        """The next step: the plan's, or the last one asked for anew; or the agent is done."""
        place = place._replace(step=place.step + 1, at=at, attempts=0, answered=False, short=False)
        done = at >= len(self.plan) or place.step > self.steps
        waits = "finishing" if done else "proposed"
        return place._replace(waits=waits, target=self._kind(place).name)

    # -- the rules --------------------------------------------------------------------------------

    def _continues(self, place: Place, event: StrategyEvent, path: tuple[Phase, ...]) -> None:
        """One walk begins where the one before it came to rest."""
        if isinstance(event, Finishing | Restored | Receipt | GoalChanged) or not path:
            return
        assert path[0] is place.rest or path[0] in MOVES[place.rest], (place, event, path)
        if place.rest is Phase.INIT:
            self.phases.add(Phase.INIT)

    def _possible(self, place: Place, event: StrategyEvent, decision: Decision) -> None:
        """What a guard could carry out; see `testing.walk`."""
        kind, action = self._kind(place), decision.action
        if isinstance(event, Restored | Receipt | GoalChanged):
            assert action in (Action.ACCEPT, Action.ESCALATE)
            return
        if isinstance(event, Finishing):
            assert action in (Action.ACCEPT, Action.ESCALATE, Action.FAIL)
            return
        tool = kind.level is not None
        possible = {
            Action.DISPATCH: kind.contract or not decision.prepare,
            Action.RECONCILE: kind.contract,
            Action.VERIFY: decision.check in self.view(place).can_verify,
            Action.COMPRESS: not tool,
            Action.DEGRADE_MODEL: not tool and bool(decision.substitute),
            Action.DEGRADE_TOOL: tool and decision.substitute in kind.equal,
            Action.DEGRADE_SCOPE: bool(decision.substitute) and not kind.writes,
            Action.ACCEPT: place.answered or kind.writes,
            Action.REPLAN: tool,
        }
        assert possible.get(action, True), (place, event, decision)
        assert decision.delay_us >= 0
        assert decision.debit >= 0

    def ways_out(self) -> tuple[int, int]:
        """The furthest that a node is from its nearest and from its furthest end, in decisions.

        Raises CycleError for a circle: there would be no furthest.
        """
        nearest, furthest = [0] * len(self.graph), [0] * len(self.graph)
        for n in TopologicalSorter(dict(enumerate(self.graph))).static_order():
            if self.graph[n]:
                nearest[n] = 1 + min(nearest[one] for one in self.graph[n])
                furthest[n] = 1 + max(furthest[one] for one in self.graph[n])
        return max(nearest), max(furthest)


def intent(kind: Kind, step: int) -> Intent:
    """What is asked for in a step of this kind; asked anew, it is another step's."""
    key = f"{kind.name}/{step}"
    level = kind.level or SideEffect.READ
    return Intent(key, kind.channel, kind.name, level, kind.name, key, kind.name)


def decided(
    strategy: Strategy, state: str, event: StrategyEvent
) -> tuple[dict[str, Any], Decision]:
    """The state after an event, and the decision; the state given is left alone."""
    given = json.loads(state)
    after, decision = strategy.decide(given, event)
    assert json.dumps(given) == state, f"changed its state on {event}"
    return after, decision


def stored(
    place: Place, decision: Decision, name: str, event: StrategyEvent
) -> tuple[tuple[str, tuple[str, S, int]], ...]:
    """The ledger's store after the decision's moves, which table 6 allows."""
    store = dict(place.store)
    for move in decision.moves:
        known = store.get(move.key)
        check_move(known[1] if known else None, move.to)
        if not isinstance(event, Restored | Receipt):
            assert move.stepless_key == name, f"moved the entry of another write: {move}"
        goal = place.goal if known is None or move.to is S.PREPARED else known[2]
        store[move.key] = (move.stepless_key, move.to, goal)
    return tuple(sorted(store.items()))
