"""Trials that did not go well become a new registration: their tasks, and how they were chosen.

    traces that count -> troubles by task -> tasks that had enough of them
      -> dataset.json (the list, pinned to the task digests that were frozen)
      -> prereg.yaml  (the parent's, with these tasks, no hypotheses, ready to be edited and frozen)

Tasks chosen by how they went say nothing of other tasks, and part of their trouble was chance and
will not come again: the new registration's description says so.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from hfr_bench.errors import BadInputError
from hfr_bench.lab.register import PREREG, Experiment
from hfr_bench.lab.telemetry import chosen_arms, counted
from hfr_bench.model.dataset import Dataset, DatasetTask, Trouble
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.task import task_name
from hfr_bench.model.trial import Outcome

DATASET = "dataset.json"


class Rule(NamedTuple):
    """What puts a task on the list: `least` trials of `arms` (none = all) with such trouble."""

    troubles: tuple[Trouble, ...] = ("failed", "escalated")
    arms: tuple[str, ...] = ()
    least: int = 1


@dataclass
class _Seen:
    """Trials of a task: all, those with trouble, and how often which."""

    trials: int = 0
    bad: int = 0
    troubles: Counter[Trouble] = field(default_factory=Counter)


def troubles(graded: Outcome) -> tuple[Trouble, ...]:
    """In which ways a graded trial did not go well; see `model.dataset`."""
    found: list[Trouble] = []
    if graded.escalated:
        found.append("escalated")
    elif not graded.succeeded:
        found.append("failed")
    if graded.harm:
        found.append("harmed")
    if graded.accepted and not graded.goal_met:
        found.append("false_accept")
    if graded.succeeded and graded.degraded_steps:
        found.append("degraded")
    return tuple(found)


def choose(experiment: Experiment, rule: Rule) -> Dataset:
    """The tasks that the rule takes, in the frozen order.

    Raises:
        BadInputError: an arm that is not registered; no trial, or no task that the rule takes.
    """
    arms = chosen_arms(experiment, rule.arms)
    found: dict[tuple[str, str], _Seen] = {}
    for one in counted(experiment, arms):
        last: Any = one.reading.events[-1].body
        if last.type != "trial_ended" or last.result.outcome is None:
            continue
        task = found.setdefault((one.row.trial.suite, one.row.trial.task_id), _Seen())
        had = [name for name in troubles(last.result.outcome) if name in rule.troubles]
        task.trials += 1
        task.bad += bool(had)
        task.troubles.update(had)
    seen = sum(task.trials for task in found.values())
    if not seen:
        raise BadInputError(f"{experiment.path} holds no graded trial of {', '.join(arms)} yet")
    tasks = tuple(_tasks(experiment, found, rule.least))
    if not tasks:
        raise BadInputError(f"no task: of {seen} trials of {', '.join(arms)}, none {_said(rule)}")
    return Dataset(
        name=f"{experiment.prereg.name[:56]}-trouble",
        parent=experiment.prereg.name,
        prereg_digest=experiment.lock.prereg_digest,
        origin=experiment.prereg.origin,
        arms=arms,
        troubles=rule.troubles,
        least=rule.least,
        seen=seen,
        of_tasks=len(found),
        tasks=tasks,
    )


def _tasks(
    experiment: Experiment, found: Mapping[tuple[str, str], _Seen], least: int
) -> Iterator[DatasetTask]:
    for pin in experiment.lock.sources:
        for name in pin.tasks:
            task = found.get((pin.suite, name))
            if task is not None and task.bad >= least:
                yield DatasetTask(
                    suite=pin.suite,
                    task_id=name,
                    source_digest=pin.task_digests.get(name, ""),
                    trials=task.trials,
                    troubles=dict(task.troubles),
                )


def _said(rule: Rule) -> str:
    often = "" if rule.least == 1 else f" in {rule.least} trials of one task"
    return f"{' or '.join(rule.troubles)}{often}".replace("_", " ")


def write(experiment: Experiment, made: Dataset, folder: Path) -> None:
    """Write the list and a registration of it into a new folder.

    Raises BadInputError for a folder that is in use.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInputError(f"{folder} is in use: name a new folder, or an empty one")
    folder.mkdir(parents=True, exist_ok=True)
    text = made.model_dump_json(indent=1) + "\n"
    (folder / DATASET).write_text(text, encoding="utf-8")
    (folder / PREREG).write_text(_registration(experiment, made), encoding="utf-8")


def _registration(experiment: Experiment, made: Dataset) -> str:
    suites = tuple(
        SuiteSelection(suite=one.suite, tasks=own, config=one.config)
        for one in experiment.prereg.suites
        if (own := tuple(task.task_id for task in made.tasks if task.suite == one.suite))
    )
    rule = Rule(made.troubles, made.arms, made.least)
    told = (
        f"{len(made.tasks)} of {made.of_tasks} tasks of {made.parent} "
        f"({made.prereg_digest[:12]}, {made.origin}), chosen by how {made.seen} trials of "
        f"{', '.join(made.arms)} went: {_said(rule)}. Rates on them describe these tasks alone; "
        "part of what went wrong was chance, and will not come again."
    )
    prereg = experiment.prereg.model_copy(
        update={
            "name": made.name,
            "title": f"Tasks of {made.parent} that went badly",
            "description": told,
            "suites": suites,
            "hypotheses": (),
            "amends": None,
        }
    )
    plain = prereg.model_dump(mode="json", exclude_defaults=True)
    plain = {"v": 1, "name": plain.pop("name"), **plain}
    head = f"# Made by `hfr-bench dataset`; {DATASET} says how each task went.\n"
    return head + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)


def summary(made: Dataset) -> Sequence[str]:
    """What was chosen, as lines."""
    of = f"{made.seen} trials of {', '.join(made.arms)}"
    lines = [f"{made.origin}: {len(made.tasks)} of {made.of_tasks} tasks, from {of}"]
    for task in made.tasks:
        told = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in task.troubles.items())
        lines.append(f"  {task_name(task.suite, task.task_id)}: {told} of {task.trials}")
    return lines
