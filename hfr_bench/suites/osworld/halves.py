"""A task in OSWorld's JSON, as public and sealed halves, and how it is begun and graded."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import json_digest
from hfr_bench.model.task import (
    ExpectedEffect,
    OracleStep,
    SealedTask,
    TaskSpec,
    ToolSpec,
)
from hfr_bench.suites._tools import fault_points, short_tool
from hfr_bench.suites.osworld.contracts import level_of

INFEASIBLE = "infeasible"
PROMPT = """\
You work on a computer. Its user's home folder is /home/user. Do this task:

{instruction}

When it is done, call `finish` with DONE. If it cannot be done on this computer, leave all as it is
and call `finish` with FAIL."""
_NEEDED = ("id", "instruction", "config", "evaluator")


@dataclass(frozen=True, slots=True)
class DeskTask:
    """One task. `row`: as it lies there; `assets`: where files for its steps are read from."""

    public: TaskSpec
    sealed: SealedTask = field(repr=False)
    row: Mapping[str, Any] = field(repr=False)
    assets: Path | None = None

    @property
    def infeasible(self) -> bool:
        """Whether it is to be answered by FAIL."""
        return bool(self.row["evaluator"].get("func") == INFEASIBLE)

    @property
    def config(self) -> Sequence[Mapping[str, Any]]:
        """The steps before an episode."""
        found: Sequence[Mapping[str, Any]] = self.row["config"]
        return found

    @property
    def evaluator(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.row["evaluator"]
        return found


def desk_task(
    row: Mapping[str, Any],
    *,
    suite: str,
    domain: str,
    tools: Sequence[ToolSpec],
    deadline_s: float,
    oracle: Sequence[Mapping[str, Any]] = (),
    assets: Path | None = None,
    where: str = "",
) -> DeskTask:
    """A task of a row. `oracle`: steps {tool: arguments}. Raises BadInputError naming the row."""
    if lacks := [key for key in _NEEDED if key not in row]:
        raise BadInputError(f"{where}: lacks {', '.join(lacks)}")
    if not isinstance(row["evaluator"], Mapping) or not isinstance(row["config"], list):
        raise BadInputError(f"{where}: `evaluator` must be an object, and `config` a list")
    steps = tuple(_step(one, tools, where) for one in oracle)
    public = TaskSpec(
        task_id=row["id"],
        suite=suite,
        domain=domain,
        prompt=PROMPT.format(instruction=row["instruction"]),
        stratum=domain,
        deadline_s=deadline_s,
        tools=tuple(tools),
        fault_points=fault_points(tools),
        source_digest=json_digest(dict(row)),
    )
    sealed = SealedTask(
        task_id=row["id"], suite=suite, oracle=steps, expected=_expected(steps, tools)
    )
    return DeskTask(public, sealed, row, assets)


def read_tools(path: Path, screen: bool) -> tuple[ToolSpec, ...]:
    """tools.yaml; `screen`: those with it, too. Raises BadInputError naming each wrong key."""
    made = []
    for name, row in content.read_yaml(path).items():
        if row.get("profile") == "gui" and not screen:
            continue
        rest = {key: value for key, value in row.items() if key != "profile"}
        made.append(short_tool(path, name, rest))
    return tuple(made)


def _step(one: Mapping[str, Any], tools: Sequence[ToolSpec], where: str) -> OracleStep:
    if len(one) != 1:
        raise BadInputError(f"{where}: a step is one tool and its arguments, not {dict(one)!r}")
    ((tool, arguments),) = one.items()
    if tool not in {spec.name for spec in tools}:
        raise BadInputError(
            f"{where}: no tool {tool!r}; there are: {', '.join(spec.name for spec in tools)}"
        )
    return OracleStep(actor="agent", tool=tool, arguments=dict(arguments or {}))


def _expected(steps: Sequence[OracleStep], tools: Sequence[ToolSpec]) -> tuple[ExpectedEffect, ...]:
    """The steps that may change something; one that does not is never missed."""
    specs = {spec.name: spec for spec in tools}
    counts = Counter(
        (step.tool, specs[step.tool].natural_key(step.arguments))
        for step in steps
        if (level_of(step.tool, step.arguments) or specs[step.tool].level).writes
    )
    return tuple(
        ExpectedEffect(natural_key=key, tool=tool, count=n) for (tool, key), n in counts.items()
    )
