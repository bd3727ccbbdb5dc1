"""The six alert rules: each speaks up at its pattern, and none at a single error."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.recovery.alerting import Rule, Thresholds, alerts
from hfr_bench.recovery.metering import (
    ATTEMPTS,
    CALLED,
    DEGRADED,
    DUPLICATES,
    REJECTED,
    STEPS,
    TRIALS,
    VERDICTS,
    Metrics,
    series,
    total,
)

NAMES = {
    "attempts": ATTEMPTS,
    "steps": STEPS,
    "trials": TRIALS,
    "duplicates": DUPLICATES,
    "degraded": DEGRADED,
    "verdicts": VERDICTS,
    "rejected": REJECTED,
    "escalated": CALLED,
}


def window(circuits: dict[str, str] | None = None, **counts: int) -> Metrics:
    """A window in which all went well, but for what is said."""
    well = {"attempts": 110, "steps": 100, "trials": 20, "verdicts": 50}
    return Metrics(
        {series(NAMES[name]): n for name, n in (well | counts).items() if n},
        circuits=circuits or {},
    )


QUIET = window(degraded=5, rejected=2, escalated=1)
STORM = window(attempts=250)
OPEN = window({"model:m": "open", "model:n": "half_open"})


def rules(*windows: Metrics, **thresholds: Any) -> list[Rule]:
    return [one.rule for one in alerts(windows, Thresholds(**thresholds))]


@pytest.mark.parametrize(
    ("windows", "said"),
    [
        ([], []),
        ([QUIET] * 5, []),
        ([STORM] * 3, [Rule.RETRY_STORM]),
        ([STORM] * 2, []),
        ([STORM, QUIET, STORM], []),
        ([window(attempts=200)] * 3, []),
        ([window(attempts=50, steps=19)] * 3, []),
        ([QUIET, window(duplicates=1)], [Rule.DUPLICATES]),
        ([window(duplicates=1)], [Rule.DUPLICATES]),
        ([window(duplicates=1), window()], []),
        ([QUIET, window(degraded=11)], [Rule.DEGRADATION]),
        ([QUIET, window(degraded=10)], []),
        ([window(), window(degraded=3)], [Rule.DEGRADATION]),
        ([window(), window(degraded=2)], []),
        ([window(degraded=90)], []),
        ([QUIET, window(rejected=8)], [Rule.VERIFICATION]),
        ([QUIET, window(rejected=7)], []),
        ([QUIET, window(rejected=9, verdicts=9)], []),
        ([window(rejected=50)], []),
        ([OPEN] * 3, [Rule.CIRCUIT]),
        ([OPEN] * 2, []),
        ([OPEN, QUIET, OPEN], []),
        ([window({"model:m": "half_open"})] * 3, []),
        ([window(escalated=6)], [Rule.ESCALATION]),
        ([window(escalated=5)], []),
        ([QUIET, window(escalated=4)], [Rule.ESCALATION]),
        ([QUIET, window(escalated=3)], []),
        ([window(), window(escalated=3)], [Rule.ESCALATION]),
        ([window(), window(escalated=2)], []),
        ([window(escalated=9, trials=9)], []),
    ],
)
def test_when_a_rule_speaks_up(windows: list[Metrics], said: list[Rule]) -> None:
    assert rules(*windows) == said


def test_an_alert_says_what_and_how_much() -> None:
    (one,) = alerts([OPEN] * 3)
    assert (one.about, one.said) == ("model:m", "model:m: open in each of the last 3 windows")
    (one,) = alerts([window(), STORM, STORM, STORM])
    assert (one.value, one.limit) == (2.5, 2.0)
    assert one.said == "2.50 attempts a step or more in each of the last 3 windows"
    (one,) = alerts([QUIET, window(rejected=20)])
    assert one.said == "40.0% of checks reject, 4.0% before"


def test_thresholds_can_be_set() -> None:
    assert rules(STORM, windows=1) == [Rule.RETRY_STORM]
    assert rules(STORM, windows=1, amplification=3.0) == []
    assert rules(window(escalated=6), escalation_max=0.5) == []


quiet = st.lists(st.just(window()), max_size=4)
SINGLE = (
    {"attempts": 111},
    {"attempts": 111, "degraded": 1},
    {"attempts": 111, "rejected": 1},
    {"attempts": 111, "escalated": 1},
)


@given(quiet, st.sampled_from(SINGLE), st.integers(1, 30), st.booleans())
def test_a_single_error_alerts_nothing(
    before: Sequence[Metrics], one: dict[str, int], trials: int, alone: bool
) -> None:
    """However few there are to compare it with, and whether it is the only window or not."""
    now = window(**(one | {"trials": trials}))
    assert rules(*([] if alone else before), now) == []
    few = Metrics({series(NAMES[n]): c for n, c in ({"steps": 1, "trials": 1} | one).items()})
    assert rules(*([] if alone else before), few) == []


@given(st.lists(st.just(QUIET), min_size=1, max_size=6))
def test_what_is_as_before_is_no_pattern(windows: list[Metrics]) -> None:
    assert rules(*windows, QUIET) == []
    assert rules(total(windows), QUIET) == []


several = st.lists(st.sampled_from([QUIET, STORM, OPEN, window(degraded=40), window(rejected=30)]))


@given(several, st.integers(0, 9))
def test_older_windows_may_be_given_as_their_sum(windows: list[Metrics], cut: int) -> None:
    cut = min(cut, max(0, len(windows) - Thresholds().windows))
    assert alerts(windows[cut:], older=total(windows[:cut])) == alerts(windows)
