"""The person who is called when no automatic move is safe."""

from typing import Protocol

from hfr_bench.model.ledger import EscalationPacket


class Human(Protocol):
    """Takes an escalation; returns the charged cost (micro-dollars) and delay (microseconds)."""

    def take(self, packet: EscalationPacket) -> tuple[int, int]: ...
