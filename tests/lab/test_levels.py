"""The level of one call, where the tool's own does not say it."""

from collections.abc import Mapping
from typing import Any

import pytest

from hfr_bench.lab.levels import observed, refined
from hfr_bench.model.task import ReconcileContract, ToolSpec
from hfr_bench.model.terms import SideEffect
from hfr_bench.testing.shop import ShopSuite

R0, R1, R2 = SideEffect.READ, SideEffect.IDEMPOTENT, SideEffect.QUERYABLE
TOOL = ToolSpec(name="sh", level=R2, reconcile=ReconcileContract(read="look", landed="x"))


class Shells(ShopSuite):
    """A shop whose tools' levels are told by their calls."""

    def level_of(self, tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
        return arguments.get("level")


@pytest.mark.parametrize("level", [R0, R1, R2, None])
def test_a_call_has_the_level_that_the_suite_tells(level: SideEffect | None) -> None:
    found = refined(Shells(), TOOL, {"level": level})
    assert found.level is (level or R2)
    assert (found.reconcile is None) is (level is R0)
    assert refined(ShopSuite(), TOOL, {"level": level}) is TOOL


def test_a_read_that_changed_something_was_none() -> None:
    assert observed(Shells(), R0, ("a",)) is R2
    assert observed(Shells(), R0, ()) is R0
    assert observed(Shells(), R1, ("a",)) is R1
    assert observed(ShopSuite(), R0, ("a",)) is R0
