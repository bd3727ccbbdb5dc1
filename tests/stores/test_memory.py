"""The ledger in memory: table 6, all of a transaction or nothing, and every thread at once."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.model.ledger import LedgerEntry, Reservation
from hfr_bench.model.terms import LedgerState
from hfr_bench.recovery.ledger import LedgerConflictError, check_move
from hfr_bench.stores.memory import MemoryLedger, MemoryStore
from hfr_bench.testing.ledgers import check_store

S = LedgerState
NOTHING = Reservation(step=1)


def entry(state: LedgerState, key: str = "k", stepless: str = "s") -> LedgerEntry:
    return LedgerEntry(
        key=key, stepless_key=stepless, tenant="t", task_id="t", step=1, tool="pay", state=state
    )


def test_it_is_a_store() -> None:
    check_store(MemoryStore)


def test_entries_are_kept_by_key_in_their_last_state() -> None:
    ledger = MemoryLedger()
    for state in (S.PREPARED, S.UNKNOWN, S.RECONCILED_ABSENT, S.PREPARED, S.COMMITTED):
        ledger.apply(NOTHING, [entry(state)])
    ledger.apply(NOTHING, [entry(S.PREPARED, "other")])
    assert [(e.key, e.state) for e in ledger.entries()] == [
        ("k", S.COMMITTED),
        ("other", S.PREPARED),
    ]
    assert ledger.get("k") == entry(S.COMMITTED)
    assert ledger.get("nobody") is None


def test_debit_and_moves_are_applied_together_or_not_at_all() -> None:
    ledger = MemoryLedger()
    ledger.apply(Reservation(step=1, retries=2), [entry(S.PREPARED)])
    with pytest.raises(LedgerConflictError):
        ledger.apply(
            Reservation(step=1, retries=1), [entry(S.PREPARED, "fresh"), entry(S.COMPENSATED)]
        )
    assert (ledger.debited().retries, len(ledger.entries())) == (2, 1)


def test_a_writer_cannot_put_itself_down_as_the_owner() -> None:
    ledger = MemoryLedger()
    boasting = entry(S.PREPARED).model_copy(update={"lease": "me", "lease_until_us": 10**9})
    ledger.apply(NOTHING, [boasting])
    seen = ledger.get("k")
    assert seen is not None
    assert (seen.lease, seen.lease_until_us) == (None, 0)
    assert ledger.lease("k", "other", 0, 1) == 1


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(LedgerState)), max_size=20))
def test_no_sequence_of_moves_gets_past_table_6(moves: list[tuple[str, LedgerState]]) -> None:
    ledger = MemoryLedger()
    now: dict[str, LedgerState] = {}
    for key, state in moves:
        try:
            check_move(now.get(key), state)
        except LedgerConflictError:
            with pytest.raises(LedgerConflictError):
                ledger.apply(NOTHING, [entry(state, key)])
        else:
            ledger.apply(NOTHING, [entry(state, key)])
            now[key] = state
    assert {e.key: e.state for e in ledger.entries()} == now


def test_of_many_threads_one_prepares_each_write() -> None:
    ledger, won = MemoryLedger(), [0, 0, 0, 0]

    def race(n: int) -> None:
        for key in range(200):
            try:
                ledger.apply(Reservation(step=1, retries=1), [entry(S.PREPARED, str(key))])
            except LedgerConflictError:
                continue
            won[n] += 1

    threads = [threading.Thread(target=race, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(won) == len(ledger.entries()) == ledger.debited().retries == 200
