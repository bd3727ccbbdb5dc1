"""A cohort at work: one clock that goes on, and what its trials hand from one to the next.

    Together ── seat(trial) ─→ Seat ── join(strategy) ─→ Member ⇄ guard
        ↑ take                   └──── hand_over() ─→ Carried (trace)
        └──────────────────────────────────┘

The world is reset for every trial; what a cohort shares is what the runtime knows. Strategies never
write the trace: a Member looks at its strategy's shared state around every decision, and tells.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hfr_bench.lab.clock import VirtualClock, WallClock
from hfr_bench.lab.cohorts import Commons
from hfr_bench.model.attempt import Decision, Proposed, StepView, StrategyEvent
from hfr_bench.model.prereg import Cohorts
from hfr_bench.model.shared import Shared, SharedView
from hfr_bench.model.terms import Action, FaultClass
from hfr_bench.model.trace import Body, Carried, CircuitMoved, CohortPlace, Withheld
from hfr_bench.model.trial import Trial
from hfr_bench.ports.sink import Sink
from hfr_bench.ports.strategy import Sharing, Strategy, StrategyState

_AROUND = (
    Action.RETRY,
    Action.DEGRADE_MODEL,
    Action.DEGRADE_TOOL,
    Action.DEGRADE_SCOPE,
    Action.REPLAN,
    Action.ESCALATE,
    Action.FAIL,
)
"""What is done instead of sending a call that a breaker keeps back."""

_INSTEAD = (*_AROUND[1:], Action.COMPRESS)
"""What is done instead of a retry."""

_INCURABLE = (FaultClass.PERMANENT, FaultClass.REFUSAL)
_WIDE = ("provider:", "tenant:")


class Together:
    """One cohort of one arm in one round."""

    def __init__(self, cohorts: Cohorts, clock: VirtualClock | WallClock) -> None:
        self.clock = clock
        self._shares = cohorts.shares
        self._every_us = round(cohorts.every_s * 1_000_000)
        self._commons: Commons[Any] = Commons(cohorts.shares)

    def due_in_us(self, trial: Trial) -> int:
        """How long until the trial may begin; 0 = it is late already."""
        return max(0, (trial.position - 1) * self._every_us - self.clock.now_us())

    def seat(self, trial: Trial) -> "Seat":
        """The trial's seat; it begins now."""
        shared = self._commons.of(trial.tenant)
        place = CohortPlace(position=trial.position, start_us=self.clock.now_us(), shared=shared)
        return Seat(self.clock, place, trial.tenant, self._shares)

    def take(self, trial: Trial, seat: "Seat") -> None:
        """What the trial has handed over is everybody's from now on."""
        self._commons.take(trial.tenant, seat.handed.shared)


@dataclass(slots=True)
class Seat:
    """One trial's place in its cohort. `handed`: what it leaves, once it was handed over."""

    clock: VirtualClock | WallClock
    place: CohortPlace
    tenant: str
    shares: tuple[str, ...]
    handed: Carried = field(default_factory=Carried)
    _member: "Member | None" = None

    def join(self, strategy: Strategy, sink: Sink) -> Strategy:
        """The strategy with what it shares; one that shares nothing as it is."""
        if not isinstance(strategy, Sharing):
            return strategy
        self._member = Member(strategy, self, sink)
        return self._member

    def hand_over(self) -> Carried:
        """What is left of the trial for the next one. A strategy's defect here leaves nothing."""
        if self._member is not None:
            try:
                given = self._member.carry()
                kept = {p: v for p in self.shares if (v := given.get(p)) not in (None, {}, [])}
                self.handed = Carried(shared=json.loads(json.dumps(kept, allow_nan=False)))
            except Exception as error:  # noqa: BLE001 - a stranger's code, after its trial
                told = f"carry raised {type(error).__name__}: {error}"
                self.handed = Carried(problem=told[:500])
        return self.handed


class Member:
    """A sharing strategy at work: begins with what it is handed, and is watched."""

    def __init__(self, inner: Sharing, seat: Seat, sink: Sink) -> None:
        self._inner = inner
        self._shared: Shared = seat.place.shared
        self._tenant = seat.tenant
        self._sink = sink
        self._state: StrategyState = {}
        self._broke: Exception | None = None

    def begin(self) -> StrategyState:
        """Its own defect here is its failure, and comes with its first decision."""
        try:
            self._state = self._inner.begin_with(json.loads(json.dumps(self._shared)))
        except Exception as error:  # noqa: BLE001 - raised where the guard listens
            self._broke = error
        return self._state

    def decide(self, state: StrategyState, event: StrategyEvent) -> tuple[StrategyState, Decision]:
        if self._broke is not None:
            raise self._broke
        view: StepView | None = getattr(event, "view", None)
        now_us = view.now_us if view is not None else event.now_us  # type: ignore[union-attr]
        before = self._inner.commons(state, now_us)
        self._state, decision = self._inner.decide(state, event)
        after = self._inner.commons(self._state, now_us)
        step, attempt = (view.step, view.attempts) if view is not None else (0, 0)
        for body in _moved(before, after):
            self._sink.write(body, step=step, attempt=attempt)
        if view is not None and (held := self._withheld(before, event, view, decision)):
            self._sink.write(held, step=step, attempt=attempt)
        return self._state, decision

    def carry(self) -> Shared:
        return self._inner.carry(self._state)

    def _withheld(
        self, before: SharedView, event: StrategyEvent, view: StepView, decision: Decision
    ) -> Withheld | None:
        """A call that an open breaker kept back, or a retry that the tenant could not pay for."""
        if isinstance(event, Proposed):
            about = [s for s in sorted(before.open_until) if _concerns(s, view.target)]
            if about and decision.action in _AROUND:
                return Withheld(why="breaker", scope=about[0])
        elif before.tenant_left == 0 and decision.action in _INSTEAD and _curable(decision):
            return Withheld(why="tenant_budget", scope=f"tenant:{self._tenant}")
        return None


def _moved(before: SharedView, after: SharedView) -> Iterator[Body]:
    """Breakers that opened, opened again, or closed."""
    for scope, until_us in sorted(after.open_until.items()):
        if before.open_until.get(scope) != until_us:
            yield CircuitMoved(target=scope, state="open", until_us=until_us)
    for scope in sorted(before.open_until.keys() - after.open_until.keys()):
        yield CircuitMoved(target=scope, state="closed")


def _concerns(scope: str, target: str) -> bool:
    return scope.startswith(_WIDE) or scope.partition(":")[2] == target


def _curable(decision: Decision) -> bool:
    """Whether step and task could have paid for another attempt at this."""
    fault, budget = decision.fault, decision.budget
    if fault is None or fault.fault_class in _INCURABLE or budget.step_left == 0:
        return False
    return budget.task_left is None or budget.task_left + decision.debit > 0
