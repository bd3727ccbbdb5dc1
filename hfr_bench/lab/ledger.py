"""The ledger of one trial in memory; the trial's journal is its durable copy."""

from collections.abc import Sequence

from hfr_bench.model.ledger import LedgerEntry, Reservation
from hfr_bench.recovery.ledger import LedgerConflictError, check_move


class MemoryLedger:
    """Implements `ports.ledger.Ledger`. Raises LedgerConflictError; nothing is applied then."""

    def __init__(self) -> None:
        self._entries: dict[str, LedgerEntry] = {}
        self.debited = 0

    def apply(self, debit: Reservation, entries: Sequence[LedgerEntry]) -> None:
        staged = dict(self._entries)
        for entry in entries:
            known = staged.get(entry.key)
            check_move(known.state if known else None, entry.state)
            if known is not None and known.stepless_key != entry.stepless_key:
                raise LedgerConflictError(f"ledger: another payload under the key {entry.key}")
            staged[entry.key] = entry
        self.debited += debit.retries
        self._entries = staged

    def get(self, key: str) -> LedgerEntry | None:
        return self._entries.get(key)

    def entries(self) -> tuple[LedgerEntry, ...]:
        return tuple(self._entries.values())
