"""What the SQL backends share: tables, statements, rows read with suspicion, one way to write.

Written in the SQL that SQLite and PostgreSQL have in common; a backend brings its connection,
its transactions, its placeholders and its errors.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from hfr_bench.model.ledger import LedgerEntry, Reservation
from hfr_bench.model.terms import LedgerState
from hfr_bench.ports.ledger import LedgerCorruptError
from hfr_bench.recovery.ledger import (
    LEGAL,
    Lease,
    LedgerConflictError,
    check_write,
    grant,
)

SCHEMA_VERSION: Final = 1

_STATES = ", ".join(f"'{state}'" for state in LedgerState)

# {serial} and {options} differ. `moves`: every state the entry has been in, as a JSON list.
TABLES: Final = (
    f"""CREATE TABLE IF NOT EXISTS hfr_entries (
        seq {{serial}}, tenant TEXT NOT NULL, scope TEXT NOT NULL, key TEXT NOT NULL,
        stepless_key TEXT NOT NULL, task_id TEXT NOT NULL, step BIGINT NOT NULL,
        tool TEXT NOT NULL, level TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ({_STATES})),
        goal_version BIGINT NOT NULL, attempts BIGINT NOT NULL, evidence TEXT NOT NULL,
        fencing BIGINT NOT NULL, expires_us BIGINT, operation_id TEXT, updated_us BIGINT NOT NULL,
        moves TEXT NOT NULL, UNIQUE (tenant, scope, key)){{options}}""",
    """CREATE TABLE IF NOT EXISTS hfr_debits (
        tenant TEXT NOT NULL, scope TEXT NOT NULL, step BIGINT NOT NULL,
        retries BIGINT NOT NULL, tokens BIGINT NOT NULL, time_us BIGINT NOT NULL,
        cost_microusd BIGINT NOT NULL, PRIMARY KEY (tenant, scope, step)){options}""",
    """CREATE TABLE IF NOT EXISTS hfr_leases (
        tenant TEXT NOT NULL, scope TEXT NOT NULL, key TEXT NOT NULL, owner TEXT NOT NULL,
        until_us BIGINT NOT NULL, token BIGINT NOT NULL CHECK (token > 0),
        PRIMARY KEY (tenant, scope, key)){options}""",
)

# What is known of a key: one row, with or without an entry, with or without a lease.
_KNOWN = (
    "SELECT e.seq, e.stepless_key, e.state, e.goal_version, e.moves, l.token "
    "FROM (SELECT 1) AS one "
    "LEFT JOIN hfr_entries e ON e.tenant = ? AND e.scope = ? AND e.key = ? "
    "LEFT JOIN hfr_leases l ON l.tenant = ? AND l.scope = ? AND l.key = ?"
)
_INSERT = (
    "INSERT INTO hfr_entries (tenant, scope, key, stepless_key, task_id, step, tool, level, "
    "state, goal_version, attempts, evidence, fencing, expires_us, operation_id, updated_us, "
    "moves) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE = (
    "UPDATE hfr_entries SET task_id = ?, step = ?, tool = ?, level = ?, state = ?, "
    "goal_version = ?, attempts = ?, evidence = ?, fencing = ?, expires_us = ?, "
    "operation_id = ?, updated_us = ?, moves = ? WHERE seq = ?"
)
_LEASE = "SELECT owner, until_us, token FROM hfr_leases WHERE tenant = ? AND scope = ? AND key = ?"
_GRANT = (
    "INSERT INTO hfr_leases (tenant, scope, key, owner, until_us, token) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (tenant, scope, key) DO UPDATE SET owner = excluded.owner, "
    "until_us = excluded.until_us, token = excluded.token"
)
_DEBIT = (
    "INSERT INTO hfr_debits (tenant, scope, step, retries, tokens, time_us, cost_microusd) "
    "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, scope, step) DO UPDATE SET "
    "retries = hfr_debits.retries + excluded.retries, "
    "tokens = hfr_debits.tokens + excluded.tokens, "
    "time_us = hfr_debits.time_us + excluded.time_us, "
    "cost_microusd = hfr_debits.cost_microusd + excluded.cost_microusd"
)
_DEBITED = (
    "SELECT COALESCE(SUM(retries), 0), COALESCE(SUM(tokens), 0), COALESCE(SUM(time_us), 0), "
    "COALESCE(SUM(cost_microusd), 0) FROM hfr_debits WHERE tenant = ? AND scope = ?"
)
_READ = (
    "SELECT e.key, e.stepless_key, e.tenant, e.task_id, e.step, e.tool, e.level, e.state, "
    "e.goal_version, e.attempts, e.evidence, l.owner, COALESCE(l.until_us, 0), e.fencing, "
    "e.expires_us, e.operation_id, e.updated_us, e.moves FROM hfr_entries e "
    "LEFT JOIN hfr_leases l ON l.tenant = e.tenant AND l.scope = e.scope AND l.key = e.key "
    "WHERE e.tenant = ? AND e.scope = ?"
)
_FIELDS = (
    *("key", "stepless_key", "tenant", "task_id", "step", "tool", "level", "state"),
    *("goal_version", "attempts", "evidence", "lease", "lease_until_us", "fencing"),
    *("expires_us", "operation_id", "updated_us"),
)

_READ_ONE = _READ + " AND e.key = ?"
_READ_ALL = _READ + " ORDER BY e.seq"
_DEBITED_AT = _DEBITED + " AND step = ?"

Row = Sequence[Any]
Run = Callable[[str, Row], Any]
"""Runs a statement with its values; what comes back has `fetchone` and `fetchall`."""


class SqlLedger(ABC):
    """Implements `ports.ledger.Ledger` over the tables above.

    `where`: for messages. A backend's `_writing` is a transaction that no other writer of the
    scope overlaps, rolled back when an error leaves it.
    """

    def __init__(self, where: str, tenant: str, scope: str) -> None:
        self._where, self._ours = where, (tenant, scope)

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Run]:
        """Runs statements one by one, and tells what goes wrong as an error of the port."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Run]:
        """The same in a write transaction."""

    @abstractmethod
    def close(self) -> None: ...

    def apply(self, debit: Reservation, entries: Sequence[LedgerEntry]) -> None:
        with self._writing() as run:
            for entry in entries:
                self._put(run, entry)
            spent = (debit.retries, debit.tokens, debit.time_us, debit.cost_microusd)
            if any(spent):
                run(_DEBIT, (*self._ours, debit.step, *spent))

    def get(self, key: str) -> LedgerEntry | None:
        with self._reading() as run:
            row = run(_READ_ONE, (*self._ours, key)).fetchone()
        return None if row is None else self._entry(row)

    def entries(self) -> tuple[LedgerEntry, ...]:
        with self._reading() as run:
            rows = run(_READ_ALL, self._ours).fetchall()
        return tuple(map(self._entry, rows))

    def debited(self, step: int | None = None) -> Reservation:
        with self._reading() as run:
            if step is None:
                row = run(_DEBITED, self._ours).fetchone()
            else:
                row = run(_DEBITED_AT, (*self._ours, step)).fetchone()
        retries, tokens, time_us, cost = map(int, row)
        return Reservation(
            step=step or 0, retries=retries, tokens=tokens, time_us=time_us, cost_microusd=cost
        )

    def lease(self, key: str, owner: str, now_us: int, ttl_us: int) -> int | None:
        with self._writing() as run:
            row = run(_LEASE, (*self._ours, key)).fetchone()
            given = grant(None if row is None else Lease(*row), owner, now_us, ttl_us)
            if given is not None:
                run(_GRANT, (*self._ours, key, *given))
        return None if given is None else given.token

    def _put(self, run: Run, entry: LedgerEntry) -> None:
        """Check the move against what is there, and write the entry whole."""
        if entry.tenant != self._ours[0]:
            raise LedgerConflictError(f"ledger: {entry.key} is of tenant {entry.tenant!r}")
        mine = (*self._ours, entry.key)
        seq, stepless, state, goal, moves, token = run(_KNOWN, mine + mine).fetchone()
        to = entry.state._value_
        if seq is None:
            check_write(None, "", 0, entry, token or 0)
            moves = f'["{to}"]'
            run(_INSERT, (*mine, entry.stepless_key, *_values(entry), moves))
            return
        self._check_moves(entry.key, state, moves)
        check_write(_BY_NAME[state], stepless, goal, entry, token or 0)
        moves = f'{moves[:-1]}, "{to}"]'
        run(_UPDATE, (*_values(entry), moves, seq))

    def _entry(self, row: Row) -> LedgerEntry:
        *values, moves = row
        fields = dict(zip(_FIELDS, values, strict=True))
        self._check_moves(fields["key"], fields["state"], moves)
        try:
            return LedgerEntry.model_validate(fields)
        except ValueError as error:
            raise self._corrupt(fields["key"], str(error)) from error

    def _check_moves(self, key: str, state: str, moves: str) -> None:
        """Every move that led to where the entry is, by table 6 once more."""
        if _ALREADY.get(moves) == state:
            return
        try:
            walked = json.loads(moves)
            before: LedgerState | None = None
            for name in walked:
                after = LedgerState(name)
                if after not in LEGAL[before]:
                    raise self._corrupt(key, f"it moved {before} -> {after}")
                before = after
        except (ValueError, TypeError, RecursionError) as error:
            if isinstance(error, LedgerCorruptError):
                raise
            raise self._corrupt(key, f"its moves are no list of states: {moves!r}") from error
        if before is None or before != state:
            raise self._corrupt(key, f"its state is {state!r}, its moves end in {before}")

    def _corrupt(self, key: str, why: str) -> LedgerCorruptError:
        return LedgerCorruptError(
            f"ledger {self._where}: the entry {key} cannot be trusted: {why}. It was altered or "
            "damaged: reconcile that write by hand, or go back to a copy of the ledger"
        )


_BY_NAME: Final = {state.value: state for state in LedgerState}

# The walks that nearly every entry takes, known to be legal.
_ALREADY: Final = {
    '["PREPARED"]': "PREPARED",
    '["PREPARED", "COMMITTED"]': "COMMITTED",
    '["PREPARED", "UNKNOWN"]': "UNKNOWN",
}


def _values(entry: LedgerEntry) -> tuple[Any, ...]:
    """The columns that a move may change; evidence as any database takes it."""
    return (
        entry.task_id,
        entry.step,
        entry.tool,
        entry.level._value_,
        entry.state._value_,
        entry.goal_version,
        entry.attempts,
        entry.evidence.replace("\x00", "\ufffd"),
        entry.fencing,
        entry.expires_us,
        entry.operation_id,
        entry.updated_us,
    )
