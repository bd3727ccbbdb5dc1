"""A shadow is heard and recorded, and touches nothing."""

import json
from typing import Any

import pytest

from hfr_bench.model.attempt import Attempted, Decision, Finishing, Proposed
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, End
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.shadow import KEPT, Shadow, shadow_record
from hfr_bench.recovery.strategies import AlwaysEscalate, BlindResend, ExpRetry, NoRetry
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import refused
from hfr_bench.testing.rig import Rig, lost_answer
from hfr_bench.testing.wrapped import DEADLINE_US, Breaks, NoBeginning, Returns, Says
from hfr_bench.testing.wrapped import step_view as view

KIT = Kit(equipment=Equipment(ledger=True, query=True, ladder=True), substitutes={"m": ("b",)})
BUSY = refused(503)
READING = view(attempts=1)
END = Finishing(0, DEADLINE_US)


def test_only_the_active_strategy_acts() -> None:
    faults = [lost_answer("add_order")]
    alone = Rig(NoRetry({}, KIT), faults=faults).run()
    rig = Rig(Shadow(NoRetry({}, KIT), BlindResend({}, KIT)), faults=faults)
    ran = rig.run()
    assert ran.events == alone.events
    assert ran.end is End.FAILED


def test_differences_are_counted_and_kept() -> None:
    both = Shadow(NoRetry({}, KIT), AlwaysEscalate({}, KIT))
    state = both.begin()
    for event in (Proposed(view()), Attempted(READING, BUSY)):
        state, decision = both.decide(state, event)
    assert decision.action is Action.FAIL
    record = shadow_record(state)
    assert (record["asked"], record["agreed"], record["pairs"]) == (2, 1, {"FAIL>ESCALATE": 1})
    (one,) = record["last"]
    assert (one["on"], one["step"], one["active"], one["shadow"]) == (
        ("Attempted", 1, "FAIL", "ESCALATE")
    )


def test_after_they_part_a_step_is_heard_but_not_compared() -> None:
    both = Shadow(Says(Action.RETRY), Says(Action.ESCALATE))
    state = both.begin()
    for event in (Attempted(READING, BUSY), Proposed(READING), Attempted(READING, BUSY)):
        state, _ = both.decide(state, event)
    assert (shadow_record(state)["asked"], state["shadow"]["heard"]) == (1, 3)
    state, _ = both.decide(state, Proposed(view(step=2)))
    assert shadow_record(state)["asked"] == 2


def test_the_record_is_bounded() -> None:
    both = Shadow(Says(Action.RETRY), Says(Action.ESCALATE, reason="x" * 5000))
    state = both.begin()
    for step in range(1, 4 * KEPT):
        state, _ = both.decide(state, Proposed(view(step=step)))
    record = shadow_record(state)
    assert record["pairs"] == {"RETRY>ESCALATE": 4 * KEPT - 1}
    assert [one["step"] for one in record["last"]] == list(range(3 * KEPT, 4 * KEPT))
    assert len(json.dumps(record)) < KEPT * 500


@pytest.mark.parametrize(
    "broken",
    [
        Breaks(NoRetry({}, KIT)),
        Breaks(NoRetry({}, KIT), kind=RecursionError),
        NoBeginning(Action.RETRY),
        Returns({}, None),
        Returns({"at": object()}, Decision(Action.RETRY)),
        Returns({1: 2}, Decision(Action.RETRY)),
        Returns({"at": float("nan")}, Decision(Action.RETRY)),
        Returns({"at": {1, 2}}, Decision(Action.RETRY)),
        Returns(None, "nothing"),
        Returns({}, Decision(Action.RETRY, debit=-1)),
    ],
)
def test_no_defect_of_a_shadow_touches_the_active_strategy(broken: Any) -> None:
    alone = ExpRetry({}, KIT)
    both = Shadow(alone, broken)
    state, known = both.begin(), alone.begin()
    for event in (Proposed(view()), Attempted(READING, BUSY), Proposed(READING), END):
        state, decision = both.decide(state, event)
        known, wanted = alone.decide(known, event)
        assert decision == wanted
        json.dumps(state, allow_nan=False)
    assert shadow_record(state)["failures"] >= 4
    assert shadow_record(state)["error"]


def test_an_error_of_the_active_strategy_is_its_own() -> None:
    both = Shadow(Breaks(NoRetry({}, KIT)), NoRetry({}, KIT))
    with pytest.raises(RuntimeError, match="a defect"):
        both.decide(both.begin(), Proposed(view()))


@pytest.mark.parametrize("shadow", [Hfr({}, KIT), Breaks(Hfr({}, KIT), 0.3)])
def test_a_shadowed_strategy_keeps_the_rules(shadow: Any) -> None:
    assert check_strategy(lambda: Shadow(Hfr({}, KIT), shadow), walks=40, safe=True) > 100
