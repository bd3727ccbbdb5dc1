"""A registered selection of tasks -> the tasks themselves, drawn where a sample is registered.

Strata are read from the suite's own tasks and solutions, here and nowhere nearer to a strategy.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from hfr_bench.errors import BadInputError
from hfr_bench.faults import sampling
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.registered import Sample, SampleDrawn, Stratum, StratumDrawn
from hfr_bench.model.task import TaskSpec
from hfr_bench.ports.suite import Suite

UNKNOWN = "unknown"


class Drawn(NamedTuple):
    """What is registered of a suite, with the tasks that it comes to; how they were drawn."""

    selection: SuiteSelection
    sample: SampleDrawn | None = None


def resolved(selection: SuiteSelection, suite: Suite) -> Drawn:
    """A selection whose sample, if it has one, is drawn: its tasks are then listed by id.

    Raises BadInputError for a sample larger than what it is drawn from.
    """
    wanted = selection.sample
    if wanted is None:
        return Drawn(selection)
    whole = selection.model_copy(update={"sample": None})
    strata = strata_of(suite.select(whole), suite, wanted)
    try:
        tasks = sampling.drawn(strata, wanted.n, wanted.seed, selection.suite)
    except ValueError as error:
        raise BadInputError(
            f"suites.{selection.suite}.sample: {error}; take fewer, or a larger pool"
        ) from error
    chosen = whole.model_copy(update={"pool": None, "tasks": tasks})
    return Drawn(chosen, told(selection.suite, wanted, strata, tasks))


def told(suite: str, wanted: Sample, strata: dict[str, str], tasks: Sequence[str]) -> SampleDrawn:
    """A draw as the lock keeps it."""
    sizes, taken = Counter(strata.values()), Counter(strata[task] for task in tasks)
    rows = (StratumDrawn(stratum=name, of=sizes[name], drawn=taken[name]) for name in sorted(sizes))
    return SampleDrawn(suite=suite, n=len(tasks), seed=wanted.seed, strata=tuple(rows), pool=strata)


def strata_of(tasks: Sequence[TaskSpec], suite: Suite, wanted: Sample) -> dict[str, str]:
    """Every task's stratum: what the registered features say of it, joined."""
    features = [_feature(name, tasks, suite) for name in wanted.strata]
    return {
        task.task_id: " / ".join(feature[task.task_id] for feature in features) or "all"
        for task in tasks
    }


def _feature(name: Stratum, tasks: Sequence[TaskSpec], suite: Suite) -> dict[str, str]:
    match name:
        case "domain":
            return {task.task_id: task.stratum or task.domain or UNKNOWN for task in tasks}
        case "level":
            return {task.task_id: f"level {_level(task, suite)}" for task in tasks}
        case "difficulty":
            steps = {task.task_id: len(_calls(task, suite)) for task in tasks}
            return sampling.thirds(steps, "steps")
        case "tools":
            return sampling.thirds(
                {task.task_id: len(set(_calls(task, suite)) or task.tools) for task in tasks},
                "tools called",
            )


def _calls(task: TaskSpec, suite: Suite) -> list[str]:
    """The agent's calls of the suite's own solution, by tool; empty where there is none."""
    return [step.tool for step in suite.sealed(task.task_id).oracle if step.actor == "agent"]


def _level(task: TaskSpec, suite: Suite) -> str:
    """The highest side-effect level of what the solution calls; of all tools without one."""
    called = [task.tool(name) for name in set(_calls(task, suite))] or task.tools
    levels = [tool.level.value for tool in called if tool is not None]
    return max(levels, default=UNKNOWN)
