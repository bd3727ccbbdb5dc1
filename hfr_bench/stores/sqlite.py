"""The ledger in a SQLite file: the default where a ledger must outlive its process.

WAL, so that readers and the one writer do not wait for each other; every write transaction takes
the write lock at its start, so that what it checks is what it writes over. Processes and threads
may share the file (on a local disk: WAL needs shared memory), each with a ledger of its own.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hfr_bench.errors import BadInputError
from hfr_bench.ports.ledger import Durability, LedgerCorruptError, LedgerUnavailableError
from hfr_bench.stores._sql import SCHEMA_VERSION, TABLES, Run, SqlLedger

PATIENCE_S = 10.0
"""How long a writer waits for another one."""

# "process": a commit is in the file's log, which the kernel keeps when we die. "power": and synced.
_SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}


class SqliteStore:
    """Ledgers in the file `where`, made with its folder at first use."""

    def __init__(self, where: str | Path, durability: Durability = "process") -> None:
        if durability not in _SYNCHRONOUS:
            raise BadInputError(f"durability is process or power, not {durability!r}")
        self._path, self._durability = Path(where), durability

    def open(self, tenant: str, scope: str = "") -> "SqliteLedger":
        return SqliteLedger(self._path, tenant, scope, self._durability)


class SqliteLedger(SqlLedger):
    """One connection, used by the thread that made it."""

    def __init__(
        self, path: Path, tenant: str, scope: str = "", durability: Durability = "process"
    ) -> None:
        super().__init__(str(path), tenant, scope)
        with self._told():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=PATIENCE_S, isolation_level=None)
            try:
                self._set_up(_SYNCHRONOUS[durability])
            except BaseException:
                self._connection.close()
                raise

    def _set_up(self, synchronous: str) -> None:
        run = self._connection.execute
        self._to_wal()
        run(f"PRAGMA synchronous = {synchronous}")
        run("BEGIN IMMEDIATE")  # two processes may make the file at once
        (version,) = run("PRAGMA user_version").fetchone()
        if version == 0:
            for table in TABLES:
                run(table.format(serial="INTEGER PRIMARY KEY", options=""))
            run(f"PRAGMA user_version = {SCHEMA_VERSION}")
        run("COMMIT")
        if version not in (0, SCHEMA_VERSION):
            raise BadInputError(
                f"ledger {self._where}: its tables are of version {version}, this program's are "
                f"of {SCHEMA_VERSION}: use the program that made it, or another file"
            )

    def _to_wal(self) -> None:
        """SQLite does not wait for this lock by itself when two open a new file at once."""
        until_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until_s:
                    raise
                time.sleep(0.005)

    @contextmanager
    def _reading(self) -> Iterator[Run]:
        with self._told():
            yield self._connection.execute

    @contextmanager
    def _writing(self) -> Iterator[Run]:
        run = self._connection.execute
        try:
            run("BEGIN IMMEDIATE")
            yield run
            run("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                run("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self._failed(error) from error
            raise

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, LedgerUnavailableError):
                raise
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> LedgerUnavailableError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return LedgerCorruptError(
                f"ledger {self._where}: {error}. It is damaged or no ledger at all: go back to a "
                "copy of it, or name another file"
            )
        return LedgerUnavailableError(
            f"ledger {self._where}: {error}. Nothing was applied; see that the folder is there, "
            "writable and not full, and that no other process keeps the file locked"
        )
