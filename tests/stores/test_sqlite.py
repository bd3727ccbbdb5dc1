"""The ledger in a SQLite file: durable, shared between processes, suspicious of what it reads."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.model.ledger import Reservation
from hfr_bench.model.terms import LedgerState
from hfr_bench.ports.ledger import LedgerCorruptError, LedgerUnavailableError
from hfr_bench.stores.sqlite import SqliteLedger, SqliteStore
from hfr_bench.testing.ledgers import check_store, entry

S = LedgerState
ONE = Reservation(step=1, retries=1)


@contextmanager
def opened(path: Path, durability: str = "process") -> Iterator[SqliteLedger]:
    ledger = SqliteStore(path, durability).open("tenant", "scope")
    try:
        yield ledger
    finally:
        ledger.close()


def behind_its_back(path: Path, *statements: str) -> None:
    """Alter the file as no ledger would."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("durability", ["process", "power"])
def test_it_is_a_store(tmp_path: Path, durability: str) -> None:
    check_store(lambda: SqliteStore(str(tmp_path / "made" / "ledger.db"), durability))


@pytest.mark.parametrize(("durability", "synchronous"), [("process", 1), ("power", 2)])
def test_durability_is_how_a_commit_is_synced(
    tmp_path: Path, durability: str, synchronous: int
) -> None:
    with opened(tmp_path / "l.db", durability) as ledger:
        pragmas = ("journal_mode", "synchronous")
        found = [ledger._connection.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]
    assert found == ["wal", synchronous]
    with pytest.raises(BadInputError, match="durability is process or power, not 'none'"):
        SqliteStore(tmp_path, "none")


@pytest.mark.parametrize(
    ("alteration", "why"),
    [
        ("state = 'DONE'", "its state is 'DONE', its moves end in UNKNOWN"),
        ("state = 'COMMITTED'", "its state is 'COMMITTED', its moves end in UNKNOWN"),
        ("""moves = '["PREPARED", "COMMITTED", "UNKNOWN"]'""", "it moved COMMITTED -> UNKNOWN"),
        ("""moves = '["UNKNOWN"]'""", "it moved None -> UNKNOWN"),
        ("""moves = '["PREPARED", "UNKNOWN'""", "its moves are no list of states"),
        ("moves = '7'", "its moves are no list of states"),
        ("moves = '[]'", "its moves end in None"),
        ("""moves = '["PREPARED", "LOST"]'""", "its moves are no list of states"),
    ],
)
def test_an_altered_entry_is_named_and_neither_read_nor_moved(
    tmp_path: Path, alteration: str, why: str
) -> None:
    path = tmp_path / "l.db"
    with opened(path) as ledger:
        ledger.apply(ONE, [entry(S.PREPARED), entry(S.UNKNOWN), entry(S.PREPARED, "sound")])
        behind_its_back(path, f"UPDATE hfr_entries SET {alteration} WHERE key = 'k'")
        for act in (
            lambda: ledger.get("k"),
            ledger.entries,
            lambda: ledger.apply(ONE, [entry(S.RECONCILED_COMMITTED)]),
        ):
            with pytest.raises(LedgerCorruptError) as caught:
                act()
            told = str(caught.value)
            assert why in told
            assert f"ledger {path}: the entry k cannot be trusted" in told
        assert ledger.debited().retries == 1
        assert ledger.get("sound") == entry(S.PREPARED, "sound")


@pytest.mark.parametrize("alteration", ["step = 'third'", "level = 'R9'", "attempts = 1.5"])
def test_a_value_of_another_kind_is_noticed(tmp_path: Path, alteration: str) -> None:
    path = tmp_path / "l.db"
    with opened(path) as ledger:
        ledger.apply(ONE, [entry(S.PREPARED)])
        behind_its_back(path, f"UPDATE hfr_entries SET {alteration}")
        with pytest.raises(LedgerCorruptError, match="the entry k cannot be trusted"):
            ledger.get("k")


def test_the_file_itself_refuses_a_state_that_is_none(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db") as ledger:
        ledger.apply(ONE, [entry(S.PREPARED)])
        connection = sqlite3.connect(tmp_path / "l.db")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("UPDATE hfr_entries SET state = 'DONE'")
        connection.close()


def test_a_file_that_is_no_ledger_is_told_from_one_that_cannot_be_had(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"no database at all, but long enough to look like one" * 30)
    with pytest.raises(LedgerCorruptError, match=r"garbage\.db: file is not a database"):
        SqliteStore(garbage).open("t")
    (tmp_path / "file").write_text("")
    for where in (tmp_path, tmp_path / "file" / "ledger.db"):
        with pytest.raises(LedgerUnavailableError, match="Nothing was applied; see that"):
            SqliteStore(where).open("t")


def test_tables_of_another_version_are_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db"):
        pass
    behind_its_back(tmp_path / "l.db", "PRAGMA user_version = 2")
    with pytest.raises(BadInputError, match="its tables are of version 2, this program's are of 1"):
        SqliteStore(tmp_path / "l.db").open("t")


def test_a_full_disk_applies_nothing_and_says_so(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db") as ledger:
        ledger.apply(ONE, [entry(S.PREPARED)])
        (pages,) = ledger._connection.execute("PRAGMA page_count").fetchone()
        ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
        large = entry(S.PREPARED, "large").model_copy(update={"evidence": "x" * 100_000})
        with pytest.raises(LedgerUnavailableError, match=r"l\.db: database or disk is full"):
            ledger.apply(ONE, [large])
        assert ledger.debited().retries == 1
        assert len(ledger.entries()) == 1
        ledger.apply(ONE, [entry(S.COMMITTED)])


def test_evidence_may_hold_anything(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db") as ledger:
        ledger.apply(ONE, [entry(S.PREPARED).model_copy(update={"evidence": "a\x00b'\"\n"})])
        seen = ledger.get("k")
        assert seen is not None
        assert seen.evidence == "a\ufffdb'\"\n"


RACER = """
    import sys
    from hfr_bench.model.ledger import Reservation
    from hfr_bench.model.terms import LedgerState
    from hfr_bench.recovery.ledger import LedgerConflictError
    from hfr_bench.stores.sqlite import SqliteStore
    from hfr_bench.testing.ledgers import entry

    ledger = SqliteStore(sys.argv[1]).open("tenant", "scope")
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(int(sys.argv[2])):
        try:
            ledger.apply(Reservation(step=1, retries=1), [entry(LedgerState.PREPARED, str(n))])
        except LedgerConflictError:
            continue
        print(n, flush=True)
    ledger.close()
"""


def racer(path: Path, writes: int) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", dedent(RACER), str(path), str(writes)]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True)


def test_of_two_processes_one_prepares_each_write(tmp_path: Path) -> None:
    path, writes = tmp_path / "l.db", 300
    racers = [racer(path, writes) for _ in range(2)]
    for one in racers:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in racers:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    won = [one.communicate()[0].split() for one in racers]
    assert [one.returncode for one in racers] == [0, 0]
    assert sorted(int(n) for mine in won for n in mine) == list(range(writes))
    with opened(path) as ledger:
        assert ledger.debited().retries == len(ledger.entries()) == writes


def test_what_was_applied_outlives_kill_minus_nine(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with racer(path, 100_000) as one:
        assert one.stdout is not None
        assert one.stdin is not None
        assert one.stdout.readline() == "ready\n"
        one.stdin.write("go\n")
        one.stdin.flush()
        for _ in range(50):
            one.stdout.readline()
        one.kill()
        told = 50 + len(one.stdout.read().split())
    with opened(path) as ledger:
        kept = len(ledger.entries())
        assert ledger.debited().retries == kept
        assert told <= kept <= told + 1
