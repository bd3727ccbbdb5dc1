"""A registered selection of tasks -> the tasks themselves, drawn where a sample is registered.

Strata are read from the suite's own tasks and solutions, here and nowhere nearer to a strategy.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hfr_bench.errors import BadInputError
from hfr_bench.faults import sampling
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.registered import Sample, SampleDrawn, Stratum, StratumDrawn
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import SideEffect
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
    calls = {task.task_id: _calls(task, suite) for task in tasks}
    if not any(calls.values()):  # a suite without solutions: what is on offer stands for them
        calls = {task.task_id: [tool.name for tool in task.tools] for task in tasks}
    features = [_feature(name, tasks, calls) for name in wanted.strata]
    return {
        task.task_id: " / ".join(feature[task.task_id] for feature in features) or "all"
        for task in tasks
    }


def _calls(task: TaskSpec, suite: Suite) -> list[str]:
    """The agent's calls of the suite's own solution, by tool; none where it does nothing."""
    return [step.tool for step in suite.sealed(task.task_id).oracle if step.actor == "agent"]


def _feature(
    name: Stratum, tasks: Sequence[TaskSpec], calls: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    match name:
        case "domain":
            return {task.task_id: task.stratum or task.domain or UNKNOWN for task in tasks}
        case "level":
            return {task.task_id: f"level {_level(task, calls[task.task_id])}" for task in tasks}
        case "difficulty":
            return sampling.thirds({task: len(found) for task, found in calls.items()}, "steps")
        case "tools":
            return sampling.thirds(
                {task: len(set(found)) for task, found in calls.items()}, "tools"
            )


def _level(task: TaskSpec, called: Sequence[str]) -> str:
    """The highest side-effect level among tools; what calls nothing changes nothing."""
    found = [tool.level for name in set(called) if (tool := task.tool(name)) is not None]
    return max(found, default=SideEffect.READ).value
