"""What changed in the sites' database: an effect's natural key, and whether all is as wanted. Pure.

A **change** is a row before and after: {table, key, was, is}. An effect is known by its table and
by the columns that identify the row (`effects` in suite.yaml); of several changed tables the one
that is listed first names it. Adding to the cart is one effect however much lies there already.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hfr_bench.model.record import digest

Change = Mapping[str, Any]
Identity = Mapping[str, Sequence[str]]

PILES = frozenset({"shop_cart"})
"""Tables whose rows hold how much there is: a row changed is the same effect as a row added."""
PARENT = "forum_submissions"
"""Its rows take their comments and votes with them."""


def natural_key(changes: Sequence[Change], identity: Identity) -> str:
    """The natural key of what an action did; "" if that is nothing that is listed."""
    for table in identity:
        mine = [change for change in changes if change["table"] == table]
        added = [change for change in mine if change["was"] is None]
        if chosen := (added or mine):
            return _key(chosen[0], identity)
    return ""


def wanted_key(table: str, row: Mapping[str, Any], identity: Identity) -> str:
    """The natural key of a row that is added, or that a pile gets more of."""
    return digest([table, {name: row.get(name) for name in identity[table]}])


def set_key(table: str, row: Mapping[str, Any], columns: Sequence[str], identity: Identity) -> str:
    """The natural key of a row's change in these columns. `row`: as it was."""
    named = {name: row.get(name) for name in identity[table]}
    return digest([table, named, "set", sorted(columns)])


def drop_key(table: str, row: Mapping[str, Any], identity: Identity) -> str:
    """The natural key of a row's removal."""
    return digest([table, {name: row.get(name) for name in identity[table]}, "drop"])


def _key(change: Change, identity: Identity) -> str:
    table, was, now = change["table"], change["was"], change["is"]
    if now is None:
        return drop_key(table, was, identity)
    if was is None or table in PILES:
        return wanted_key(table, now, identity)
    return set_key(table, was, [name for name in now if now[name] != was[name]], identity)


def differences(
    first: Mapping[str, Sequence[Mapping[str, Any]]], now: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[Change]:
    """How two states of the database differ. The first column of a row is its key."""
    found: list[Change] = []
    for table, rows in now.items():
        old = {next(iter(row.values())): row for row in first.get(table, ())}
        new = {next(iter(row.values())): row for row in rows}
        for key in sorted(old.keys() | new.keys(), key=str):
            if old.get(key) != new.get(key):
                change = {"table": table, "key": key, "was": old.get(key), "is": new.get(key)}
                found.append(change)
    return found


def as_wanted(changes: Sequence[Change], wanted: Mapping[str, Any]) -> tuple[str, ...]:
    """What is not as a task's `state` says, in words; empty if all is.

    Rows that go with another one (a removed submission's votes) need not be named.
    """
    adds = [(table, row) for table, rows in wanted.get("add", {}).items() for row in rows]
    sets = _by_row(wanted.get("set", {}))
    drops = {(table, str(key)) for table, keys in wanted.get("drop", {}).items() for key in keys}
    gone, wrong = frozenset(drops), []
    for change in changes:
        at, was, now = (change["table"], str(change["key"])), change["was"], change["is"]
        name = "/".join(at)
        if now is None:
            if at not in drops and (PARENT, str(was.get("submission"))) not in gone:
                wrong.append(f"{name} is gone")
            drops.discard(at)
        elif was is None:
            fits = next((one for one in adds if one[0] == at[0] and _fits(one[1], now)), None)
            if fits is None:
                wrong.append(f"{name} is too much")
            else:
                adds.remove(fits)
        else:
            moved = {column: now[column] for column in now if now[column] != was[column]}
            if moved != sets.pop(at, None):
                wrong.append(f"{name} is not as wanted: {moved}")
    wrong += [f"{table} lacks {dict(row)}" for table, row in adds]
    wrong += [f"{'/'.join(at)} is not set" for at in sets]
    wrong += [f"{'/'.join(at)} is still there" for at in sorted(drops)]
    return tuple(wrong)


def _by_row(tables: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    return {(table, str(key)): row for table, rows in tables.items() for key, row in rows.items()}


def _fits(wanted: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return all(row.get(name) == value for name, value in wanted.items())
