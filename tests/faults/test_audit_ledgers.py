"""Faults of the ledger: at their own points, fail-closed, and audited like all others."""

from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import TrialAudit, audit
from hfr_bench.faults.generate import Draw, generate
from hfr_bench.faults.ledgers import DOWN, announced, ledger_points
from hfr_bench.faults.observe import observe
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.terms import Action, Layer, LedgerState, SideEffect
from hfr_bench.model.trace import Decided, LedgerMoved
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import At, events, schedule, started
from hfr_bench.testing.shop import ShopSuite

TRIAL = planned().rows[0].trial
KINDS = content.kinds()
TASK = ShopSuite().select_all()[0]


def moved(step: int, after: LedgerState = LedgerState.PREPARED, tool: str = "book") -> At:
    body = LedgerMoved(
        key="k", stepless_key="w", tool=tool, level=SideEffect.QUERYABLE, after=after
    )
    return At(body, step)


def down(step: int, tool: str = "book") -> At:
    return At(Decided(on=DOWN, action=Action.ESCALATE, evidence=tool), step)


def audited(*bodies: At, occurrence: int = 1) -> TrialAudit:
    event = FaultEvent(
        injection_id="i", layer=Layer.TOOL, kind="ledger_down", point="ledger:book",
        occurrence=occurrence,
    )  # fmt: skip
    trace = events("t", [started(TRIAL), *bodies])
    return audit(trace, schedule(TRIAL, [event]), KINDS)


def test_a_failure_that_was_planned_is_delivered() -> None:
    found = audited(moved(1), moved(1, LedgerState.COMMITTED), down(2), occurrence=2)
    assert [one.mismatch for one in found.deliveries] == [""]
    assert found.failed == ()


def test_a_ledger_that_moves_where_it_should_fail_is_told() -> None:
    (one,) = audited(moved(1)).deliveries
    assert "the ledger moved" in one.mismatch


def test_a_failure_that_nobody_planned_is_told() -> None:
    found = audited(moved(1), down(2))
    assert "#2: the ledger failed" in found.failed[0]


def test_other_tools_and_later_moves_of_a_step_are_not_counted() -> None:
    trace = events("t", [moved(1, tool="a"), moved(1), moved(1), moved(2, LedgerState.UNKNOWN)])
    places = [(one.place.point, one.place.occurrence) for one in announced(trace)]
    assert places == [("ledger:a", 1), ("ledger:book", 1)]


def test_every_writing_tool_has_a_ledger_point() -> None:
    found = {point.point: point.level for point in ledger_points(TASK.fault_points)}
    assert found == {f"ledger:{tool.name}": tool.level for tool in TASK.tools if tool.level.writes}


@pytest.mark.parametrize("pattern", ["ledger:*", "*"])
def test_schedules_hold_them_only_where_a_matrix_asks_for_them(pattern: str) -> None:
    draw = Draw("shop", TASK.task_id, 1, "p", 0.5)

    def made(**kinds: Any) -> list[str]:
        matrix = FaultMatrix(name="m", mixes=(Mix(points=(pattern,), kinds=kinds),))
        return [event.point for event in generate(draw, TASK.fault_points, matrix, KINDS, 9).events]

    assert made(ledger_down=1.0)
    assert all(point.startswith("ledger:") for point in made(ledger_down=1.0))
    assert not any(point.startswith("ledger:") for point in made(tool_5xx=1.0, model_500=1.0))


def test_who_sends_nothing_more_fails_closed() -> None:
    trace = events("t", [started(TRIAL), down(1)])
    found = audited(down(1))
    assert observe(trace, found.meetings, KINDS) == {
        ("tool", "ledger_down"): (("fails_closed", 1, 1),)
    }
