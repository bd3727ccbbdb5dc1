"""What a ledger store must do (`ports.ledger`), as a function that raises ConformanceError.

def test_my_store(tmp_path):
    check_store(lambda: MyStore(str(tmp_path / "ledger")))
"""

from collections.abc import Callable
from itertools import count, product

from hfr_bench.model.ledger import LedgerEntry, Reservation
from hfr_bench.model.terms import LedgerState, SideEffect
from hfr_bench.ports.ledger import Ledger, LedgerStore
from hfr_bench.recovery.ledger import LEGAL, LedgerConflictError, StaleTokenError
from hfr_bench.testing.conformance import ConformanceError

_S = LedgerState
NOTHING = Reservation(step=1)

# A walk that brings an entry into each state, by table 6.
WALKS: dict[LedgerState | None, tuple[LedgerState, ...]] = {
    None: (),
    _S.PREPARED: (_S.PREPARED,),
    _S.COMMITTED: (_S.PREPARED, _S.COMMITTED),
    _S.FAILED: (_S.PREPARED, _S.FAILED),
    _S.UNKNOWN: (_S.PREPARED, _S.UNKNOWN),
    _S.RECONCILED_COMMITTED: (_S.PREPARED, _S.UNKNOWN, _S.RECONCILED_COMMITTED),
    _S.RECONCILED_ABSENT: (_S.PREPARED, _S.UNKNOWN, _S.RECONCILED_ABSENT),
    _S.COMPENSATED: (_S.PREPARED, _S.COMMITTED, _S.COMPENSATED),
}


def entry(
    state: LedgerState,
    key: str = "k",
    stepless: str = "s",
    *,
    tenant: str = "tenant",
    fencing: int = 0,
    goal_version: int = 1,
) -> LedgerEntry:
    """An entry with every field that a store must keep set to something of its own."""
    return LedgerEntry(
        key=key,
        stepless_key=stepless,
        tenant=tenant,
        task_id="task",
        step=3,
        tool="pay",
        level=SideEffect.IDEMPOTENT,
        state=state,
        goal_version=goal_version,
        attempts=2,
        evidence="HTTP 504 — „späte“ Antwort\n",
        fencing=fencing,
        expires_us=9_000_000,
        operation_id="op.7",
        updated_us=1_234_567,
    )


def check_store(make: Callable[[], LedgerStore]) -> None:
    """Every promise of `ports.ledger.Ledger`, in scopes of their own; `make`: an empty store."""
    store = make()
    scopes = (f"scope-{n}" for n in count())

    def fresh() -> Ledger:
        return store.open("tenant", next(scopes))

    for check in (_moves, _transactions, _payloads_and_goals, _debits, _leases, _order):
        ledger = fresh()
        check(ledger)
        ledger.close()
        ledger.close()
    for before, after in product(WALKS, _S):
        ledger = fresh()
        _one_move(ledger, before, after)
        ledger.close()
    _isolation(store)
    _two_at_once(store)


def _one_move(ledger: Ledger, before: LedgerState | None, after: LedgerState) -> None:
    for state in WALKS[before]:
        ledger.apply(NOTHING, [entry(state)])
    if after in LEGAL[before]:
        ledger.apply(NOTHING, [entry(after)])
        _same(ledger.get("k"), entry(after), f"after {before} -> {after}")
        return
    _refuses(ledger, [entry(after)], f"{before} -> {after}, which table 6 forbids")
    _same(ledger.get("k"), entry(before) if before else None, "after a refused move")


def _moves(ledger: Ledger) -> None:
    _same(ledger.get("k"), None, "of a key that was never written")
    walk = (_S.PREPARED, _S.UNKNOWN, _S.RECONCILED_ABSENT, _S.PREPARED, _S.COMMITTED)
    ledger.apply(NOTHING, [entry(state) for state in walk[:2]])
    for state in walk[2:]:
        ledger.apply(NOTHING, [entry(state)])
    _same(ledger.get("k"), entry(_S.COMMITTED), "after a long walk")


def _transactions(ledger: Ledger) -> None:
    ledger.apply(Reservation(step=1, retries=2), [entry(_S.PREPARED)])
    spent = ledger.debited()
    mixed = [entry(_S.PREPARED, "fresh"), entry(_S.COMPENSATED)]
    _refuses(ledger, mixed, "a transaction whose second move is illegal", retries=1)
    twice = [entry(_S.PREPARED, "twice"), entry(_S.PREPARED, "twice")]
    _refuses(ledger, twice, "two moves of one key that do not follow each other")
    _same(ledger.entries(), (entry(_S.PREPARED),), "after refused transactions")
    _same(ledger.debited(), spent, "debits after refused transactions")


def _payloads_and_goals(ledger: Ledger) -> None:
    ledger.apply(NOTHING, [entry(_S.PREPARED, goal_version=1)])
    _refuses(ledger, [entry(_S.COMMITTED, stepless="other")], "another payload under the key")
    _refuses(ledger, [entry(_S.COMMITTED, tenant="other")], "an entry of another tenant")
    _refuses(ledger, [entry(_S.COMMITTED, goal_version=2)], "a receipt for a goal it is not of")
    ledger.apply(NOTHING, [entry(_S.FAILED)])
    ledger.apply(NOTHING, [entry(_S.PREPARED, goal_version=2)])
    _refuses(ledger, [entry(_S.COMMITTED, goal_version=1)], "a move back to an older goal")


def _debits(ledger: Ledger) -> None:
    _same(ledger.debited(), Reservation(step=0), "debits of nobody")
    some = Reservation(step=1, retries=1, tokens=10, time_us=100, cost_microusd=1000)
    for step in (1, 1, 2):
        ledger.apply(some.model_copy(update={"step": step}), ())
    two = Reservation(step=1, retries=2, tokens=20, time_us=200, cost_microusd=2000)
    _same(ledger.debited(1), two, "debits of step 1")
    _same(ledger.debited(9).retries, 0, "debits of a step without any")
    _same(ledger.debited().model_dump()["cost_microusd"], 3000, "the sum of all debits")


def _leases(ledger: Ledger) -> None:
    """One owner at a time, tokens that grow, and no write under an old one."""
    _same(ledger.lease("k", "a", 100, 50), 1, "the first lease")
    _same(ledger.lease("k", "b", 149, 50), None, "another's lease while one runs")
    _same(ledger.lease("k", "a", 140, 50), 1, "a lease renewed in time")
    _refuses(ledger, [entry(_S.PREPARED)], "a write without the token of a granted lease")
    ledger.apply(NOTHING, [entry(_S.PREPARED, fencing=1)])
    seen = ledger.get("k")
    _same(seen and (seen.lease, seen.lease_until_us, seen.fencing), ("a", 190, 1), "a leased entry")
    _same(ledger.lease("k", "b", 190, 50), 2, "a lease that has run out, taken by another")
    stale = [entry(_S.COMMITTED, fencing=1)]
    _refuses(ledger, stale, "a write under a stale token", kind=StaleTokenError)
    _refuses(ledger, [entry(_S.COMMITTED, fencing=3)], "a token that nobody was given")
    ledger.apply(NOTHING, [entry(_S.UNKNOWN, fencing=2)])
    _same(ledger.lease("k", "b", 200, 0), 2, "a lease given back")
    _same(ledger.lease("k", "b", 200, 10), 3, "a lease taken again after it ended")
    _same(ledger.lease("other", "c", 200, 10), 1, "the lease of a key never written")
    _same([e.lease for e in ledger.entries()], ["b"], "the leases of all entries")


def _order(ledger: Ledger) -> None:
    for key in ("z", "a", "m"):
        ledger.apply(NOTHING, [entry(_S.PREPARED, key)])
    ledger.apply(NOTHING, [entry(_S.COMMITTED, "z")])
    _same([e.key for e in ledger.entries()], ["z", "a", "m"], "the order of the entries")


def _isolation(store: LedgerStore) -> None:
    """The same key at another tenant or in another scope is another write."""
    places = (("one", "x"), ("two", "x"), ("one", "y"))
    ledgers = [store.open(tenant, scope) for tenant, scope in places]
    for n, (ledger, (tenant, _)) in enumerate(zip(ledgers, places, strict=True), 1):
        _same(ledger.get("k"), None, f"another's entry, from {tenant}")
        _same(ledger.entries(), (), f"others' entries, from {tenant}")
        ledger.apply(Reservation(step=1, retries=n), [entry(_S.PREPARED, tenant=tenant)])
        _same(ledger.debited().retries, n, f"the debits of {tenant}")
        _same(ledger.lease("k", "me", 0, 10), 1, f"the lease of {tenant}")
    for ledger in ledgers:
        ledger.close()


def _two_at_once(store: LedgerStore) -> None:
    """Two ledgers of one scope see each other's writes and are refused what they make illegal."""
    one, two = store.open("tenant", "shared"), store.open("tenant", "shared")
    one.apply(Reservation(step=1, retries=1), [entry(_S.PREPARED)])
    _same(two.get("k"), entry(_S.PREPARED), "what the other ledger wrote")
    _refuses(two, [entry(_S.PREPARED)], "a PREPARED that the other has written already")
    two.apply(Reservation(step=1, retries=1), [entry(_S.COMMITTED)])
    _refuses(one, [entry(_S.UNKNOWN)], "a timeout of what the other has committed")
    _same(one.debited().retries, 2, "the debits of both")
    _same(one.lease("k", "one", 0, 10), 1, "a lease")
    _same(two.lease("k", "two", 5, 10), None, "a lease that the other ledger's owner holds")
    one.close()
    two.close()
    again = store.open("tenant", "shared")
    _same(again.debited().retries, 2, "the debits once all ledgers were closed")
    seen = again.get("k")
    _same(seen and (seen.state, seen.lease), (_S.COMMITTED, "one"), "an entry, opened again")
    again.close()


def _refuses(
    ledger: Ledger,
    entries: list[LedgerEntry],
    what: str,
    *,
    retries: int = 0,
    kind: type[LedgerConflictError] = LedgerConflictError,
) -> None:
    try:
        ledger.apply(Reservation(step=1, retries=retries), entries)
    except kind:
        return
    except Exception as error:
        raise ConformanceError(f"{what}: {type(error).__name__}, not {kind.__name__}") from error
    raise ConformanceError(f"it takes {what}")


def _same(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise ConformanceError(f"{what}: {found!r}, not {wanted!r}")
