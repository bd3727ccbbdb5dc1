"""The person who is called when no automatic move is safe, or before one that must be approved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from hfr_bench.model.attempt import Observation
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.terms import SideEffect


@dataclass(frozen=True, slots=True)
class Question:
    """A call put before a person (check level V3). `observation` None: it is not made yet."""

    step: int
    tool: str
    level: SideEffect
    arguments: Mapping[str, Any]
    observation: Observation | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """The person's answer, and what it is charged (micro-dollars, microseconds)."""

    passed: bool
    cost_microusd: int
    delay_us: int
    reasons: tuple[str, ...] = ()


class Human(Protocol):
    """Modelled and priced in rehearsal."""

    def take(self, packet: EscalationPacket) -> tuple[int, int]:
        """Take an escalation; returns the charged cost (micro-dollars) and delay (µs)."""
        ...

    def review(self, question: Question) -> Approval:
        """Approve a call, or refuse it with reasons."""
        ...
