"""The predicates alone, on small rows of our own."""

import json

import pytest

from hfr_bench.suites.tau2.contracts import PREDICATES, landed


def said(name, before, after, **args):
    def text(row):
        return None if row is None else json.dumps(row)

    return landed(name, text(before), text(after), args)


def reservation(status, *payments):
    return {"status": status, "payment_history": list(payments)}


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (reservation(None, 1), reservation(None, 1), "absent"),
        (reservation(None, 1), reservation("cancelled", 1, -1), "committed"),
        (reservation("cancelled", 1, -1), reservation("cancelled", 1, -1), "absent"),
        (reservation("cancelled", 1, -1), reservation("cancelled", 1, -1, -1, 1), "committed"),
        ({"payment_history": [1]}, {"payment_history": [1]}, "absent"),  # tau-bench's rows
        ({"payment_history": [1]}, reservation("cancelled", 1, -1), "committed"),
        (None, reservation(None, 1), "absent"),
        (None, reservation("cancelled", 1, -1), "unknown"),
    ],
)
def test_reservation_cancelled(before, after, verdict):
    assert said("reservation_cancelled", before, after) == verdict


def wallet(**amounts):
    return {
        "payment_methods": {
            key: {"source": "certificate", "amount": amount} for key, amount in amounts.items()
        }
    }


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (wallet(), wallet(), "absent"),
        (wallet(), wallet(a=50.0), "committed"),
        (wallet(a=50), wallet(a=50), "absent"),
        (wallet(a=50), wallet(a=50, b=50), "committed"),
        (wallet(), wallet(a=70), "absent"),
        (None, wallet(), "absent"),
        (None, wallet(a=50), "unknown"),
    ],
)
def test_certificate_added(before, after, verdict):
    assert said("certificate_added", before, after, amount=50) == verdict


def usage(gb):
    return {"data_refueling_gb": str(gb)}


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (usage(0.0), usage(0.0), "absent"),
        (usage(1.5), usage(3.5), "committed"),
        (usage(0.0), usage(4.0), "committed"),
        (usage(0.0), usage(3.0), "unknown"),  # not a multiple of what was asked
        (usage(2.0), usage(0.0), "unknown"),
        (None, usage(2.0), "unknown"),
    ],
)
def test_data_refueled(before, after, verdict):
    assert said("data_refueled", before, after, gb_amount=2) == verdict


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("Overdue", "Overdue", "absent"),
        ("Overdue", "Awaiting Payment", "committed"),
        ("Overdue", "Paid", "committed"),
        ("Paid", "Paid", "absent"),
        ("Paid", "Awaiting Payment", "committed"),
        (None, "Awaiting Payment", "committed"),
        (None, "Paid", "unknown"),
    ],
)
def test_payment_requested(before, after, verdict):
    row = None if before is None else {"status": before}
    assert said("payment_requested", row, {"status": after}) == verdict


def test_reservation_added_needs_a_before():
    assert said("reservation_added", None, {"reservations": ["A"]}) == "unknown"
    assert said("reservation_added", {"reservations": ["A"]}, {"reservations": ["A"]}) == "absent"
    again = {"reservations": ["A", "A"]}  # tau-bench's fourth booking takes a number twice
    assert said("reservation_added", {"reservations": ["A"]}, again) == "committed"
    after = {"reservations": ["A", "B"]}
    assert said("reservation_added", {"reservations": ["A"]}, after) == "committed"


def flown(cabin, *legs):
    keys = ("flight_number", "date", "price")
    return {"cabin": cabin, "flights": [dict(zip(keys, leg, strict=True)) for leg in legs]}


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (flown("economy", ("F1", "1", 9)), flown("economy", ("F1", "1", 9)), "absent"),
        (flown("economy", ("F1", "1", 9)), flown("economy", ("F1", "1", 90)), "committed"),
        (flown("economy", ("F2", "1", 9)), flown("economy", ("F1", "1", 90)), "committed"),
        (flown("economy", ("F2", "1", 9)), flown("economy", ("F2", "1", 9)), "absent"),
        (None, flown("economy", ("F1", "1", 90)), "unknown"),
        (None, flown("business", ("F1", "1", 90)), "committed"),
    ],
)
def test_flights_repriced(before, after, verdict):
    args = {"cabin": "business", "flights": [{"flight_number": "F1", "date": "1"}]}
    assert said("flights_repriced", before, after, **args) == verdict


def order(status, items, *payments):
    history = [{"payment_method_id": m, "transaction_type": t, "amount": 9} for m, t in payments]
    return {
        "status": status,
        "items": [{"item_id": item} for item in items],
        "payment_history": history,
    }


def test_items_modified_wants_this_modification():
    args = {"item_ids": ["1", "1"], "new_item_ids": ["2", "2"], "payment_method_id": "card"}
    paid, extra = ("card", "payment"), ("card", "refund")
    name = "items_modified"
    assert said(name, None, order("pending", ["1", "1"], paid), **args) == "absent"
    done = "pending (item modified)"
    assert said(name, None, order(done, ["2", "2"], paid, extra), **args) == "committed"
    assert said(name, None, order(done, ["2", "3"], paid, extra), **args) == "absent"
    other = order(done, ["2", "2"], paid, ("gift", "refund"))
    assert said(name, None, other, **args) == "absent"


def test_payment_modified_wants_the_three_entries():
    paid = [("old", "payment"), ("new", "payment"), ("old", "refund")]
    name, args = "payment_modified", {"payment_method_id": "new"}
    assert said(name, None, order("pending", [], *paid[:1]), **args) == "absent"
    assert said(name, None, order("pending", [], *paid), **args) == "committed"
    assert said(name, None, order("pending", [], *paid), payment_method_id="third") == "absent"


@pytest.mark.parametrize("name", sorted(PREDICATES))
@pytest.mark.parametrize("after", [None, "", "Error: not found", "3", "null", "{}", "[]", '{"a'])
def test_damaged_reads_are_unknown(name, after):
    assert landed(name, None, after, {}) == "unknown"
    assert landed(name, after, after, {"gb_amount": 0, "amount": None}) == "unknown"


def test_an_unknown_predicate_is_a_key_error():
    with pytest.raises(KeyError):
        landed("guess", None, "{}", {})
