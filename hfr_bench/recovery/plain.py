"""What every plain arm shares: send what is proposed, take what is answered."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Observation,
    Prepared,
    Proposed,
    Reconciled,
    StepView,
    StrategyEvent,
)
from hfr_bench.model.terms import Action
from hfr_bench.recovery.kit import Kit, take

State = dict[str, Any]

DISPATCH = Decision(Action.DISPATCH)
ACCEPT = Decision(Action.ACCEPT)


class Plain:
    """Dispatch what is proposed, accept what is answered; a subclass says what a failure means.

    `defaults`: the settings and their values; `config` may override those and no others.
    State: none, unless a subclass keeps some. Whatever else it is told of (a verdict, a restart,
    a late answer, another goal), a plain arm takes note of it and goes on.
    """

    name = ""
    defaults: Mapping[str, Any] = {}

    def __init__(self, config: Mapping[str, Any], kit: Kit) -> None:
        self._config = take(config, self.defaults, self.name)
        self._kit = kit

    def begin(self) -> State:
        return {}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if isinstance(event, Attempted):
            return state, ACCEPT if event.observation.answered else self.on_failure(event)
        if isinstance(event, Proposed) or isinstance(event, (Prepared, Compressed)):  # noqa: SIM101
            return state, self.on_proposed(event.view)
        return state, self.on_reconciled(event) if isinstance(event, Reconciled) else ACCEPT

    def on_proposed(self, view: StepView) -> Decision:
        return DISPATCH

    def on_failure(self, event: Attempted) -> Decision:
        raise AssertionError("a plain strategy says what a failure means")

    def on_reconciled(self, event: Reconciled) -> Decision:
        return Decision(Action.ESCALATE, f"asked for nothing, told {event.landed}")


def transient(seen: Observation) -> bool:
    """What SDKs and retry libraries retry: no answer, 408, 409, 429 and every 5xx."""
    status = seen.status or 0
    return seen.exception is not None or status in (408, 409, 429) or status >= 500
