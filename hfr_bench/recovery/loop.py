"""The second seed's task loop: what the host knows of one action, in five phases and eight edges.

A timeout is news about the line, never about the world: what may have landed is asked for before
anything is sent again, and only acceptance ends an action.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from hfr_bench.model.terms import LedgerState
from hfr_bench.recovery.ledger import check_move


class Phase(StrEnum):
    """What the host knows; the world may be further."""

    READY = "ready"
    PENDING = "pending"
    UNKNOWN = "unknown"
    VERIFYING = "verifying"
    DONE = "done"


class Occasion(StrEnum):
    """What was heard."""

    DISPATCH = "dispatch"
    OK = "ok"
    TIMEOUT = "timeout"
    REJECTED = "rejected"
    FOUND = "found"
    ABSENT = "absent"
    ACCEPTED = "accepted"
    MISMATCH = "mismatch"


EDGES: Mapping[tuple[Phase, Occasion], Phase] = MappingProxyType(
    {
        (Phase.READY, Occasion.DISPATCH): Phase.PENDING,
        (Phase.PENDING, Occasion.OK): Phase.VERIFYING,
        (Phase.PENDING, Occasion.TIMEOUT): Phase.UNKNOWN,
        (Phase.PENDING, Occasion.REJECTED): Phase.READY,
        (Phase.UNKNOWN, Occasion.FOUND): Phase.VERIFYING,
        (Phase.UNKNOWN, Occasion.ABSENT): Phase.READY,
        (Phase.VERIFYING, Occasion.ACCEPTED): Phase.DONE,
        (Phase.VERIFYING, Occasion.MISMATCH): Phase.READY,
    }
)


def transition(phase: Phase, occasion: Occasion) -> Phase:
    """The next phase. DONE absorbs everything: a changed goal is a new goal version.

    Raises ValueError for a phase or an occasion that is none, and for any other edge.
    """
    if phase == Phase.DONE:
        return Phase.DONE
    following = EDGES.get((phase, occasion))
    if following is None:
        allowed = ", ".join(heard for at, heard in EDGES if at == Phase(phase))
        raise ValueError(f"loop: {phase} hears {occasion!s}; allowed: {allowed}")
    return following


_PHASES: Mapping[LedgerState | None, Phase] = MappingProxyType(
    {
        None: Phase.READY,
        LedgerState.PREPARED: Phase.PENDING,
        LedgerState.COMMITTED: Phase.VERIFYING,
        LedgerState.FAILED: Phase.READY,
        LedgerState.UNKNOWN: Phase.UNKNOWN,
        LedgerState.RECONCILED_COMMITTED: Phase.VERIFYING,
        LedgerState.RECONCILED_ABSENT: Phase.READY,
        LedgerState.COMPENSATED: Phase.READY,
    }
)

_OCCASIONS: Mapping[LedgerState, Occasion] = MappingProxyType(
    {
        LedgerState.PREPARED: Occasion.DISPATCH,
        LedgerState.COMMITTED: Occasion.OK,
        LedgerState.FAILED: Occasion.REJECTED,
        LedgerState.UNKNOWN: Occasion.TIMEOUT,
        LedgerState.RECONCILED_COMMITTED: Occasion.FOUND,
        LedgerState.RECONCILED_ABSENT: Occasion.ABSENT,
        LedgerState.COMPENSATED: Occasion.MISMATCH,
    }
)


def phase_of(state: LedgerState | None) -> Phase:
    """The phase of a write whose ledger entry is in `state` (None = no entry).

    The ledger knows no DONE: acceptance is not a side effect. A write that was undone is READY
    in the loop, though not under its old key, whose entry is closed.
    """
    return _PHASES[state]


def occasion_of(before: LedgerState | None, after: LedgerState) -> Occasion:
    """The occasion that a ledger move writes down. Raises LedgerConflictError if it is illegal."""
    check_move(before, after)
    return _OCCASIONS[after]
