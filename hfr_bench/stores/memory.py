"""The ledger in memory: of one trial, whose journal is its durable copy; or of many threads."""

import threading
from collections.abc import Sequence

from hfr_bench.model.ledger import LedgerEntry, Reservation
from hfr_bench.ports.ledger import Durability
from hfr_bench.recovery.ledger import Lease, LedgerConflictError, check_write, grant

_Spent = tuple[int, int, int, int]
"""Retries, tokens, microseconds, micro-dollars."""

_NOTHING: _Spent = (0, 0, 0, 0)


class MemoryLedger:
    """Implements `ports.ledger.Ledger`; any thread may use it. `tenant` "" takes any tenant's."""

    def __init__(self, tenant: str = "") -> None:
        self._tenant = tenant
        self._entries: dict[str, LedgerEntry] = {}
        self._debits: dict[int, _Spent] = {}
        self._leases: dict[str, Lease] = {}
        self._lock = threading.Lock()

    def apply(self, debit: Reservation, entries: Sequence[LedgerEntry]) -> None:
        with self._lock:
            staged: dict[str, LedgerEntry] = {}
            for entry in entries:
                if self._tenant and entry.tenant != self._tenant:
                    raise LedgerConflictError(f"ledger: {entry.key} is of tenant {entry.tenant!r}")
                key, lease = entry.key, self._leases.get(entry.key)
                known = staged.get(key) or self._entries.get(key)
                token = lease.token if lease else 0
                if known is None:
                    check_write(None, "", 0, entry, token)
                else:
                    check_write(known.state, known.stepless_key, known.goal_version, entry, token)
                staged[key] = entry
            self._entries.update(staged)
            spent = (debit.retries, debit.tokens, debit.time_us, debit.cost_microusd)
            if spent != _NOTHING:
                self._debits[debit.step] = _sum(self._debits.get(debit.step, _NOTHING), spent)

    def get(self, key: str) -> LedgerEntry | None:
        entry = self._entries.get(key)
        return self._leased(entry) if entry is not None else None

    def entries(self) -> tuple[LedgerEntry, ...]:
        with self._lock:
            return tuple(map(self._leased, self._entries.values()))

    def debited(self, step: int | None = None) -> Reservation:
        with self._lock:
            if step is None:
                spent = _sum(*self._debits.values())
            else:
                spent = self._debits.get(step, _NOTHING)
        retries, tokens, time_us, cost = spent
        return Reservation(
            step=step or 0, retries=retries, tokens=tokens, time_us=time_us, cost_microusd=cost
        )

    def lease(self, key: str, owner: str, now_us: int, ttl_us: int) -> int | None:
        with self._lock:
            given = grant(self._leases.get(key), owner, now_us, ttl_us)
            if given is not None:
                self._leases[key] = given
            return given.token if given is not None else None

    def close(self) -> None:
        """Nothing is open."""

    def _leased(self, entry: LedgerEntry) -> LedgerEntry:
        """The entry as its reader should see it: with the lease that runs, not the writer's."""
        lease = self._leases.get(entry.key)
        owner, until_us = (lease.owner, lease.until_us) if lease else (None, 0)
        if (entry.lease, entry.lease_until_us) == (owner, until_us):
            return entry
        return entry.model_copy(update={"lease": owner, "lease_until_us": until_us})


class MemoryStore:
    """Ledgers by tenant and scope while the store lives; `where` and `durability` mean nothing."""

    def __init__(self, where: str = "", durability: Durability = "process") -> None:
        self._ledgers: dict[tuple[str, str], MemoryLedger] = {}
        self._lock = threading.Lock()

    def open(self, tenant: str, scope: str = "") -> MemoryLedger:
        with self._lock:
            return self._ledgers.setdefault((tenant, scope), MemoryLedger(tenant))


def _sum(*spent: _Spent) -> _Spent:
    retries, tokens, time_us, cost = zip(_NOTHING, *spent, strict=True)
    return sum(retries), sum(tokens), sum(time_us), sum(cost)
