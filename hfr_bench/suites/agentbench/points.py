"""What both suites' tools.yaml and fault points have in common."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.task import FaultPoint, ToolSpec
from hfr_bench.model.terms import Layer


def read_tools(path: Path) -> tuple[ToolSpec, ...]:
    """A tools.yaml. Raises BadInputError naming each wrong key."""
    try:
        rows = content.read_yaml(path).items()
        return tuple(ToolSpec.model_validate({"name": name} | row) for name, row in rows)
    except ValidationError as error:
        raise BadInputError(f"{path}: {content.explain(error)}") from error


def fault_points(tools: Sequence[ToolSpec]) -> tuple[FaultPoint, ...]:
    """The models' roles, every tool, and the reads that a strategy makes for itself."""
    points = [
        FaultPoint(point=f"model:{role}", layer=Layer.MODEL, target="agent")
        for role in ("agent", "compress")
    ]
    for tool in tools:
        points.append(
            FaultPoint(
                point=f"tool:{tool.name}", layer=Layer.TOOL, target=tool.name, level=tool.level
            )
        )
        contract = tool.reconcile
        if contract is not None:
            purposes = ("prepare",) if contract.needs_before else ()
            points += [
                FaultPoint(point=f"{p}:{tool.name}", layer=Layer.TOOL, target=contract.read)
                for p in (*purposes, "reconcile", "verify")
            ]
    return tuple(points)


def one_of_two(suite: str, selection: SuiteSelection) -> None:
    """Raises BadInputError unless a pool or tasks are named, and not both."""
    if bool(selection.pool) == bool(selection.tasks):
        raise BadInputError(f"suite {suite}: name either a `pool` or `tasks`, one of the two")
