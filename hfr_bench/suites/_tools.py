"""What suites' tools have in common: how a tools.yaml is read, and where faults may strike them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.task import FaultPoint, ToolSpec
from hfr_bench.model.terms import Layer

ROLES = ("agent", "compress")
"""The models' roles, each a point of its own."""


def read_tools(path: Path) -> tuple[ToolSpec, ...]:
    """A tools.yaml: a `ToolSpec` by its name. Raises BadInputError naming each wrong key."""
    return tuple(_spec(path, name, row) for name, row in content.read_yaml(path).items())


def short_tool(path: Path, name: str, row: Mapping[str, Any]) -> ToolSpec:
    """A row of `path` whose `parameters` are properties alone; `required` stands beside them.

    Raises BadInputError naming each wrong key.
    """
    schema = {
        "type": "object",
        "properties": row["parameters"],
        "required": row.get("required", []),
        "additionalProperties": False,
    }
    rest = {key: value for key, value in row.items() if key != "required"}
    return _spec(path, name, rest | {"parameters": schema})


def _spec(path: Path, name: str, row: Mapping[str, Any]) -> ToolSpec:
    try:
        return ToolSpec.model_validate({"name": name, **row})
    except ValidationError as error:
        raise BadInputError(f"{path}: {name}: {content.explain(error)}") from error


def fault_points(tools: Sequence[ToolSpec], *, checked: bool = True) -> tuple[FaultPoint, ...]:
    """The models' roles, every tool, and the reads that a strategy makes for itself.

    A `prepare:` is there only where the contract needs the read before, `verify:` only in a suite
    whose tools are `checked` on the strategy's side.
    """
    points = [
        FaultPoint(point=f"model:{role}", layer=Layer.MODEL, target="agent") for role in ROLES
    ]
    for tool in tools:
        points.append(
            FaultPoint(
                point=f"tool:{tool.name}", layer=Layer.TOOL, target=tool.name, level=tool.level
            )
        )
        contract = tool.reconcile
        if contract is None:
            continue
        purposes = {
            "prepare": contract.needs_before,
            "reconcile": True,
            "verify": checked,
        }
        points += [
            FaultPoint(point=f"{purpose}:{tool.name}", layer=Layer.TOOL, target=contract.read)
            for purpose, made in purposes.items()
            if made
        ]
    return tuple(points)
