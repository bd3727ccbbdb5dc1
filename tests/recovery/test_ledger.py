"""Table 6 and idempotency keys."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.errors import HfrError
from hfr_bench.model.terms import LedgerState
from hfr_bench.recovery.ledger import LEGAL, LedgerConflictError, check_move, idempotency_key

S = LedgerState
TABLE_6 = {
    (None, S.PREPARED),
    (S.PREPARED, S.COMMITTED),
    (S.PREPARED, S.FAILED),
    (S.PREPARED, S.UNKNOWN),
    (S.COMMITTED, S.COMPENSATED),
    (S.FAILED, S.PREPARED),
    (S.UNKNOWN, S.RECONCILED_COMMITTED),
    (S.UNKNOWN, S.RECONCILED_ABSENT),
    (S.RECONCILED_COMMITTED, S.COMPENSATED),
    (S.RECONCILED_ABSENT, S.PREPARED),
}


@pytest.mark.parametrize("after", LedgerState)
@pytest.mark.parametrize("before", [None, *LedgerState])
def test_only_the_moves_of_table_6_are_legal(before: S | None, after: S) -> None:
    if (before, after) in TABLE_6:
        check_move(before, after)
    else:
        with pytest.raises(LedgerConflictError, match=f"{before} -> {after} is illegal"):
            check_move(before, after)


def test_an_unknown_outcome_leads_to_a_new_attempt_only_through_absent() -> None:
    assert LEGAL[S.UNKNOWN] == {S.RECONCILED_COMMITTED, S.RECONCILED_ABSENT}
    into_prepared = {before for before, after in TABLE_6 if after is S.PREPARED}
    assert into_prepared == {None, S.FAILED, S.RECONCILED_ABSENT}


def test_a_conflict_is_an_error_of_ours_and_a_value_error() -> None:
    assert issubclass(LedgerConflictError, HfrError)
    assert issubclass(LedgerConflictError, ValueError)


values = st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=4)
arguments = st.dictionaries(st.text(max_size=4), values, max_size=4)


@settings(deadline=None)
@given(arguments, st.integers(0, 9))
def test_all_retries_of_a_write_share_its_key(args: dict[str, object], step: int) -> None:
    key = idempotency_key("t", "task", step, "pay", args)
    assert key == idempotency_key("t", "task", step, "pay", dict(reversed(args.items())))
    assert len(key) == 64


def test_everything_in_the_key_counts_and_numbers_are_written_one_way() -> None:
    keys = {
        idempotency_key(tenant, task, step, tool, {"a": n})
        for tenant in "xy"
        for task in "xy"
        for step in (None, 1, 2)
        for tool in "xy"
        for n in (1, 2)
    }
    assert len(keys) == 48
    one, float_one = (idempotency_key("t", "t", 1, "pay", {"a": n}) for n in (1, 1.0))
    assert one == float_one


def test_parts_of_the_key_do_not_run_together() -> None:
    assert idempotency_key("ab", "c", 1, "t", {}) != idempotency_key("a", "bc", 1, "t", {})
