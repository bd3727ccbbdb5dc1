"""What outlives a step: ledger entries, budget reservations, checkpoints, escalation packets."""

from typing import Any

from hfr_bench.model.record import Record
from hfr_bench.model.terms import LedgerState, SideEffect


class LedgerEntry(Record):
    """One side effect in the ledger (paper table 6).

    `lease`/`fencing`: who may act on it (distributed recovery); `expires_us`: when the tool
    forgets the key (trial clock); `operation_id`: the physical operation that moved it last.
    """

    key: str
    stepless_key: str
    tenant: str
    task_id: str
    step: int
    tool: str
    level: SideEffect = SideEffect.QUERYABLE
    state: LedgerState
    goal_version: int = 1
    attempts: int = 0
    evidence: str = ""
    lease: str | None = None
    fencing: int = 0
    expires_us: int | None = None
    operation_id: str | None = None
    updated_us: int = 0


class Reservation(Record):
    """Budget set aside before acting; refused without being spent (paper §4.8)."""

    step: int
    retries: int = 0
    tokens: int = 0
    time_us: int = 0
    cost_microusd: int = 0


class Checkpoint(Record):
    """The runtime's state at one of the five points of paper §5.4."""

    trial_id: str
    seq: int
    at_us: int
    strategy_state: dict[str, Any] = {}
    agent_state: dict[str, Any] = {}
    goal_version: int = 1
    config_digest: str = ""


class EscalationPacket(Record):
    """What a person is handed: state, committed and unknown effects, evidence, a suggestion."""

    trial_id: str
    step: int
    reason: str
    status: str = ""
    committed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    evidence: str = ""
    suggestion: str = ""
