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
def tasks() -> Mapping[str, DeskTask]:
    """By name, sorted. Raises BadInputError naming the file that cannot be used."""
    oracles = content.read_yaml(folder() / "oracles.yaml")
    found = {}
    for path in sorted((folder() / "tasks").glob("*.json")):
        row = read_row(path)
        name = path.stem
        if name not in oracles:
            raise BadInputError(f"{folder() / 'oracles.yaml'}: no solution of {name}")
        found[name] = desk_task(
            row,
            suite=SUITE,
            domain=name.partition("-")[0],
            tools=tool_specs(),
            deadline_s=float(settings()["deadline_s"]),
            oracle=oracles[name],
            assets=folder() / "assets",
            where=str(path),
        )
    return found


@cache
def tool_specs() -> tuple[ToolSpec, ...]:
    """Those of a desk without a screen."""
    return read_tools(folder() / "tools.yaml", screen=False)


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
