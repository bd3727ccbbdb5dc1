"""Idempotency keys, the ledger's legal moves, and who may make them (paper §4.5, tables 6 and 7).

The rules alone; ledgers themselves are plugs (`hfr_bench.stores`). What a recoverer does next is
the second seed's R(k, p, L, d) over the seven states of table 6.
"""

import hashlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from hfr_bench.errors import HfrError
from hfr_bench.model.attempt import Known
from hfr_bench.model.ledger import LedgerEntry
from hfr_bench.model.record import canonical
from hfr_bench.model.terms import Landed, LedgerState

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


class StaleTokenError(LedgerConflictError):
    """A write under a lease that has been given to somebody else since."""


def check_move(before: LedgerState | None, after: LedgerState) -> None:
    """Raises LedgerConflictError unless table 6 allows the move."""
    if after not in LEGAL[before]:
        allowed = ", ".join(sorted(LEGAL[before])) or "nothing"
        raise LedgerConflictError(f"ledger: {before} -> {after} is illegal; allowed: {allowed}")


# -- keys ----------------------------------------------------------------------------------------


def idempotency_key(
    tenant: str,
    task_id: str,
    step: int | None,
    tool: str,
    arguments: Mapping[str, Any],
    intent_id: str = "",
) -> str:
    """SHA-256 over tenant, task, step, tool and canonical arguments; without step if None.

    `intent_id`: the business intent, where the same arguments are meant twice (paper §4.5); it
    outlives replanning, and a step number does not. Raises ValueError for a NUL in a part.
    """
    parts = [tenant, task_id, "" if step is None else str(step), tool]
    if intent_id:
        parts.append(intent_id)
    head = "\x00".join(parts).encode() + b"\x00"
    if head.count(0) != len(parts):
        raise ValueError(f"a part of an idempotency key holds a NUL: {parts}")
    return hashlib.sha256(head + canonical(dict(arguments))).hexdigest()


def compensation_key(key: str) -> str:
    """The key of the action that undoes the write of `key`: undoing twice is a duplicate too."""
    return hashlib.sha256(b"compensation\x00" + key.encode()).hexdigest()


def is_expired(expires_us: int | None, now_us: int) -> bool:
    """Whether the tool may have forgotten the key: sent again, it would not be recognised."""
    return expires_us is not None and now_us >= expires_us


# -- what a recoverer does next ------------------------------------------------------------------


class Next(StrEnum):
    """What to do about a write (second seed, R(k, p, L, d))."""

    CONFLICT = "conflict"
    VERIFY = "verify"
    WAIT = "wait"
    QUERY = "query"
    DISPATCH = "dispatch"


_THERE = frozenset({_S.COMMITTED, _S.RECONCILED_COMMITTED, _S.COMPENSATED})


def protocol(
    entry_state: LedgerState | None,
    payload_same: bool,
    authoritative_absent: bool,
    *,
    expired: bool = False,
    held: bool = True,
) -> Next:
    """R(k, p, L, d): ledger -> world -> undecided -> a person (paper §4.5, second seed).

    `entry_state`: of the key in the ledger, None = it is not there. `payload_same`: the entry is
    of the same payload. `authoritative_absent`: the world said so after its settle window
    (`is_settled`). `expired`: the tool has forgotten the key. `held`: somebody else may be at a
    PREPARED entry (see `may_act`); if nobody is, its outcome is unknown. An UNKNOWN entry is
    never dispatched: its absence is first written down, as RECONCILED_ABSENT. COMPENSATED is for
    the business to judge: look, and send nothing under this key.
    """
    if entry_state is None:
        return Next.DISPATCH if authoritative_absent else Next.QUERY
    if not payload_same:
        return Next.CONFLICT
    if entry_state in _THERE:
        return Next.VERIFY
    if entry_state is _S.PREPARED:
        return Next.WAIT if held else Next.QUERY
    if entry_state is _S.UNKNOWN or (expired and not authoritative_absent):
        return Next.QUERY
    return Next.DISPATCH


def is_settled(absent_since_us: int | None, now_us: int, settle_us: int) -> bool:
    """Whether "absent", heard now, is authoritative (appendix D, proposition 3).

    `absent_since_us`: when the world first said so, with no other answer since; None = never.
    `settle_us`: how long a read may lag behind and a sent request may be under way.
    """
    return absent_since_us is not None and now_us - absent_since_us >= settle_us


def settle(state: LedgerState, landed: Landed) -> LedgerState | None:
    """Where a late receipt moves its entry; None = it says nothing new.

    Raises LedgerConflictError where it contradicts what is written down: a person must look.
    """
    if landed is Landed.UNKNOWN:
        return None
    is_in = landed is Landed.COMMITTED
    if state is _S.PREPARED:
        return _S.COMMITTED if is_in else _S.FAILED
    if state is _S.UNKNOWN:
        return _S.RECONCILED_COMMITTED if is_in else _S.RECONCILED_ABSENT
    if state is not _S.COMPENSATED and is_in != (state in _THERE):
        raise LedgerConflictError(
            f"ledger: a late receipt says {landed} of a write that is {state}"
        )
    return None


def replay(entries: Iterable[LedgerEntry]) -> tuple[Known, ...]:
    """What recovery hears before its checkpoint counts (paper §5.4: the ledger first)."""
    return tuple(
        Known(e.key, e.stepless_key, e.state, e.tool, e.level, e.goal_version) for e in entries
    )


# -- leases and fencing --------------------------------------------------------------------------


class Lease(NamedTuple):
    """One recoverer at a time (paper §4.5). `token`: grows with every grant; 0 = never granted.

    `owner` names one life of one process: a restart is somebody else.
    """

    owner: str
    until_us: int
    token: int


def grant(lease: Lease | None, owner: str, now_us: int, ttl_us: int) -> Lease | None:
    """The lease if `owner` may have it, else None: another one's still runs.

    Asked for again in time it keeps its token; `ttl_us` 0 gives it back. Raises ValueError for a
    nameless owner or a negative time.
    """
    if not owner or ttl_us < 0:
        raise ValueError(f"a lease needs an owner and a time: {owner!r}, {ttl_us} µs")
    if lease is None:
        return Lease(owner, now_us + ttl_us, 1)
    if now_us < lease.until_us:
        return Lease(owner, now_us + ttl_us, lease.token) if lease.owner == owner else None
    return Lease(owner, now_us + ttl_us, lease.token + 1)


def may_act(entry: LedgerEntry, owner: str, now_us: int) -> bool:
    """Whether no lease of somebody else stands in the way of taking up the entry."""
    return entry.lease is None or entry.lease == owner or now_us >= entry.lease_until_us


def check_write(
    state: LedgerState | None, stepless_key: str, goal_version: int, entry: LedgerEntry, token: int
) -> None:
    """Raises LedgerConflictError unless `entry` may follow what is there, under lease `token`.

    `state`, `stepless_key`, `goal_version`: of the entry as it stands; state None = there is none,
    and the other two count for nothing. `token`: the last one granted, 0 = never any.

    Table 6; one payload a key; a write keeps its goal version, whatever the user wants by now
    (only a new PREPARED may raise it: late receipts go to the old goal). Raises StaleTokenError
    where `entry.fencing` is not `token`.
    """
    if entry.fencing != token:
        raise StaleTokenError(
            f"ledger: fencing token {entry.fencing} of {entry.key} is not the last one, {token}"
        )
    check_move(state, entry.state)
    if state is None:
        return
    if stepless_key != entry.stepless_key:
        raise LedgerConflictError(f"ledger: another payload under the key {entry.key}")
    now = entry.goal_version
    if now != goal_version and (now < goal_version or entry.state is not _S.PREPARED):
        raise LedgerConflictError(
            f"ledger: {entry.key} is of goal {goal_version}, it cannot move in {now}"
        )
