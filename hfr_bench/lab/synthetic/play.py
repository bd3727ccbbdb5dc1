"""One task in the model world: what is drawn, what is charged, and what the strategy hears.

`Play.turn` is one decision and its consequence. Independent tasks are played to their end one
after the other; those that share a world take turns on its clock (`cohort`).
"""

from collections.abc import Callable
from typing import Protocol

from hfr_bench.lab.synthetic.crew import WHOLE, Crew
from hfr_bench.lab.synthetic.deal import Deal, Odds, uniforms
from hfr_bench.lab.synthetic.params import MODEL, V1, WRITE
from hfr_bench.lab.synthetic.stage import DEADLINE_US, Stage
from hfr_bench.model.attempt import Decision, Finishing, StrategyEvent
from hfr_bench.model.terms import Action

_DISPATCH, _VERIFY, _ACCEPT, _RETRY = Action.DISPATCH, Action.VERIFY, Action.ACCEPT, Action.RETRY
_T3, _T4, _T5 = 3, 4, 5
_STICKY = frozenset({4, 5, 7, 8})
_FINISHING = Finishing(0, DEADLINE_US)

Step = tuple[int, int, int, int, int, str, int]
"""A line of the trace: step, kind, level, attempt, class drawn, decision, wait (us)."""


class Weather(Protocol):
    """What tasks that run at the same time do to each other."""

    def meets(self, kind: int, level: int, now_us: int, drawn: int, us: int) -> tuple[int, int]:
        """An attempt at that time: the class that comes of the one drawn, and how long it takes."""
        ...


class Play:
    """A task at a time, of one arm. After the last turn: what it came to.

    `cost` in millionths, `us` of latency, `attempts` in thousandths; `trace`: None, or a list that
    gets a line for every decision. `weather`, `start_us`: of tasks that share a world and a clock.
    """

    __slots__ = (
        "_asked", "_attempt", "_class", "_crew", "_decide", "_faults", "_incident", "_kind",
        "_kinds", "_landed", "_level", "_n", "_number", "_odds", "_outcome", "_outcomes", "_point",
        "_prices", "_seed", "_stage", "_sticky", "_turns", "attempts", "bad", "cost",
        "criticality", "degraded", "duplicates", "escalated", "finished", "start_us", "state",
        "trace", "us", "weather",
    )  # fmt: skip

    def __init__(self, crew: Crew, odds: Odds, seed: int, stage: Stage) -> None:
        self._crew, self._odds, self._seed, self._stage = crew, odds, seed, stage
        self._prices = crew.prices
        self.trace: list[Step] | None = None
        self.weather: Weather | None = None
        self.start_us = 0
        self._turns: dict[str, Callable[[Decision], StrategyEvent | None]] = {
            Action.RETRY: self._retry,
            Action.RECONCILE: self._reconcile,
            Action.COMPRESS: self._compress,
            Action.DEGRADE_MODEL: self._degrade,
            Action.DEGRADE_TOOL: self._degrade,
            Action.ESCALATE: self._escalate,
        }

    def begin(self, deal: Deal, number: int) -> StrategyEvent:
        """Start with the block's task of that number; what its strategy hears first."""
        crew = self._crew
        self._number = deal.first + number
        self._faults, self._outcomes = deal.faults[number], deal.outcomes[number]
        self._incident = deal.incident[number]
        self.criticality = deal.criticality[number]
        seat = crew.seat(self.criticality, deal.permanent[number], deal.exhausted[number])
        crew.key[1:] = self._seed, self._number
        self._decide, self.state = seat.decide, seat.begin()
        self._kinds, self._n = deal.kinds[number], 0
        self.cost = self.us = self.attempts = self.duplicates = 0
        self.bad = self.degraded = self.escalated = self.finished = False
        self._class = 0
        return self._next_step()

    def turn(self, event: StrategyEvent) -> StrategyEvent | None:
        """One decision; what is heard next, or None: the task is over."""
        self.state, decision = self._decide(self.state, event)
        return self._following(decision, event)

    def run(self, event: StrategyEvent | None) -> None:
        """Play on to the end. The same as turn by turn, with the state at hand."""
        decide, following, state = self._decide, self._following, self.state
        while event is not None:
            state, decision = decide(state, event)
            event = following(decision, event)
        self.state = state

    def _following(self, decision: Decision, event: StrategyEvent) -> StrategyEvent | None:
        action = decision.action
        if self.trace is not None:
            self._note(decision)
        if action is _DISPATCH:
            return self._dispatch(decision)
        if action is _VERIFY:
            if 0 < self._outcome < 3:
                self._class = V1
                return self._point.rejected
            return self._point.passed
        if action is _ACCEPT:
            return self._accept(event)
        after = self._turns.get(action)
        # The simulated agent knows no other way: handed a failure (REPLAN), it gives up.
        return None if after is None else after(decision)

    # -- the world ---------------------------------------------------------------------------------

    def _next_step(self) -> StrategyEvent:
        n = self._n
        if n == len(self._kinds):
            return _FINISHING
        self._kind = kind = self._kinds[n]
        self._n = n = n + 1
        self._level = self._attempt = self._sticky = self._asked = 0
        self._landed = False
        self._point = point = self._stage.point(kind, n, 0, 1, self.start_us + self.us)
        return point.proposed

    def _dispatch(self, decision: Decision) -> StrategyEvent:
        kind, level = self._kind, self._level
        self._attempt = attempt = self._attempt + 1
        if attempt == 1:
            n = self._n - 1
            drawn, outcome = self._faults[n], self._outcomes[n]
            if self._incident[kind]:
                drawn = self._in_incident(drawn, uniforms(self._seed, self._number, self._n, 1)[1])
            if drawn in _STICKY:
                self._sticky = drawn
        else:
            drawn, outcome = self._later(attempt)
        cost, us = self._prices[kind][level]
        self.cost += cost
        self.attempts += WHOLE
        if self.weather is not None:
            drawn, us = self.weather.meets(kind, level, self.start_us + self.us, drawn, us)
        self.us += us
        if not drawn and 0 < outcome < 3 and self._crew.checked[kind]:
            drawn = V1
        self._class, self._outcome = drawn, outcome
        if kind == WRITE:
            self._land(drawn, attempt, keyed=self._keyed(decision))
        if self._stage.timed:
            self._move()
        return self._point.attempted[drawn]

    def _keyed(self, decision: Decision) -> bool:
        """Did the write go out under a key that its tool knows?"""
        crew = self._crew
        return crew.keys and (crew.keyed or bool(decision.key or decision.moves))

    @property
    def steps(self) -> int:
        """How far the task came."""
        return self._n

    def _in_incident(self, drawn: int, u: float) -> int:
        """The class that is drawn while an incident of this kind lasts."""
        if u >= self._odds.hits[self._kind][self._level]:
            return drawn
        return _T4 if self._kind == MODEL else _T5

    def _later(self, attempt: int) -> tuple[int, int]:
        """Class and outcome of an attempt that is not the step's first."""
        crew, odds, kind = self._crew, self._odds, self._kind
        again, hit, fault, good, _ = uniforms(self._seed, self._number, self._n, attempt)
        outcome = odds.outcome(self.criticality, kind, self._level, good)
        if self._sticky and again < crew.stickiness:
            return self._sticky, outcome
        rate = odds.rate * crew.later_faults
        drawn = odds.fault(kind, fault / rate) if fault < rate else 0
        if self._incident[kind]:
            drawn = self._in_incident(drawn, hit)
        self._sticky = drawn if drawn in _STICKY else 0
        return drawn, outcome

    def _land(self, drawn: int, attempt: int, *, keyed: bool) -> None:
        """A write lands if it was answered, or sometimes if its answer was lost (T3)."""
        lands = drawn == 0
        if drawn == _T3:
            u = uniforms(self._seed, self._number, self._n, attempt)[4]
            lands = u < self._odds.lands
        if lands:
            # Under its key, a tool knows a write again, and does nothing.
            self.duplicates += self._landed and not keyed
            self._landed = True

    # -- what follows from a decision --------------------------------------------------------------

    def _move(self) -> None:
        """The point of the attempt that is next, or under way."""
        attempt = max(1, self._attempt)
        now_us = self.start_us + self.us
        self._point = self._stage.point(self._kind, self._n, self._level, attempt, now_us)

    def _propose(self) -> StrategyEvent:
        now_us = self.start_us + self.us
        self._point = point = self._stage.point(
            self._kind, self._n, self._level, self._attempt + 1, now_us
        )
        return point.proposed

    def _accept(self, event: StrategyEvent) -> StrategyEvent | None:
        if event is _FINISHING:
            self.finished = True
            return None
        outcome = self._outcome
        # A write that is in has passed the check in its call; another answer may not have met one.
        if outcome > 1 and (outcome == 3 or not self._crew.checked[self._kind]):
            self.bad = True
        return self._next_step()

    def _retry(self, decision: Decision) -> StrategyEvent:
        self.us += decision.delay_us
        back = self._crew.refund[self._class]
        if back:
            cost, us = self._prices[self._kind][self._level]
            self.cost -= cost * back // WHOLE
            self.us -= us * back // WHOLE
            self.attempts -= back
        return self._propose()

    def _reconcile(self, decision: Decision) -> StrategyEvent:
        """Asking the world is free in the paper's model."""
        self.us += decision.delay_us
        if self._stage.timed:
            self._move()
        if not self._landed:
            return self._point.absent
        if self._crew.false_absent:
            # Each query is drawn by itself, under a number that no attempt has.
            self._asked += 1
            drawn = uniforms(self._seed, self._number, self._n, -self._asked)[0]
            if drawn < self._crew.false_absent:
                return self._point.absent
        return self._point.committed

    def _compress(self, _: Decision) -> StrategyEvent:
        self.degraded = True
        return self._point.compressed

    def _degrade(self, _: Decision) -> StrategyEvent:
        self.degraded = True
        self._level += 1
        self._sticky = 0
        return self._propose()

    def _escalate(self, _: Decision) -> None:
        self.escalated = True
        self.cost += self._crew.person
        self.us += self._crew.person_us

    def _note(self, decision: Decision) -> None:
        assert self.trace is not None
        self.trace.append(
            (
                self._n, self._kind, self._level, self._attempt, self._class,
                decision.action.value, decision.delay_us,
            )
        )  # fmt: skip
