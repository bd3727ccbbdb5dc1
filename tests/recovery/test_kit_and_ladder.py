"""Settings are checked in words; rungs never lead around a refusal."""

from typing import Any

import pytest

from hfr_bench.model.terms import FaultClass
from hfr_bench.recovery.kit import take
from hfr_bench.recovery.ladder import may_substitute, next_equal

DEFAULTS = {"retries": 3, "delay_s": 1.0, "loud": False}


def test_what_is_given_overrides_the_defaults() -> None:
    assert take({}, DEFAULTS, "x") == DEFAULTS
    assert take({"retries": 0, "delay_s": 2, "loud": True}, DEFAULTS, "x") == {
        "retries": 0,
        "delay_s": 2,
        "loud": True,
    }


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"retrys": 1}, "has no setting 'retrys'; it knows: delay_s, loud, retries"),
        ({"retries": "3"}, "retries must be int, got '3'"),
        ({"retries": 1.5}, "retries must be int, got 1.5"),
        ({"retries": True}, "retries must be int, got True"),
        ({"delay_s": False}, "delay_s must be float, got False"),
        ({"loud": 1}, "loud must be bool, got 1"),
        ({"retries": -1}, "retries must be 0 or more, got -1"),
        ({"delay_s": float("inf")}, "delay_s must be 0 or more, got inf"),
        ({"delay_s": float("nan")}, "delay_s must be 0 or more, got nan"),
    ],
)
def test_a_wrong_setting_is_refused_in_words(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        take(config, DEFAULTS, "x")


def test_the_next_equal_target_is_one_not_used_yet() -> None:
    ladder = {"a": ("b", "c")}
    assert next_equal("a", (), ladder) == "b"
    assert next_equal("a", ("a", "b"), ladder) == "c"
    assert next_equal("a", ("b", "c"), ladder) is None
    assert next_equal("b", (), ladder) is None


def test_no_rung_leads_around_a_refusal_or_a_missing_permission() -> None:
    refused = {fault for fault in FaultClass if not may_substitute(fault)}
    assert refused == {FaultClass.REFUSAL, FaultClass.PERMANENT}
