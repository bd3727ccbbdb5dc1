"""One tool in another's place: what does not fit is told, never guessed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.terms import SideEffect
from hfr_bench.recovery.adapter import (
    Adaptation,
    Contract,
    ContractMismatch,
    adapt,
    adapt_answer,
    adapt_error,
)

PAY = Contract(
    "pay",
    SideEffect.QUERYABLE,
    {
        "properties": {
            "order": {"type": "string"},
            "amount": {"type": "number", "x-unit": "dollars"},
            "via": {"type": "string"},
        },
        "required": ["order", "amount"],
    },
)
CHARGE = Contract(
    "charge",
    SideEffect.QUERYABLE,
    {
        "properties": {
            "order_id": {"type": "string"},
            "cents": {"type": "integer", "x-unit": "cents"},
            "method": {"type": "string", "enum": ["card", "bank"]},
            "capture": {"type": "boolean"},
        },
        "required": ["order_id", "cents", "capture"],
    },
    errors=("DECLINED",),
)
HOW = Adaptation(
    fields={"order_id": "order", "cents": "amount", "method": "via"},
    constants={"capture": True},
    scale={"cents": 100},
    errors={"DECLINED": "card_declined"},
    answer={"receipt": "charge_id"},
    same_semantics=True,
)
ARGUMENTS = {"order": "o-1", "amount": 19.99}


def test_names_units_and_constants_are_put_in_the_others_words() -> None:
    adapted = adapt(PAY, CHARGE, {**ARGUMENTS, "via": "card"}, HOW)
    assert adapted == {"capture": True, "order_id": "o-1", "cents": 1999, "method": "card"}
    assert type(adapted["cents"]) is int


@pytest.mark.parametrize(
    ("arguments", "how", "reason"),
    [
        ({"order": "o-1"}, HOW, "charge needs 'cents'"),
        ({**ARGUMENTS, "tip": 1}, HOW, "charge has no place for 'tip'"),
        ({**ARGUMENTS, "order": 7}, HOW, "order_id: 7 is no string"),
        ({**ARGUMENTS, "via": "cash"}, HOW, "method: 'cash' is not one of ['card', 'bank']"),
        ({**ARGUMENTS, "amount": 0.001}, HOW, "cents: 0.001 is no whole number of cents"),
        ({**ARGUMENTS, "amount": True}, HOW, "cents: True cannot be scaled"),
        ({**ARGUMENTS, "amount": "19"}, HOW, "cents: '19' cannot be scaled"),
        (ARGUMENTS, HOW._replace(scale={}), "cents: dollars is not cents"),
        (ARGUMENTS, HOW._replace(constants={}), "charge needs 'capture'"),
        (ARGUMENTS, HOW._replace(constants={"capture": 1}), "capture: 1 is no boolean"),
        (ARGUMENTS, HOW._replace(constants={"capture": True, "x": 1}), "charge has no argument"),
        (ARGUMENTS, HOW._replace(errors={}), "the error 'DECLINED' is not mapped"),
        (ARGUMENTS, HOW._replace(same_semantics=False), "charge is only like pay; a write needs"),
    ],
)
def test_what_does_not_fit_is_told(arguments: dict[str, Any], how: Adaptation, reason: str) -> None:
    found = adapt(PAY, CHARGE, arguments, how)
    assert isinstance(found, ContractMismatch)
    assert found.reason.startswith(reason)


def test_side_effects_must_be_equal() -> None:
    found = adapt(PAY, CHARGE._replace(level=SideEffect.IRREVERSIBLE), ARGUMENTS, HOW)
    assert found == ContractMismatch("side effects differ: R2 and R3")
    same = SideEffect.IRREVERSIBLE
    like = HOW._replace(same_semantics=False)
    never = adapt(PAY._replace(level=same), CHARGE._replace(level=same), ARGUMENTS, like)
    assert isinstance(never, ContractMismatch), "an irreversible write never gets a similar tool"


def test_reads_need_no_voucher() -> None:
    find = Contract("find", SideEffect.READ, {"properties": {"name": {"type": "string"}}})
    assert adapt(find, find._replace(name="seek"), {"name": "x"}, Adaptation()) == {"name": "x"}


def test_errors_and_answers_come_back_in_the_first_tools_words() -> None:
    assert adapt_error("DECLINED", HOW) == "card_declined"
    assert adapt_error("BROKEN", HOW) == ContractMismatch("the error 'BROKEN' is not mapped")
    assert adapt_answer({"charge_id": 3, "more": 1}, HOW) == {"receipt": 3}
    assert adapt_answer({"id": 3}, HOW) == ContractMismatch("the answer has no 'charge_id'")
    assert adapt_answer({"id": 3}, Adaptation()) == {"id": 3}


KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")
values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.none())
)


@given(st.sampled_from(KINDS), values)
def test_types_are_those_of_json_schema(kind: str, value: Any) -> None:
    tool = Contract("t", SideEffect.READ, {"properties": {"x": {"type": kind}}})
    whole = isinstance(value, int | float) and value == value and abs(value) != float("inf")
    expected = {
        "string": isinstance(value, str),
        "integer": whole and not isinstance(value, bool) and value == int(value),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": False,
        "null": value is None,
    }
    fits = not isinstance(adapt(tool, tool, {"x": value}, Adaptation()), ContractMismatch)
    assert fits == expected[kind]
    either = Contract("t", SideEffect.READ, {"properties": {"x": {"type": [kind, "null"]}}})
    fits = not isinstance(adapt(either, either, {"x": value}, Adaptation()), ContractMismatch)
    assert fits == (expected[kind] or value is None)


@given(st.integers(-(10**12), 10**12))
def test_a_change_of_units_loses_no_cent(cents: int) -> None:
    """0.1 + 0.2 dollars are 30 cents: factors are applied to what was written, exactly."""
    adapted = adapt(PAY, CHARGE, {"order": "o", "amount": cents / 100}, HOW)
    assert isinstance(adapted, dict)
    assert adapted["cents"] == cents
