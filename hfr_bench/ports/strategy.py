"""The socket of the system under test."""

from typing import Any, Protocol

from hfr_bench.model.attempt import Decision, StrategyEvent

StrategyState = dict[str, Any]


class Strategy(Protocol):
    """Pure: no clock, no I/O, no chance of its own. State is JSON-serialisable."""

    def begin(self) -> StrategyState:
        """The state at the start of a trial (or cohort)."""
        ...

    def decide(self, state: StrategyState, event: StrategyEvent) -> tuple[StrategyState, Decision]:
        """Asked before every attempt and after every observation."""
        ...
