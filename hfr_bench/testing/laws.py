"""What must hold of any careful strategy's trace (paper §4.10), told from the trace alone.

Each law returns its violations in words; an empty list is obedience.
"""

from collections.abc import Sequence

from hfr_bench.model.terms import LedgerState, SideEffect
from hfr_bench.model.trace import AttemptEnded, AttemptStarted, LedgerMoved, TraceEvent
from hfr_bench.recovery.ledger import LedgerConflictError, check_move


def illegal_moves(events: Sequence[TraceEvent]) -> list[str]:
    """Every move starts where the last one of its key ended, and is one of table 6."""
    wrong: list[str] = []
    now: dict[str, LedgerState] = {}
    for event in events:
        body = event.body
        if not isinstance(body, LedgerMoved):
            continue
        if now.get(body.key) != body.before:
            wrong.append(f"line {event.seq}: starts at {body.before}, not {now.get(body.key)}")
        try:
            check_move(body.before, body.after)
        except LedgerConflictError as error:
            wrong.append(f"line {event.seq}: {error}")
        now[body.key] = body.after
    return wrong


def unprotected_writes(events: Sequence[TraceEvent]) -> list[str]:
    """Every attempt of a write goes out with a PREPARED entry already written down."""
    wrong: list[str] = []
    now: dict[str, LedgerState] = {}
    for event in events:
        body = event.body
        if isinstance(body, LedgerMoved):
            now[body.stepless_key] = body.after
        elif _own_write(event) and isinstance(body, AttemptStarted):
            state = now.get(body.stepless_key)
            if state is not LedgerState.PREPARED:
                wrong.append(f"line {event.seq}: {body.target} goes out while {state}")
    return wrong


def blind_resends(events: Sequence[TraceEvent]) -> list[str]:
    """R2 is sent again only once the world has said whether it is there; R3 never is (table 7)."""
    wrong: list[str] = []
    doubtful: set[str] = set()
    sent: AttemptStarted | None = None
    for event in events:
        body = event.body
        if isinstance(body, AttemptStarted):
            sent = body if _own_write(event) else None
            if sent and sent.stepless_key in doubtful and sent.level in _UNREPEATABLE:
                wrong.append(f"line {event.seq}: {sent.target} ({sent.level}) is sent again")
        elif isinstance(body, AttemptEnded) and sent is not None:
            if not body.answered:
                doubtful.add(sent.stepless_key)
        elif isinstance(body, LedgerMoved) and body.after in _SETTLED:
            doubtful.discard(body.stepless_key)
    return wrong


def retried_after(events: Sequence[TraceEvent], status: int) -> list[str]:
    """No step sends its call again after an answer of this status (T7, T8)."""
    return [what for what, _ in _again(events, status)]


def hurried_after(events: Sequence[TraceEvent], status: int, wait_us: int) -> list[str]:
    """A step that sends its call again after an answer of this status has waited so long."""
    return [what for what, waited_us in _again(events, status) if waited_us < wait_us]


_SETTLED = (LedgerState.RECONCILED_ABSENT, LedgerState.RECONCILED_COMMITTED)
_UNREPEATABLE = (SideEffect.QUERYABLE, SideEffect.IRREVERSIBLE)


def _own_write(event: TraceEvent) -> bool:
    body = event.body
    return isinstance(body, AttemptStarted) and body.purpose == "agent" and body.level.writes


def _again(events: Sequence[TraceEvent], status: int) -> list[tuple[str, int]]:
    """The agent's own calls sent again after that status: what, and how long after."""
    found = []
    failed: dict[tuple[int, str], int] = {}
    at: tuple[int, str] | None = None
    for event in events:
        body = event.body
        if isinstance(body, AttemptStarted):
            at = (event.step, body.target) if body.purpose == "agent" else None
            if at in failed:
                waited_us = event.t_us - failed[at]
                found.append((f"line {event.seq}: {body.target} after {waited_us} µs", waited_us))
        elif isinstance(body, AttemptEnded) and at is not None and body.status == status:
            failed[at] = event.t_us
    return found
