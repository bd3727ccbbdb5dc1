"""The steps of a solution as people write them: one action a line. Pure."""

import re
from collections.abc import Callable
from typing import Any

from hfr_bench.errors import BadInputError
from hfr_bench.model.task import OracleStep
from hfr_bench.suites.webarena.acting.contracts import STOP

_STEP = re.compile(
    r"(?P<verb>\w+) (?P<role>\w+) (?P<quote>['\"])(?P<name>.*?)(?P=quote)"
    r"(?: = (?P<text>.*?)| @ (?P<on>\S+))?"
)


def read_step(line: str, where: str, shown: Callable[[str], str]) -> OracleStep:
    """A line: `goto URL`, `click ROLE 'NAME'`, `… @ PATH`, `type ROLE 'NAME' = TEXT`, `stop TEXT`.

    `shown`: puts addresses for the sites' placeholders in a `goto`. Raises BadInputError.
    """
    if line.startswith("goto "):
        url = shown(line.removeprefix("goto ").strip())
        return OracleStep(actor="agent", tool="goto", arguments={"url": url})
    if line.startswith(f"{STOP} "):
        return stop(line.removeprefix(f"{STOP} "))
    found = _STEP.fullmatch(line)
    if found is None:
        raise BadInputError(f"{where}: no step {line!r}: see suites/web_mini/tasks/README.md")
    arguments: dict[str, Any] = {"role": found["role"], "name": found["name"]}
    if found["on"]:
        arguments["on"] = found["on"]
    if found["text"] is not None:
        arguments["option" if found["verb"] == "select" else "text"] = found["text"]
    return OracleStep(actor="agent", tool=found["verb"], arguments=arguments)


def stop(answer: str) -> OracleStep:
    """The step that ends a task with an answer."""
    return OracleStep(actor="agent", tool=STOP, arguments={"answer": answer})
