"""The watched tables alone, on a small database of our own (no tau2 needed)."""

import hashlib
import json

import pytest
from pydantic import BaseModel

from hfr_bench.suites.tau2.host.states import TableState


class Row(BaseModel):
    """A row with something mutable inside."""

    amount: float = 0
    tags: dict[str, int] = {}


class Database(BaseModel):
    """Two tables."""

    users: dict[str, Row]
    orders: dict[str, Row]


class Toolkit:
    """What the state needs of a toolkit: a `db`."""

    def __init__(self):
        self.db = Database(
            users={"u1": Row(tags={"a": 1, "b": 2}), "u2": Row()}, orders={"o1": Row(amount=5)}
        )

    def full_hash(self):
        return hashlib.sha256(json.dumps(self.db.model_dump(), sort_keys=True).encode()).hexdigest()


def table_state(kit):
    """Watch the kit's tables, as a domain does."""
    state = TableState(kit.db, {"users": kit.db.users, "orders": kit.db.orders})
    for name, table in state.tables.items():
        setattr(kit.db, name, table)
    return state


def mutate_in_place(db):
    db.users["u1"].tags["a"] = 9


def reorder_keys(db):
    tags = db.users["u1"].tags
    tags["a"] = tags.pop("a")


def integer_for_float(db):
    db.orders["o1"].amount = 5


def add(db):
    db.orders["o2"] = Row(amount=1)


def remove(db):
    del db.users["u2"]


def pop(db):
    db.users.pop("u2")


def replace(db):
    db.users["u2"] = Row(amount=3)


def scan_and_change(db):
    for row in db.users.values():
        row.amount += 1


def scan_items_and_change(db):
    for _, row in db.users.items():  # noqa: PERF102 both ways of scanning
        row.amount += 2


def get_and_change(db):
    db.users.get("u2").amount = 7


CHANGES = {
    mutate_in_place: ["users/u1"],
    add: ["orders/o2"],
    remove: ["users/u2"],
    pop: ["users/u2"],
    replace: ["users/u2"],
    scan_and_change: ["users/u1", "users/u2"],
    scan_items_and_change: ["users/u1", "users/u2"],
    get_and_change: ["users/u2"],
    integer_for_float: ["orders/o1"],
    reorder_keys: [],
    lambda db: db.users["u1"]: [],
    lambda db: db.users.get("nobody"): [],
    lambda db: db.users.pop("nobody", None): [],
}


@pytest.mark.parametrize(("change", "rows"), CHANGES.items())
def test_changes_are_seen_digested_and_undone(change, rows):
    kit = Toolkit()
    state = table_state(kit)
    pristine, full = state.digest(), kit.full_hash()
    assert state.pristine == full
    for _ in range(2):
        state.begin(writing=True)
        change(kit.db)
        assert state.end() == rows
        assert (state.digest() == pristine) is (not rows)
        assert (kit.full_hash() == full) is (not rows)
        state.reset()
        assert state.digest() == pristine
        assert kit.full_hash() == full


def test_the_same_state_has_one_digest_whatever_the_way():
    digests = set()
    for steps in ([add, pop], [pop, add], [add, remove, replace, pop]):
        kit = Toolkit()
        state = table_state(kit)
        for step in steps:
            state.begin(writing=True)
            step(kit.db)
            state.end()
        digests.add((state.digest(), kit.full_hash()))
    assert len(digests) == 1


def test_changing_back_is_no_change():
    kit = Toolkit()
    state = table_state(kit)
    pristine = state.digest()
    for amount in (8.0, 5.0):
        state.begin(writing=True)
        kit.db.orders["o1"].amount = amount
        assert state.end() == ["orders/o1"]
    assert state.digest() == pristine


def test_read_tools_are_trusted_to_read():
    kit = Toolkit()
    state = table_state(kit)
    pristine = state.digest()
    state.begin(writing=False)
    for row in kit.db.users.values():  # scanned by a "read" that writes all the same
        row.amount = 1
    assert state.end() == []
    assert kit.full_hash() != state.pristine
    assert state.digest() == pristine  # the limit that `touch_all` states
