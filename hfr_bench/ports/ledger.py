"""The side-effect ledger: made durable before acting (paper §4.5)."""

from collections.abc import Sequence
from typing import Literal, Protocol

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.ledger import LedgerEntry, Reservation

Durability = Literal["process", "power"]
"""What a written transaction outlives: the death of this process, or of the machine as well."""


class LedgerUnavailableError(InfrastructureError):
    """The ledger cannot be read or written now: nothing may be sent that it should protect."""


class LedgerCorruptError(LedgerUnavailableError, ValueError):
    """What is stored cannot have been written by a ledger; the message names place and key."""


class Ledger(Protocol):
    """Entries by key, of one tenant and one scope; nobody else's are seen.

    An entry is written whole, and its moves are checked when it is written and when it is read.
    One thread uses it; several ledgers, in any processes, may be open on one scope. Every method
    raises LedgerUnavailableError where the backend fails, LedgerCorruptError for what it holds.
    """

    def apply(self, debit: Reservation, entries: Sequence[LedgerEntry]) -> None:
        """One transaction: budget debit and moves, or neither; the moves are checked in turn.

        Raises LedgerConflictError for an illegal move, another payload or goal version under the
        key, an entry of another tenant, and (StaleTokenError) where a lease of the key was
        granted and `entry.fencing` is not its last token.
        """
        ...

    def get(self, key: str) -> LedgerEntry | None:
        """The entry with its lease as it stands, or None."""
        ...

    def entries(self) -> tuple[LedgerEntry, ...]:
        """All of them, in the order in which their keys were first written."""
        ...

    def debited(self, step: int | None = None) -> Reservation:
        """The sum of all debits: of a step, or of all of them (as step 0)."""
        ...

    def lease(self, key: str, owner: str, now_us: int, ttl_us: int) -> int | None:
        """Take or renew the lease of a key, written or not; the fencing token, which only grows.

        None: somebody else's lease still runs. `now_us`: by a clock that all recoverers share
        (where they differ, the token still guards the ledger). `ttl_us` 0 gives the lease back.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds open; idempotent. What was applied stays."""
        ...


class LedgerStore(Protocol):
    """A kind of ledger; made with where it lies (a file, a database's address, or "").

    Plug group `hfr_bench.stores`: `store(where, durability)`.
    """

    def open(self, tenant: str, scope: str = "") -> Ledger:
        """A ledger for the calling thread. `scope`: what shares entries and budget (a trial).

        Raises BadInputError where `where` is nothing of the kind, or of another version.
        """
        ...
