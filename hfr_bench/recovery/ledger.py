"""Idempotency keys and the ledger's legal moves (paper §4.5, table 6)."""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hfr_bench.errors import HfrError
from hfr_bench.model.record import canonical
from hfr_bench.model.terms import LedgerState

_S = LedgerState

# None is the state before the first entry.
LEGAL: Mapping[LedgerState | None, frozenset[LedgerState]] = MappingProxyType(
    {
        None: frozenset({_S.PREPARED}),
        _S.PREPARED: frozenset({_S.COMMITTED, _S.FAILED, _S.UNKNOWN}),
        _S.COMMITTED: frozenset({_S.COMPENSATED}),
        _S.FAILED: frozenset({_S.PREPARED}),
        _S.UNKNOWN: frozenset({_S.RECONCILED_COMMITTED, _S.RECONCILED_ABSENT}),
        _S.RECONCILED_COMMITTED: frozenset({_S.COMPENSATED}),
        _S.RECONCILED_ABSENT: frozenset({_S.PREPARED}),
        _S.COMPENSATED: frozenset(),
    }
)


class LedgerConflictError(HfrError, ValueError):
    """An illegal move: somebody else moved the entry, or the strategy is wrong."""


def check_move(before: LedgerState | None, after: LedgerState) -> None:
    """Raises LedgerConflictError unless table 6 allows the move."""
    if after not in LEGAL[before]:
        allowed = ", ".join(sorted(LEGAL[before])) or "nothing"
        raise LedgerConflictError(f"ledger: {before} -> {after} is illegal; allowed: {allowed}")


def idempotency_key(
    tenant: str, task_id: str, step: int | None, tool: str, arguments: Mapping[str, Any]
) -> str:
    """SHA-256 over tenant, task, step, tool and canonical arguments; without step if None."""
    parts = [tenant, task_id, "" if step is None else str(step), tool]
    head = "\x00".join(parts).encode() + b"\x00"
    return hashlib.sha256(head + canonical(dict(arguments))).hexdigest()
