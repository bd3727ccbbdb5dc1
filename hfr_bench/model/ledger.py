"""What outlives a step: ledger entries, budget reservations, checkpoints, escalation packets."""

from enum import StrEnum
from typing import Any

from hfr_bench.model.record import Record
from hfr_bench.model.terms import LedgerState, SideEffect


class LedgerEntry(Record):
    """One side effect in the ledger (paper table 6).

    `lease`/`lease_until_us`: who may act on it, and for how long (distributed recovery); a ledger
    fills them in when it is read, and does not look at what a writer puts there. `fencing`: the
    token its last mover held. `expires_us`: when the tool forgets the key (trial clock);
    `operation_id`: the physical operation that moved it last.
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
    lease_until_us: int = 0
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


class CheckpointPoint(StrEnum):
    """The five moments of paper §5.4 at which the runtime's state is saved."""

    BEGUN = "begun"
    PREPARED = "prepared"
    COMMITTED = "committed"
    DEGRADED = "degraded"
    ESCALATING = "escalating"


class Checkpoint(Record):
    """The runtime's state at one of the five points of paper §5.4.

    `seq` counts from 1 within a trial. `config_digest` and `version` (of the program or policy)
    say what it was made under: recovery under another one has drifted.
    """

    trial_id: str
    seq: int
    at_us: int
    strategy_state: dict[str, Any] = {}
    agent_state: dict[str, Any] = {}
    goal_version: int = 1
    config_digest: str = ""
    point: CheckpointPoint = CheckpointPoint.BEGUN
    version: str = ""


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
