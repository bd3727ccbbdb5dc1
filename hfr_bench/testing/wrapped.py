"""Strategies that say what they are told, or break; for tests of what goes around a strategy."""

from typing import Any

from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import Decision, Intent, StepView, StrategyEvent
from hfr_bench.model.terms import Action, Channel, SideEffect
from hfr_bench.recovery.guarded import Decides

State = dict[str, Any]

DEADLINE_US = 120_000_000


def step_view(
    level: SideEffect = SideEffect.READ,
    step: int = 1,
    attempts: int = 0,
    channel: Channel = Channel.TOOL,
) -> StepView:
    """A step of a tool or a model, at time 0."""
    intent = Intent("i", channel, "x", level, "d", f"k{step}", "s")
    return StepView(step, intent, f"{channel}:x", "x", attempts, 0, DEADLINE_US)


class Says:
    """Decides the same whatever happens, and counts what it hears."""

    def __init__(self, action: Action, **fields: Any) -> None:
        self._decision = Decision(action, **fields)

    def begin(self) -> State:
        return {"heard": 0}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        return {"heard": state["heard"] + 1}, self._decision


class Breaks:
    """Decides as the inner strategy does, but raises at a share of all decisions."""

    def __init__(
        self, inner: Decides, rate: float = 1.0, kind: type[Exception] = RuntimeError
    ) -> None:
        self._inner, self._rate, self._kind = inner, rate, kind

    def begin(self) -> State:
        return {"inner": self._inner.begin(), "n": 0}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        view: StepView | None = getattr(event, "view", None)
        where = () if view is None else (view.step, view.attempts)
        if uniform("breaks", state["n"], type(event).__name__, *where) < self._rate:
            raise self._kind("a defect")
        inner, decision = self._inner.decide(state["inner"], event)
        return {"inner": inner, "n": state["n"] + 1}, decision


class NoBeginning(Says):
    """Cannot even begin."""

    def begin(self) -> State:
        raise OSError("no settings")


class Returns:
    """Returns whatever it is given, as state and as decision."""

    def __init__(self, state: Any, decision: Any) -> None:
        self._returned = state, decision

    def begin(self) -> State:
        return {}

    def decide(self, state: State, event: StrategyEvent) -> Any:
        return self._returned
