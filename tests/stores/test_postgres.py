"""The ledger in PostgreSQL, against a real server."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from hfr_bench.errors import BadInputError
from hfr_bench.model.ledger import Reservation
from hfr_bench.model.terms import LedgerState
from hfr_bench.ports.ledger import LedgerCorruptError, LedgerUnavailableError
from hfr_bench.recovery.ledger import LedgerConflictError
from hfr_bench.stores.postgres import PostgresStore
from hfr_bench.testing.ledgers import check_store, entry

S = LedgerState
ONE = Reservation(step=1, retries=1)


@pytest.fixture
def database(postgres: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a database of the test's own."""
    name = f"of_{abs(hash(request.node.name))}"
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield postgres.rsplit("/", 1)[0] + "/" + name
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("durability", ["process", "power"])
def test_it_is_a_store(database: str, durability: str) -> None:
    check_store(lambda: PostgresStore(database, durability))


def test_an_altered_entry_is_named(database: str) -> None:
    ledger = PostgresStore(database).open("tenant", "scope")
    ledger.apply(ONE, [entry(S.PREPARED), entry(S.PREPARED, "sound")])
    with psycopg.connect(database, autocommit=True) as other:
        with pytest.raises(psycopg.errors.CheckViolation):
            other.execute("UPDATE hfr_entries SET state = 'DONE'")
        other.execute("UPDATE hfr_entries SET state = 'COMMITTED' WHERE key = 'k'")
    with pytest.raises(
        LedgerCorruptError, match=r"ledger .*dbname=of_\d+ .*: the entry k cannot be"
    ):
        ledger.get("k")
    with pytest.raises(LedgerCorruptError, match="its moves end in PREPARED"):
        ledger.apply(ONE, [entry(S.COMPENSATED)])
    assert ledger.get("sound") == entry(S.PREPARED, "sound")
    ledger.close()


def test_evidence_may_hold_what_postgresql_does_not(database: str) -> None:
    ledger = PostgresStore(database).open("tenant")
    ledger.apply(ONE, [entry(S.PREPARED).model_copy(update={"evidence": "a\x00b"})])
    seen = ledger.get("k")
    assert seen is not None
    assert seen.evidence == "a\ufffdb"
    ledger.close()


def test_of_many_connections_one_prepares_each_write(database: str) -> None:
    won = [0] * 4

    def race(n: int) -> None:
        ledger = PostgresStore(database).open("tenant", "scope")
        for key in range(60):
            try:
                ledger.apply(ONE, [entry(S.PREPARED, str(key)), entry(S.PREPARED, f"{key}'")])
            except LedgerConflictError:
                continue
            won[n] += 1
        ledger.close()

    threads = [threading.Thread(target=race, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = PostgresStore(database).open("tenant", "scope")
    assert sum(won) == ledger.debited().retries == 60
    assert len(ledger.entries()) == 120
    ledger.close()


def test_a_lost_connection_is_told_without_the_password(database: str) -> None:
    secret = str(conninfo_to_dict(database)["password"])
    ledger = PostgresStore(database).open("tenant")
    with psycopg.connect(database, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    with pytest.raises(LedgerUnavailableError, match="open the ledger again and look") as caught:
        ledger.apply(ONE, [entry(S.PREPARED)])
    assert secret not in str(caught.value)
    ledger.close()
    again = PostgresStore(database).open("tenant")
    assert again.entries() == ()
    again.close()


def test_a_server_that_is_not_there(postgres: str) -> None:
    words = "host=127.0.0.1 port=1 dbname=x user=me password=hush"
    with pytest.raises(LedgerUnavailableError, match="port=1") as caught:
        PostgresStore(words).open("tenant")
    assert "hush" not in str(caught.value)
    with pytest.raises(BadInputError, match=r"write postgresql://"):
        PostgresStore("somewhere nice").open("tenant")
    with pytest.raises(BadInputError, match="durability is process or power"):
        PostgresStore(words, "none")


def test_tables_of_another_version_are_left_alone(database: str) -> None:
    PostgresStore(database).open("tenant").close()
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("UPDATE hfr_ledger_version SET version = 2")
    with pytest.raises(BadInputError, match="its tables are of version 2, this program's are of 1"):
        PostgresStore(database).open("tenant")


def test_without_the_driver_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise ImportError('no pq wrapper available')")
    find = "from hfr_bench import plugins; plugins.find('stores', 'postgres')"
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {find}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "BadInputError: the store postgres needs the extra of that name" in done.stderr
    assert "pip install 'hfr-bench[postgres]'" in done.stderr
