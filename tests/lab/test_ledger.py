"""The ledger in memory: table 6, and all of a transaction or nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.lab.ledger import MemoryLedger
from hfr_bench.model.ledger import LedgerEntry, Reservation
from hfr_bench.model.terms import LedgerState
from hfr_bench.recovery.ledger import LedgerConflictError, check_move

S = LedgerState
NOTHING = Reservation(step=1)


def entry(state: LedgerState, key: str = "k", stepless: str = "s") -> LedgerEntry:
    return LedgerEntry(
        key=key, stepless_key=stepless, tenant="t", task_id="t", step=1, tool="pay", state=state
    )


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
    assert (ledger.debited, len(ledger.entries())) == (2, 1)


def test_two_moves_of_one_entry_in_a_transaction_are_checked_in_turn() -> None:
    ledger = MemoryLedger()
    ledger.apply(NOTHING, [entry(S.PREPARED), entry(S.COMMITTED)])
    assert ledger.get("k") == entry(S.COMMITTED)
    with pytest.raises(LedgerConflictError):
        MemoryLedger().apply(NOTHING, [entry(S.PREPARED), entry(S.PREPARED)])


def test_another_payload_under_a_key_is_a_conflict() -> None:
    ledger = MemoryLedger()
    ledger.apply(NOTHING, [entry(S.PREPARED)])
    with pytest.raises(LedgerConflictError, match="another payload"):
        ledger.apply(NOTHING, [entry(S.COMMITTED, stepless="other")])


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
