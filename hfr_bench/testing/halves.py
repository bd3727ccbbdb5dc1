"""Both halves of a fake suite's task, from its tools and the steps of its oracle."""

from collections import Counter
from collections.abc import Sequence

from hfr_bench.model.record import digest
from hfr_bench.model.task import (
    ExpectedEffect,
    FaultPoint,
    OracleStep,
    SealedTask,
    TaskSpec,
    ToolSpec,
)
from hfr_bench.model.terms import Layer


def public(
    suite: str, task_id: str, prompt: str, tools: tuple[ToolSpec, ...], deadline_s: float
) -> TaskSpec:
    """The public half: points are the agent's model, the tools, and the reads of contracts."""
    points = [FaultPoint(point="model:agent", layer=Layer.MODEL, target="agent")]
    for tool in tools:
        point = f"tool:{tool.name}"
        points.append(FaultPoint(point=point, layer=Layer.TOOL, target=tool.name, level=tool.level))
        if tool.reconcile:
            points += [
                FaultPoint(point=f"{why}:{tool.name}", layer=Layer.TOOL, target=tool.reconcile.read)
                for why in ("prepare", "reconcile")
            ]
    return TaskSpec(
        task_id=task_id,
        suite=suite,
        prompt=prompt,
        stratum=suite,
        deadline_s=deadline_s,
        tools=tools,
        fault_points=tuple(points),
        source_digest=digest(task_id),
    )


def sealed(
    suite: str, task_id: str, opening: str, tools: Sequence[ToolSpec], steps: Sequence[OracleStep]
) -> SealedTask:
    """The sealed half: the agent's writes among the oracle's steps are the expected effects."""
    specs = {tool.name: tool for tool in tools}
    counts = Counter(
        (specs[step.tool].natural_key(step.arguments), step.tool)
        for step in steps
        if step.actor == "agent" and specs[step.tool].level.writes
    )
    return SealedTask(
        task_id=task_id,
        suite=suite,
        opening=opening,
        oracle=tuple(steps),
        say=("Done.",),
        expected=tuple(
            ExpectedEffect(natural_key=key, tool=tool, count=n) for (key, tool), n in counts.items()
        ),
    )
