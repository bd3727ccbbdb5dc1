"""Fault mixes as files: what may be written, and what is told of what may not."""

from typing import Any

import pytest
from pydantic import ValidationError

from hfr_bench.content import explain
from hfr_bench.model.mix import FaultMix

ONE: dict[str, Any] = {"what": "w", "of": "model_calls", "per_1000": 3, "kinds": ["a"]}


def made(*faults: dict[str, Any], **fields: Any) -> FaultMix:
    return FaultMix.model_validate({"name": "m", "faults": [ONE | f for f in faults]} | fields)


def shares(*given: Any) -> list[dict[str, Any]]:
    return [{"share": share, "per_1000": None} for share in given]


def test_numbers_bounds_and_the_unknown():
    mix = made(
        {"per_1000": [1, 2.5], "kinds": ["a", "b"]},
        {"kinds": {"a": 0.25, "b": "unknown"}, "landed": [0.1, 0.2]},
        {"kinds": []},
    )
    first, second, third = mix.faults
    assert first.per_1000 == (1, 2.5)
    assert first.kinds == {"a": (0, 1), "b": (0, 1)}
    assert (second.kinds, second.landed) == ({"a": (0.25, 0.25), "b": (0, 1)}, (0.1, 0.2))
    assert (third.kinds, third.landed) == ({}, (0, 1))


def test_what_was_read_is_written_and_read_again():
    mix = made(*shares(0.5, "unknown"), overall={"of": "model_calls", "per_1000": [1, 9]})
    assert FaultMix.loads(mix.dumps()) == mix


@pytest.mark.parametrize(
    ("fault", "fields", "told"),
    [
        ({"per_1000": "unknown"}, {}, "give bounds"),
        ({"per_1000": 1001}, {}, "from 0 to 1000"),
        ({"per_1000": [5, 3]}, {}, "from 0 to 1000"),
        ({"per_1000": True}, {}, "from 0 to 1000"),
        ({"per_1000": None}, {}, "give per_1000 or share"),
        ({"share": 0.1}, {}, "give per_1000 or share"),
        ({"share": 1.2, "per_1000": None}, {}, "from 0 to 1, [low, high], or unknown"),
        ({"share": "often", "per_1000": None}, {}, "or unknown; got 'often'"),
        ({"landed": 2}, {}, "from 0 to 1"),
        ({"kinds": ["a", "a"]}, {}, "listed twice"),
        ({"kinds": {"a": 0.7, "b": [0.5, 1]}}, {}, "add up to 1.2"),
        ({"kind": "a"}, {}, "unknown key"),
        ({"of": "calls"}, {}, "model_calls"),
        ({}, {"overall": {"of": "model_calls", "per_1000": 1}}, "overall is for shares"),
        ({}, {"name": "A mix"}, "name"),
        ({}, {"faults": []}, "faults"),
    ],
)
def test_what_is_wrong_is_told(fault, fields, told):
    with pytest.raises(ValidationError) as caught:
        made(fault, **fields)
    assert told in explain(caught.value)


@pytest.mark.parametrize(
    ("faults", "fields", "told"),
    [
        (shares(0.7, 0.4), {}, "the shares add up to 1.1"),
        ([{}, *shares(0.4)], {}, "mixed"),
        (shares(0.4), {"overall": {"of": "tool_calls", "per_1000": 1}}, "overall is of tool_calls"),
    ],
)
def test_what_does_not_go_together_is_told(faults, fields, told):
    with pytest.raises(ValidationError) as caught:
        made(*faults, **fields)
    assert told in explain(caught.value)
