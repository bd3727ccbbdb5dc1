"""Our content: the manifest, the tools with their contracts, and what tasks are made of."""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from pydantic import ValidationError

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest
from hfr_bench.model.task import ToolSpec

SUITE = "shopdesk"
FILES = ("suite", "tools", "recipes", "policies", "stock")


@cache
def read_content(name: str) -> dict[str, Any]:
    """One of the suite's YAML files by name; not to be changed."""
    data: dict[str, Any] = content.read_yaml(content.root() / "suites" / SUITE / f"{name}.yaml")
    return data


def content_digest() -> str:
    """One digest over all of them."""
    return digest([read_content(name) for name in FILES])


@cache
def tools() -> Mapping[str, ToolSpec]:
    """All tools by name, in the file's order. Raises BadInputError naming each wrong key."""
    return {name: _spec(name, row) for name, row in read_content("tools").items()}


def _spec(name: str, row: Mapping[str, Any]) -> ToolSpec:
    row = {key: value for key, value in row.items() if key != "why"}
    optional = row.pop("optional", [])
    properties = row["parameters"]
    row["parameters"] = {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in optional],
        "additionalProperties": False,
    }
    try:
        return ToolSpec.model_validate({"name": name, **row})
    except ValidationError as error:
        where = f"suites/{SUITE}/tools.yaml: {name}"
        raise BadInputError(f"{where}: {content.explain(error)}") from error


def with_what_they_need(names: Collection[str]) -> set[str]:
    """These tools, the reads of their contracts, and the tools that take them back."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        spec = tools()[name]
        left += [spec.reconcile.read] if spec.reconcile else []
        left += [spec.compensate_by] if spec.compensate_by else []
    return found
