"""Where a user's checkout of AgentBench is: nothing of it is shipped here."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hfr_bench.errors import BadInputError

ROOT = "HFR_BENCH_AGENTBENCH_ROOT"
"""The checkout, for both suites; --data-dir goes before it."""
UPSTREAM = "THUDM/AgentBench"


def checkout(suite: str, data_dir: Path | None) -> Path:
    """The folder. Raises BadInputError that says how to name it."""
    named = os.environ.get(ROOT)
    place = data_dir or (Path(named) if named else None)
    if place is None:
        raise BadInputError(
            f"suite {suite} ships no task: clone {UPSTREAM} and name the folder by "
            f"--data-dir {suite}=DIR or {ROOT} (our own small pack needs none: "
            f"{'db_mini' if suite == 'dbbench' else 'os_mini'})"
        )
    if not (place / "data").is_dir():
        raise BadInputError(f"{place}: no checkout of {UPSTREAM}, there is no folder `data` in it")
    return place


def json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(file:line, object) of each line. Raises BadInputError naming the line that is none."""
    for number, line in enumerate(_text(path).splitlines(), 1):
        where = f"{path}:{number}"
        if line.strip():
            yield where, _object(_parse(line, where), where)


def json_objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(file[index], object) of a JSON file that holds one object or a list of them."""
    found = _parse(_text(path), str(path))
    for number, value in enumerate(found if isinstance(found, list) else [found]):
        where = f"{path}[{number}]"
        yield where, _object(value, where)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: cannot be read: {error}") from error


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInputError(f"{where}: no JSON: {error}") from error


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadInputError(f"{where}: an object is expected")
    return value
