"""A trial's ledger comes from a store by name."""

from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.ledger import open_ledger
from hfr_bench.model.ledger import Reservation
from hfr_bench.model.terms import LedgerState
from hfr_bench.testing.ledgers import entry

ONE = Reservation(step=1, retries=1)


def test_a_trials_own_ledger_is_in_memory_and_a_new_one_each_time() -> None:
    first, second = open_ledger("tenant", "trial"), open_ledger("tenant", "trial")
    first.apply(ONE, [entry(LedgerState.PREPARED)])
    assert first.get("k") == entry(LedgerState.PREPARED)
    assert second.entries() == ()


def test_another_store_is_named(tmp_path: Path) -> None:
    where = str(tmp_path / "ledger.db")
    one = open_ledger("tenant", "trial", "sqlite", where)
    one.apply(ONE, [entry(LedgerState.PREPARED)])
    one.close()
    again = open_ledger("tenant", "trial", "sqlite", where)
    assert (again.get("k"), again.debited().retries) == (entry(LedgerState.PREPARED), 1)
    again.close()


def test_an_unknown_store_lists_what_there_is() -> None:
    with pytest.raises(BadInputError, match=r"unknown store 'redis'; there are: memory, .*sqlite"):
        open_ledger("t", "s", "redis")
