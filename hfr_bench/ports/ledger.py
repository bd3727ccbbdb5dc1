"""The side-effect ledger: made durable before acting."""

from collections.abc import Sequence
from typing import Protocol

from hfr_bench.model.ledger import LedgerEntry, Reservation


class Ledger(Protocol):
    """Entries by key. `apply` is one transaction: budget debit and moves, or neither."""

    def apply(self, debit: Reservation, entries: Sequence[LedgerEntry]) -> None:
        """Raises LedgerConflictError for an illegal move or another payload under the key."""
        ...

    def get(self, key: str) -> LedgerEntry | None: ...

    def entries(self) -> tuple[LedgerEntry, ...]: ...
