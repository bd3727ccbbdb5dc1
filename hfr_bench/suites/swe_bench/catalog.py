"""The user's rows as public and sealed halves, read when they are asked for."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest
from hfr_bench.model.task import SealedTask, TaskSpec, ToolSpec
from hfr_bench.suites._selecting import pooled
from hfr_bench.suites._tools import read_tools
from hfr_bench.suites.swe_bench.load import load
from hfr_bench.suites.swe_bench.looking import Project
from hfr_bench.suites.swe_bench.parsers import PARSER_OF_REPO, PARSERS
from hfr_bench.suites.swe_bench.recipes import baked, find_recipe, recipes
from hfr_bench.suites.swe_bench.rows import Instance
from hfr_bench.suites.swe_bench.steps import commands
from hfr_bench.suites.swe_bench.tasks import RepoTask, public_task, sealed_task

SUITE = "swe_bench"
_SET_UP = ":/^SWE-bench"  # images commit what setting up has changed, under that name


def folder() -> Path:
    """Where the content lies."""
    return content.root() / "suites" / SUITE


def settings() -> Mapping[str, Any]:
    """suite.yaml."""
    found: Mapping[str, Any] = content.read_yaml(folder() / "suite.yaml")
    return found


def tool_specs() -> tuple[ToolSpec, ...]:
    """tools.yaml. Raises BadInputError naming each wrong key."""
    return read_tools(folder() / "tools.yaml")


class Catalog:
    """The tasks of a source, which `source` names when the first is asked for.

    Every method raises BadInputError for rows that cannot be read (see `load`).
    """

    def __init__(
        self, source: Callable[[], str | Path], split: str = "test", revision: str | None = None
    ) -> None:
        self._source, self._split, self._revision = source, split, revision
        self._instances: dict[str, Instance] = {}
        self._whole = False
        self._tasks: dict[str, RepoTask] = {}

    def chosen(self, ids: Sequence[str]) -> tuple[TaskSpec, ...]:
        """The public halves of tasks, in the order of `ids`; other rows may be broken."""
        if missing := [task_id for task_id in ids if task_id not in self._instances]:
            self._read(missing)
        return tuple(_public(self._instances[task_id]) for task_id in ids)

    def pool(self, name: str) -> tuple[TaskSpec, ...]:
        """`all`, `base`, or the tasks of one repository. Raises BadInputError for another name."""
        if not self._whole:
            self._read(None)
            self._whole = True
        found = {i: _public(instance) for i, instance in self._instances.items()}
        repos = {task_id: task.domain for task_id, task in found.items()}
        return tuple(found[task_id] for task_id in pooled(SUITE, name, repos, {}))

    def instance(self, task_id: str) -> Instance:
        """The row of a task."""
        self.chosen((task_id,))
        return self._instances[task_id]

    def project(self, task_id: str) -> Project:
        """What is public of a task's repository, for checks; its tests, where a recipe has them."""
        instance = self.instance(task_id)
        problem, recipe = instance.problem, find_recipe(instance, recipes())
        known = PARSER_OF_REPO.get(problem.repo) if recipe is not None else None
        test = recipe.test if recipe is not None and known is not None else ""
        return Project((_SET_UP, problem.base_commit), test, known or "")

    def sealed(self, task_id: str) -> SealedTask:
        """The grading half: the fix, as the commands of `steps`."""
        instance = self.instance(task_id)
        return sealed_task(instance, SUITE, commands(instance.gold.patch), tool_specs())

    def task(self, task_id: str) -> RepoTask:
        """A task as it is run. Raises BadInputError for one that cannot be, saying why."""
        if task_id not in self._tasks:
            instance = self.instance(task_id)
            how = baked(instance, recipes())
            if how.log_parser not in PARSERS:
                raise BadInputError(
                    f"{instance.where} ({task_id}): no parser {how.log_parser!r} here; there are: "
                    + ", ".join(sorted(PARSERS))
                )
            if instance.gold.test_assets:
                raise BadInputError(
                    f"{instance.where} ({task_id}): its tests need files that the test patch "
                    "cannot carry (image_assets); nothing puts them in place"
                )
            public, sealed = _public(instance), self.sealed(task_id)
            self._tasks[task_id] = RepoTask(public, sealed, instance, how)
        return self._tasks[task_id]

    def _read(self, ids: Sequence[str] | None) -> None:
        rows = load(self._source(), ids, split=self._split, revision=self._revision)
        self._instances |= {instance.id: instance for instance in rows}


def _public(instance: Instance) -> TaskSpec:
    gold, how = instance.gold, instance.baked
    problem = instance.problem
    return public_task(
        instance,
        suite=SUITE,
        tools=tool_specs(),
        deadline_s=float(settings()["deadline_s"]),
        source_digest=digest(
            [
                *(
                    problem.repo,
                    problem.base_commit,
                    problem.statement,
                    instance.environment_commit,
                ),
                *(gold.patch, gold.test_patch, list(gold.fail_to_pass), list(gold.pass_to_pass)),
                [how.image, how.eval_script, how.log_parser, how.eval_type] if how else None,
            ]
        ),
    )
