"""Recovery contracts of the desk's writes: did it land? Pure functions over what the reads said.

`landed(name, before, after, arguments)`: `after` (and `before`, where the contract asks for one)
are the verbatim contents of the contract's read, None if there was none. What cannot be decided,
a read's error message included, is "unknown", never a guess. Nothing here knows a task or its
grader.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from hfr_bench.model.terms import Landed

Arguments = Mapping[str, Any]
Predicate = Callable[[Any, Any, Arguments], bool | None]

ADDRESS = ("street", "city", "zip")
ORDER = ("customer_id", "sku", "quantity")
TICKET = ("customer_id", "topic", "order_id")
APPROVAL = ("order_id", "action", "amount_cents")


def landed(name: str, before: str | None, after: str | None, args: Arguments) -> Landed:
    """Apply the named predicate to the contents of the reads.

    Raises KeyError for a name that is not in `PREDICATES`.
    """
    predicate = PREDICATES[name]
    then, now = _parse(before), _parse(after)
    if now is None:
        return Landed.UNKNOWN
    try:
        done = predicate(then, now, args)
    except (KeyError, TypeError, ValueError, AttributeError):
        return Landed.UNKNOWN  # a read or an argument of another shape than the tool's
    if done is None:
        return Landed.UNKNOWN
    return Landed.COMMITTED if done else Landed.ABSENT


def _parse(content: str | None) -> dict[str, Any] | None:
    """The read's content; None if there was none, or it is an error message, or damaged."""
    try:
        value = json.loads(content or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _same(row: Mapping[str, Any], args: Arguments, names: tuple[str, ...]) -> bool:
    return all(row[name] == args.get(name) for name in names)


def _more(
    before: dict[str, Any] | None, after: dict[str, Any], rows: str, like: Callable[[Any], bool]
) -> bool | None:
    """Whether there are more such rows than before; unread before, only none at all tells."""
    now = sum(like(row) for row in after[rows])
    if before is None:
        return False if not now else None
    return now > sum(like(row) for row in before[rows])


def address_set(_before: Any, after: Any, args: Arguments) -> bool:
    """The customer has the asked address."""
    return _same(after, args, ADDRESS)


def shipping_set(_before: Any, after: Any, args: Arguments) -> bool:
    """The order goes the asked way."""
    return bool(after["shipping"] == args["method"])


def gift_wrap_flipped(before: Any, after: Any, _args: Arguments) -> bool | None:
    """Gift wrap is not what it was. Two flips that both landed look like none."""
    now = after["gift_wrap"]
    return None if before is None else bool(now != before["gift_wrap"])


def order_placed(before: Any, after: Any, args: Arguments) -> bool | None:
    """There is one more such order than before, in whatever state it is by now."""
    return _more(before, after, "orders", lambda row: _same(row, args, ORDER))


def order_cancelled(_before: Any, after: Any, args: Arguments) -> bool:
    """The order is cancelled, for the asked reason."""
    return bool(after["status"] == "cancelled" and after["cancel_reason"] == args["reason"])


def refund_added(before: Any, after: Any, args: Arguments) -> bool | None:
    """There is one more refund of this amount than before; earlier ones do not count."""
    amount = args["amount_cents"]
    return _more(before, after, "refunds", lambda row: bool(row["amount_cents"] == amount))


def ticket_created(before: Any, after: Any, args: Arguments) -> bool | None:
    """There is one more such ticket than before."""
    return _more(before, after, "tickets", lambda row: _same(row, args, TICKET))


def ticket_closed(_before: Any, after: Any, args: Arguments) -> bool | None:
    """The ticket is closed; a ticket that is not there tells nothing."""
    states = [row["status"] for row in after["tickets"] if row["id"] == args["ticket_id"]]
    return states[0] == "closed" if states else None


def approval_requested(_before: Any, after: Any, args: Arguments) -> bool:
    """Such an approval is pending or granted; while it is, it cannot be asked for again."""
    return any(
        _same(row, args, APPROVAL) and row["status"] != "refused" for row in after["approvals"]
    )


PREDICATES: dict[str, Predicate] = {
    function.__name__: function
    for function in (
        address_set, shipping_set, gift_wrap_flipped, order_placed, order_cancelled, refund_added,
        ticket_created, ticket_closed, approval_requested,
    )
}  # fmt: skip
