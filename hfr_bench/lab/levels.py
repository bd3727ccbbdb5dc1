"""The level of one call, where a tool's level depends on what it is told to do."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.task import ToolSpec
from hfr_bench.model.terms import SideEffect
from hfr_bench.ports.suite import Levelled, Suite


def refined(suite: Suite, tool: ToolSpec, arguments: Mapping[str, Any]) -> ToolSpec:
    """The tool as this call uses it; a call that only reads needs no recovery contract.

    The fault point of the tool keeps the tool's own level, since schedules are drawn before anybody
    knows what will be asked for.
    """
    level = suite.level_of(tool.name, arguments) if isinstance(suite, Levelled) else None
    if level is None or level is tool.level:
        return tool
    contract = tool.reconcile if level.writes else None
    return tool.model_copy(update={"level": level, "reconcile": contract})


def observed(suite: Suite, level: SideEffect, changed: tuple[str, ...]) -> SideEffect:
    """The level that an execution showed: whatever changed something was no mere read."""
    if changed and not level.writes and isinstance(suite, Levelled):
        return SideEffect.QUERYABLE
    return level
