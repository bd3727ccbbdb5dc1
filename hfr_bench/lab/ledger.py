"""The ledger of one trial in memory; the trial's journal is its durable copy."""

from collections.abc import Sequence

from hfr_bench.model.ledger import LedgerEntry, Reservation
from hfr_bench.recovery.ledger import check_move


class MemoryLedger:
    """Implements `ports.ledger.Ledger`. Raises LedgerConflictError for an illegal move."""

    def __init__(self) -> None:
        self._entries: dict[str, LedgerEntry] = {}
        self.debited = 0

    def apply(self, debit: Reservation, entries: Sequence[LedgerEntry]) -> None:
        for entry in entries:
            known = self._entries.get(entry.key)
            check_move(known.state if known else None, entry.state)
        self.debited += debit.retries
        self._entries.update({entry.key: entry for entry in entries})

    def get(self, key: str) -> LedgerEntry | None:
        return self._entries.get(key)

    def entries(self) -> tuple[LedgerEntry, ...]:
        return tuple(self._entries.values())
