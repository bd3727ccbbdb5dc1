"""The ledger in PostgreSQL: for recoverers on several machines. Needs the extra `postgres`.

One transaction at a time writes to a scope, held apart by an advisory lock that ends with it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from typing import Any

from hfr_bench.errors import BadInputError
from hfr_bench.ports.ledger import Durability, LedgerUnavailableError
from hfr_bench.stores._sql import SCHEMA_VERSION, TABLES, Row, Run, SqlLedger

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:  # psycopg itself, or the client library it needs
    if error.name is not None and error.name.partition(".")[0] != "psycopg":
        raise
    raise BadInputError(
        "the store postgres needs the extra of that name: pip install 'hfr-bench[postgres]'"
    ) from error

_SERIAL = "BIGINT GENERATED ALWAYS AS IDENTITY"
_LOCK = "SELECT pg_advisory_xact_lock(%s)"


class PostgresStore:
    """Ledgers in the database that `where` names (postgresql://… or key=value words, as libpq)."""

    def __init__(self, where: str, durability: Durability = "process") -> None:
        if durability not in ("process", "power"):
            raise BadInputError(f"durability is process or power, not {durability!r}")
        self._where, self._durability = where, durability

    def open(self, tenant: str, scope: str = "") -> "PostgresLedger":
        return PostgresLedger(self._where, tenant, scope, self._durability)


class PostgresLedger(SqlLedger):
    """One connection. After LedgerUnavailableError open another one, and look before going on."""

    def __init__(
        self, where: str, tenant: str, scope: str = "", durability: Durability = "process"
    ) -> None:
        super().__init__(_shown(where), tenant, scope)
        self._lock = (_lock_number(tenant, scope),)
        with self._told():
            self._connection = psycopg.connect(where, autocommit=True, connect_timeout=10)
        try:
            with self._told():
                self._set_up(durability)
        except BaseException:
            self._connection.close()
            raise

    def _set_up(self, durability: Durability) -> None:
        """Tables at first use. "process" leaves to the server how it syncs a commit."""
        run = self._connection.execute
        if durability == "power":
            run("SET synchronous_commit = on")
        with self._connection.transaction():
            run(_LOCK, (_lock_number("set-up"),))  # two of us may be the first
            run("CREATE TABLE IF NOT EXISTS hfr_ledger_version (version BIGINT NOT NULL)")
            found = run("SELECT version FROM hfr_ledger_version").fetchone()
            if found is None:
                for table in TABLES:
                    run(table.format(serial=_SERIAL, options="").encode())
                run("INSERT INTO hfr_ledger_version VALUES (%s)", (SCHEMA_VERSION,))
            elif found[0] != SCHEMA_VERSION:
                raise BadInputError(
                    f"ledger {self._where}: its tables are of version {found[0]}, this program's "
                    f"are of {SCHEMA_VERSION}: use the program that made it, or another database"
                )

    def _run(self, statement: str, values: Row) -> Any:
        return self._connection.execute(_marked(statement), values)

    @contextmanager
    def _reading(self) -> Iterator[Run]:
        with self._told():
            yield self._run

    @contextmanager
    def _writing(self) -> Iterator[Run]:
        with self._told(), self._connection.transaction():
            self._connection.execute(_LOCK, self._lock)
            yield self._run

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise LedgerUnavailableError(
                f"ledger {self._where}: {error}. If the connection was lost while committing, the "
                "move may be in: see that the server is up, open the ledger again and look"
            ) from error


@cache
def _marked(statement: str) -> bytes:
    """With PostgreSQL's placeholders; bytes, for they are ours, whatever they are made of."""
    return statement.replace("?", "%s").encode()


def _lock_number(*words: str) -> int:
    digest = sha256("\x00".join(("hfr_ledger", *words)).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _shown(where: str) -> str:
    """The address without its password. Raises BadInputError if it is none."""
    try:
        words = conninfo_to_dict(where)
    except psycopg.Error as error:
        raise BadInputError(
            "the address of a postgres ledger is none that libpq knows: write "
            "postgresql://user@host/name, or host=… dbname=…"
        ) from error
    return " ".join(f"{name}={value}" for name, value in words.items() if name != "password")
