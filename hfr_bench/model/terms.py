"""The vocabularies. Values are the paper's codes, so that traces read like the paper."""

from enum import StrEnum


class FaultClass(StrEnum):
    """F2D-9: what a strategy *believes* happened (paper table 2)."""

    TRANSIENT = "T1"
    RATE_LIMIT = "T2"
    TIMEOUT = "T3"
    OVERLOAD = "T4"
    TOOL_UNAVAILABLE = "T5"
    CONTEXT_OVERFLOW = "T6"
    PERMANENT = "T7"
    REFUSAL = "T8"
    SEMANTIC = "V1"


class Action(StrEnum):
    """What a strategy may decide: the nine actions of table 3 and three ordinary moves."""

    DISPATCH = "DISPATCH"
    VERIFY = "VERIFY"
    ACCEPT = "ACCEPT"
    RETRY = "RETRY"
    RECONCILE = "RECONCILE"
    COMPRESS = "COMPRESS"
    DEGRADE_MODEL = "DEGRADE_MODEL"
    DEGRADE_TOOL = "DEGRADE_TOOL"
    DEGRADE_SCOPE = "DEGRADE_SCOPE"
    REPLAN = "REPLAN"
    ESCALATE = "ESCALATE"
    FAIL = "FAIL"


class SideEffect(StrEnum):
    """A tool's side-effect level (paper table 7)."""

    READ = "R0"
    IDEMPOTENT = "R1"
    QUERYABLE = "R2"
    IRREVERSIBLE = "R3"

    @property
    def writes(self) -> bool:
        return self is not SideEffect.READ


class Rung(StrEnum):
    """The degradation ladder (paper table 5)."""

    NORMAL = "L0"
    COMPRESSED = "L1"
    SAME_TIER = "L2"
    LOWER_TIER = "L3"
    FALLBACK = "L4"


class CheckLevel(StrEnum):
    """Levels of acceptance (paper table 8). `V1` is also a fault class there, hence the names."""

    TRANSPORT = "V0"
    DETERMINISTIC = "V1"
    SEMANTIC = "V2"
    AUTHORITY = "V3"


class Criticality(StrEnum):
    """A task's criticality (paper §3.1)."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class LedgerState(StrEnum):
    """States of a side effect in the ledger (paper table 6)."""

    PREPARED = "PREPARED"
    COMMITTED = "COMMITTED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"
    RECONCILED_COMMITTED = "RECONCILED_COMMITTED"
    RECONCILED_ABSENT = "RECONCILED_ABSENT"
    COMPENSATED = "COMPENSATED"


class Landed(StrEnum):
    """Answer of a reconcile query: did the write reach the world?"""

    COMMITTED = "committed"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Layer(StrEnum):
    """Where a fault is injected (paper table 16)."""

    MODEL = "model"
    TOOL = "tool"
    ENVIRONMENT = "environment"
    SEMANTIC = "semantic"


class Channel(StrEnum):
    """What kind of call a step is."""

    MODEL = "model"
    TOOL = "tool"


class Origin(StrEnum):
    """Where a number comes from; the three are never mixed."""

    SYNTHETIC = "synthetic"
    REHEARSAL = "rehearsal"
    LIVE = "live"


class ClockKind(StrEnum):
    """How a trial's time runs: announced waits advance it (virtual), or the wall does."""

    VIRTUAL = "virtual"
    WALL = "wall"


class SafeOutcome(StrEnum):
    """The best end that stays reachable under a fault."""

    COMPLETE = "complete"
    ESCALATE = "escalate"


class VoidCause(StrEnum):
    """Why a trial measured nothing: our own side broke."""

    SANDBOX = "sandbox"
    PROVIDER = "provider"
    HARNESS = "harness"
    CHECKER = "checker"
    CANCELLED = "cancelled"
    CASSETTE = "cassette"


class End(StrEnum):
    """How a trial ended, as the runtime under test saw it."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    ESCALATED = "escalated"
    LIMIT = "limit"
    UNACCEPTED = "unaccepted"
