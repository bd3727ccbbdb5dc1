"""The tasks of desk_mini as public and sealed halves, from `suites/desk_mini`."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest, text_digest
from hfr_bench.model.task import ToolSpec
from hfr_bench.suites.osworld.halves import DeskTask, desk_task, read_tools

SUITE = "desk_mini"


def folder() -> Path:
    """Where the content lies."""
    return content.root() / "suites" / SUITE


def settings() -> Mapping[str, Any]:
    """suite.yaml."""
    found: Mapping[str, Any] = content.read_yaml(folder() / "suite.yaml")
    return found


@cache
def tasks(screen: bool = False) -> Mapping[str, DeskTask]:
    """By name, sorted; `screen`: those that need one, too, and tools for all of them.

    Raises BadInputError naming the file that cannot be used.
    """
    oracles = content.read_yaml(folder() / "oracles.yaml")
    found = {}
    paths = [*(folder() / "tasks").glob("*.json")]
    if screen:
        paths += (folder() / "screen").glob("*.json")
    for path in sorted(paths):
        row = read_row(path)
        name = path.stem
        if name not in oracles:
            raise BadInputError(f"{folder() / 'oracles.yaml'}: no solution of {name}")
        found[name] = desk_task(
            row,
            suite=SUITE,
            domain=name.partition("-")[0],
            tools=tool_specs(screen),
            deadline_s=float(settings()["deadline_s"]),
            oracle=oracles[name],
            assets=folder() / "assets",
            where=str(path),
        )
    return found


@cache
def tool_specs(screen: bool = False) -> tuple[ToolSpec, ...]:
    """Those of a desk; `screen`: with those for one."""
    return read_tools(folder() / "tools.yaml", screen)


@cache
def content_digest() -> str:
    """Of every file of the content."""
    files = sorted(path for path in folder().rglob("*") if path.is_file())
    return digest({p.relative_to(folder()).as_posix(): text_digest(p.read_bytes()) for p in files})


def read_row(path: Path) -> Mapping[str, Any]:
    """A task's JSON. Raises BadInputError."""
    try:
        row = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise BadInputError(f"{path}: no JSON: {error}") from error
    if not isinstance(row, dict) or row.get("id") != path.stem:
        raise BadInputError(f"{path}: must be an object whose `id` is the file's name")
    return row
