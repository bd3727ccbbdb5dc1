"""Table 6, idempotency keys, the reconcile protocol, leases and fencing."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.errors import HfrError
from hfr_bench.model.attempt import Known
from hfr_bench.model.ledger import LedgerEntry
from hfr_bench.model.terms import Landed, LedgerState, SideEffect
from hfr_bench.recovery.ledger import (
    LEGAL,
    Lease,
    LedgerConflictError,
    Next,
    StaleTokenError,
    check_move,
    check_write,
    compensation_key,
    grant,
    idempotency_key,
    is_expired,
    is_settled,
    may_act,
    protocol,
    replay,
    settle,
)

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


def test_the_business_intent_counts_and_a_step_number_is_not_it() -> None:
    plain = idempotency_key("t", "task", 1, "pay", {"a": 1})
    one, two = (idempotency_key("t", "task", 1, "pay", {"a": 1}, intent) for intent in "xy")
    assert len({plain, one, two}) == 3
    assert idempotency_key("t", "task", None, "pay", {}, "1") != idempotency_key(
        "t", "task", 1, "pay", {}
    )
    with pytest.raises(ValueError, match="NUL"):
        idempotency_key("t", "task", 1, "pay\x00x", {})


def test_the_key_can_be_recomputed_by_anyone() -> None:
    """RFC 8785: keys sorted by UTF-16, numbers one way, nothing escaped that need not be."""
    text = 't\x00task\x001\x00pay\x00buy-7\x00{"a":1,"b":"é","c":[0.5,null]}'
    arguments = {"c": [0.50, None], "b": "é", "a": 1.0}
    wanted = hashlib.sha256(text.encode()).hexdigest()
    assert idempotency_key("t", "task", 1, "pay", arguments, "buy-7") == wanted


def test_undoing_has_a_key_of_its_own_and_always_the_same() -> None:
    keys = {compensation_key("a"), compensation_key("b"), compensation_key(compensation_key("a"))}
    assert len(keys | {"a", "b"}) == 5
    assert compensation_key("a") == compensation_key("a")


# -- the reconcile protocol ------------------------------------------------------------------------

COMMITTED = (S.COMMITTED, S.RECONCILED_COMMITTED)
states = st.sampled_from([None, *S])


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("same", [False, True])
def test_the_seeds_five_answers(same: bool, absent: bool) -> None:
    """R(k, p, L, d) word for word, for its own two states and for a key that is not there."""
    assert protocol(None, same, absent) == ("dispatch" if absent else "query")
    for state in COMMITTED:
        assert protocol(state, same, absent) == ("verify" if same else "conflict")
    assert protocol(S.PREPARED, same, absent) == ("wait" if same else "conflict")


def test_the_states_that_the_seed_does_not_have() -> None:
    assert protocol(S.PREPARED, True, False, held=False) is Next.QUERY
    assert protocol(S.UNKNOWN, True, True) is Next.QUERY
    assert protocol(S.FAILED, True, False) is Next.DISPATCH
    assert protocol(S.RECONCILED_ABSENT, True, False) is Next.DISPATCH
    assert protocol(S.COMPENSATED, True, True) is Next.VERIFY


@given(states, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_what_is_dispatched_may_be_prepared_and_is_nowhere(
    state: S | None, same: bool, absent: bool, expired: bool, held: bool
) -> None:
    chosen = protocol(state, same, absent, expired=expired, held=held)
    if chosen is Next.DISPATCH:
        assert S.PREPARED in LEGAL[state]
        assert absent or (state is not None and not expired)
    if state is not None and not same:
        assert chosen is Next.CONFLICT
    if state in COMMITTED and same:
        assert chosen is Next.VERIFY


def test_a_key_expires_when_it_is_told_to() -> None:
    assert not is_expired(None, 10**12)
    assert [is_expired(100, now) for now in (99, 100)] == [False, True]
    for state in (S.FAILED, S.RECONCILED_ABSENT):
        assert protocol(state, True, False, expired=True) is Next.QUERY
        assert protocol(state, True, True, expired=True) is Next.DISPATCH


def test_absent_counts_only_after_the_settle_window() -> None:
    assert not is_settled(None, 10**12, 0)
    assert is_settled(100, 100, 0)
    assert [is_settled(100, now, 50) for now in (100, 149, 150)] == [False, False, True]


@pytest.mark.parametrize("landed", Landed)
@pytest.mark.parametrize("state", S)
def test_a_late_receipt_settles_what_is_open_and_contradicts_nothing(state: S, landed: Landed):
    opened = {
        (S.PREPARED, Landed.COMMITTED): S.COMMITTED,
        (S.PREPARED, Landed.ABSENT): S.FAILED,
        (S.UNKNOWN, Landed.COMMITTED): S.RECONCILED_COMMITTED,
        (S.UNKNOWN, Landed.ABSENT): S.RECONCILED_ABSENT,
    }
    contradicted = {
        *((state, Landed.ABSENT) for state in COMMITTED),
        *((state, Landed.COMMITTED) for state in (S.FAILED, S.RECONCILED_ABSENT)),
    }
    if (state, landed) in contradicted:
        with pytest.raises(LedgerConflictError, match=f"says {landed} of a write that is {state}"):
            settle(state, landed)
        return
    moved = settle(state, landed)
    assert moved == opened.get((state, landed))
    if moved is not None:
        check_move(state, moved)


def test_recovery_hears_every_entry_as_it_stands() -> None:
    one = entry(S.UNKNOWN).model_copy(update={"goal_version": 4})
    assert replay([one]) == (Known("k", "s", S.UNKNOWN, "pay", SideEffect.QUERYABLE, 4),)


# -- leases ----------------------------------------------------------------------------------------


def entry(state: S, fencing: int = 0, stepless: str = "s", goal: int = 1) -> LedgerEntry:
    return LedgerEntry(
        key="k",
        stepless_key=stepless,
        tenant="t",
        task_id="t",
        step=1,
        tool="pay",
        state=state,
        fencing=fencing,
        goal_version=goal,
    )


owners = st.sampled_from("abc")
asked = st.lists(st.tuples(owners, st.integers(0, 20), st.integers(0, 30)), max_size=20)


@given(asked)
def test_tokens_only_grow_and_no_two_owners_hold_one(asks: list[tuple[str, int, int]]) -> None:
    lease: Lease | None = None
    now, given_to = 0, {}
    for owner, later, ttl in asks:
        now += later
        given = grant(lease, owner, now, ttl)
        if given is None:
            assert lease is not None
            assert lease.owner != owner
            assert now < lease.until_us
            continue
        assert given.until_us == now + ttl
        assert given.token >= (lease.token if lease else 1)
        assert given_to.setdefault(given.token, owner) == owner
        if lease is not None and now >= lease.until_us:
            assert given.token > lease.token
        lease = given


def test_a_lease_needs_an_owner_and_a_time() -> None:
    for owner, ttl in (("", 1), ("a", -1)):
        with pytest.raises(ValueError, match="a lease needs"):
            grant(None, owner, 0, ttl)


def test_who_may_act() -> None:
    held = entry(S.PREPARED).model_copy(update={"lease": "a", "lease_until_us": 100})
    assert may_act(entry(S.PREPARED), "b", 0)
    assert may_act(held, "a", 50)
    assert [may_act(held, "b", now) for now in (99, 100)] == [False, True]


def test_a_write_under_a_stale_token_is_refused_before_all_else() -> None:
    check_write(None, "", 0, entry(S.PREPARED, 2), 2)
    for fencing in (0, 1, 3):
        with pytest.raises(StaleTokenError, match="is not the last one, 2"):
            check_write(S.PREPARED, "s", 1, entry(S.COMMITTED, fencing), 2)


def test_a_write_keeps_its_payload_and_its_goal() -> None:
    check_write(S.FAILED, "s", 2, entry(S.PREPARED, goal=3), 0)
    with pytest.raises(LedgerConflictError, match="another payload"):
        check_write(S.FAILED, "s", 2, entry(S.PREPARED, stepless="x", goal=2), 0)
    with pytest.raises(LedgerConflictError, match="of goal 2, it cannot move in 1"):
        check_write(S.FAILED, "s", 2, entry(S.PREPARED, goal=1), 0)
    with pytest.raises(LedgerConflictError, match="of goal 2, it cannot move in 3"):
        check_write(S.UNKNOWN, "s", 2, entry(S.RECONCILED_COMMITTED, goal=3), 0)
