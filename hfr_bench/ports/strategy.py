"""The socket of the system under test."""

from typing import Any, Protocol, runtime_checkable

from hfr_bench.model.attempt import Decision, StrategyEvent
from hfr_bench.model.shared import Shared, SharedView

StrategyState = dict[str, Any]


class Strategy(Protocol):
    """Pure: no clock, no I/O, no chance of its own. State is JSON-serialisable."""

    def begin(self) -> StrategyState:
        """The state at the start of a trial."""
        ...

    def decide(self, state: StrategyState, event: StrategyEvent) -> tuple[StrategyState, Decision]:
        """Asked before every attempt and after every observation."""
        ...


@runtime_checkable
class Sharing(Strategy, Protocol):
    """A strategy some of whose state outlives a trial, where cohorts are registered. Optional.

    Pure, as all of it. Times in the state are of the clock that `decide` is told of, which goes on
    through a cohort.
    """

    def carry(self, state: StrategyState) -> Shared:
        """What the next trial begins with, by part (`model.shared.Part`); JSON.

        A part that the strategy has, and that is empty now, is named with None.
        """
        ...

    def begin_with(self, shared: Shared) -> StrategyState:
        """The state at the start of a trial that is handed this; `begin()` for an empty one."""
        ...

    def commons(self, state: StrategyState, now_us: int) -> SharedView:
        """Where the shared part of a state stands, for the record."""
        ...
