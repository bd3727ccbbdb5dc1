"""Recovery contracts of tau2's writes: did it land? Pure functions over what the reads said.

`landed(name, before, after, arguments)`: `after` (and `before`, where the contract asks for one)
are the verbatim contents of the contract's read, None if there was none. "committed" means that
the effect the call asks for is in the world; for a write that sets a state (R1, and the guarded
R2) that is so whenever the state holds, whoever brought it about. Writes that accumulate are
told by the difference to `before`. What cannot be decided, a read's error message included, is
"unknown", never a guess. Nothing here knows a task or its grader.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

Landed = Literal["committed", "absent", "unknown"]
Arguments = dict[str, Any]
Predicate = Callable[[Any, Any, Arguments], Landed]

ADDRESS = ("address1", "address2", "city", "state", "country", "zip")
FLIGHT = ("flight_number", "date")
PASSENGER = ("first_name", "last_name", "dob")
TOLERANCE = 1e-6


def landed(name: str, before: str | None, after: str | None, args: Arguments) -> Landed:
    """Apply the named predicate to the contents of the reads.

    Raises KeyError for a name that is not in `PREDICATES`.
    """
    predicate = PREDICATES[name]
    then, now = _parse(before), _parse(after)
    if now is None:
        return "unknown"
    try:
        return predicate(then, now, args)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return "unknown"  # a read or an argument of another shape than the tool's


def _parse(content: str | None) -> Any:
    """The read's content; None if there was none, or it is an error message, or damaged."""
    if content is None:
        return None
    try:
        value = json.loads(content)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def _decided(condition: bool) -> Landed:
    return "committed" if condition else "absent"


def _fields(row: dict[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in names)


# airline


def reservation_cancelled(before: Any, after: Any, _args: Arguments) -> Landed:
    """Every cancellation marks the reservation and appends refunds, also a second one."""
    paid = len(after["payment_history"])
    if after.get("status") != "cancelled":  # tau-bench has none before
        return "absent"
    if before is None:
        return "unknown"  # perhaps it was cancelled before
    if before.get("status") != "cancelled":
        return "committed"
    return _decided(paid > len(before["payment_history"]))


def certificate_added(before: Any, after: Any, args: Arguments) -> Landed:
    """A certificate of this amount that was not there before."""
    held = {
        key
        for key, method in after["payment_methods"].items()
        if method["source"] == "certificate" and float(method["amount"]) == float(args["amount"])
    }
    if before is None:
        return "unknown" if held else "absent"
    return _decided(bool(held - before["payment_methods"].keys()))


def reservation_added(before: Any, after: Any, _args: Arguments) -> Landed:
    """The user has a reservation that was not there before."""
    if before is None:
        return "unknown"
    # counted: tau-bench's fourth booking has the number of the third
    return _decided(bool(Counter(after["reservations"]) - Counter(before["reservations"])))


def baggages_set(_before: Any, after: Any, args: Arguments) -> Landed:
    """The reservation has the asked numbers of bags."""
    names = ("total_baggages", "nonfree_baggages")
    return _decided(all(int(after[name]) == int(args[name]) for name in names))


def flights_set(_before: Any, after: Any, args: Arguments) -> Landed:
    """The reservation has the asked flights, in order, in the asked cabin."""
    have = [_fields(flight, FLIGHT) for flight in after["flights"]]
    want = [_fields(flight, FLIGHT) for flight in args["flights"]]
    return _decided(have == want and after["cabin"] == args["cabin"])


def flights_repriced(before: Any, after: Any, args: Arguments) -> Landed:
    """In tau-bench the cabin on record stays as it was: another cabin shows in prices alone."""
    if flights_set(before, after, args) == "committed":
        return "committed"
    have = [_fields(flight, FLIGHT) for flight in after["flights"]]
    if have != [_fields(flight, FLIGHT) for flight in args["flights"]]:
        return "absent"
    if before is None:
        return "unknown"
    return _decided(after["flights"] != before["flights"])


def passengers_set(_before: Any, after: Any, args: Arguments) -> Landed:
    """The reservation has the asked passengers, in order."""
    have = [_fields(person, PASSENGER) for person in after["passengers"]]
    return _decided(have == [_fields(person, PASSENGER) for person in args["passengers"]])


# retail


def order_cancelled(_before: Any, after: Any, args: Arguments) -> Landed:
    """The order is cancelled, for the asked reason. A second cancellation is rejected."""
    same = after["status"] == "cancelled" and after["cancel_reason"] == args["reason"]
    return _decided(same)


def exchange_requested(_before: Any, after: Any, args: Arguments) -> Landed:
    """The order asks for exactly this exchange. An order can be exchanged or returned once."""
    return _decided(
        after["status"] == "exchange requested"
        and after["exchange_items"] == sorted(args["item_ids"])
        and after["exchange_new_items"] == sorted(args["new_item_ids"])
        and after["exchange_payment_method_id"] == args["payment_method_id"]
    )


def return_requested(_before: Any, after: Any, args: Arguments) -> Landed:
    """The order asks for exactly this return."""
    return _decided(
        after["status"] == "return requested"
        and after["return_items"] == sorted(args["item_ids"])
        and after["return_payment_method_id"] == args["payment_method_id"]
    )


def items_modified(_before: Any, after: Any, args: Arguments) -> Landed:
    """The order's one modification was this: the new items are in it, paid by this method."""
    if after["status"] != "pending (item modified)":
        return "absent"
    have = Counter(item["item_id"] for item in after["items"])
    has_new = not Counter(args["new_item_ids"]) - have
    paid_by = {payment["payment_method_id"] for payment in after["payment_history"][1:]}
    return _decided(has_new and args["payment_method_id"] in paid_by)


def payment_modified(_before: Any, after: Any, args: Arguments) -> Landed:
    """The history starts: old payment, payment by the asked method, refund of the old one."""
    history = after["payment_history"]
    if len(history) < len(("paid", "moved", "refunded")):
        return "absent"
    paid, moved, refunded = history[:3]
    return _decided(
        moved["transaction_type"] == "payment"
        and moved["payment_method_id"] == args["payment_method_id"]
        and refunded["transaction_type"] == "refund"
        and refunded["payment_method_id"] == paid["payment_method_id"]
        and paid["amount"] == moved["amount"] == refunded["amount"]
    )


def address_set(_before: Any, after: Any, args: Arguments) -> Landed:
    """The order or the user has the asked address."""
    return _decided(_fields(after["address"], ADDRESS) == _fields(args, ADDRESS))


# telecom


def line_suspended(_before: Any, after: Any, _args: Arguments) -> Landed:
    """The line is suspended; suspending it again is rejected."""
    return _decided(after["status"] == "Suspended")


def line_resumed(_before: Any, after: Any, _args: Arguments) -> Landed:
    """The line is active; resuming it again is rejected."""
    return _decided(after["status"] == "Active")


def roaming_enabled(_before: Any, after: Any, _args: Arguments) -> Landed:
    """Roaming is on for the line."""
    return _decided(after["roaming_enabled"] is True)


def roaming_disabled(_before: Any, after: Any, _args: Arguments) -> Landed:
    """Roaming is off for the line."""
    return _decided(after["roaming_enabled"] is False)


def data_refueled(before: Any, after: Any, args: Arguments) -> Landed:
    """The refuelled amount grew by a whole number of times what was asked (numbers are texts)."""
    if before is None:
        return "unknown"
    gb = float(args["gb_amount"])
    grown = float(after["data_refueling_gb"]) - float(before["data_refueling_gb"])
    if abs(grown) < TOLERANCE:
        return "absent"
    times = round(grown / gb)
    return "committed" if times >= 1 and abs(grown - times * gb) < TOLERANCE else "unknown"


def payment_requested(before: Any, after: Any, _args: Arguments) -> Landed:
    """The bill awaits payment, or was paid since `before` (only a requested bill can be)."""
    if after["status"] == "Awaiting Payment":
        return "committed"
    if after["status"] != "Paid":
        return "absent"
    if before is None:
        return "unknown"
    return _decided(before["status"] != "Paid")


PREDICATES: dict[str, Predicate] = {
    function.__name__: function
    for function in (
        reservation_cancelled, certificate_added, reservation_added, baggages_set, flights_set,
        flights_repriced, passengers_set, order_cancelled, exchange_requested, return_requested,
        items_modified, payment_modified, address_set, line_suspended, line_resumed,
        roaming_enabled, roaming_disabled, data_refueled, payment_requested,
    )
}  # fmt: skip
