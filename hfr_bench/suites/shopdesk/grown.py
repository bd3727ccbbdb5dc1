"""What a seed gives: its tasks, pools of them, and what pins them. Pure; no host is asked."""

from functools import cached_property

from hfr_bench import __version__
from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import Criticality
from hfr_bench.suites.shopdesk.catalog import SUITE, content_digest, read_content
from hfr_bench.suites.shopdesk.draft import GENERATOR
from hfr_bench.suites.shopdesk.generate import CELLS, DOMAIN, Instance, generate, seed_digest

MOST_TASKS = 999


def how_many(tasks: object) -> int:
    """The registered number of tasks; None: the manifest's. Raises BadInputError."""
    if tasks is None:
        tasks = read_content("suite")["tasks"]
    if not isinstance(tasks, int) or isinstance(tasks, bool) or not 1 <= tasks <= MOST_TASKS:
        raise BadInputError(
            f"suite {SUITE}: tasks must be a number from 1 to {MOST_TASKS}, not {tasks!r}"
        )
    return tasks


class Grown:
    """The first `count` tasks of a seed, made when they are first asked for."""

    def __init__(self, seed: str, count: int) -> None:
        self._seed, self._count = seed, count

    @cached_property
    def instances(self) -> dict[str, Instance]:
        """By task id, in their order."""
        made = (generate(self._seed, number) for number in range(self._count))
        return {instance.public.task_id: instance for instance in made}

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        """Raises BadInputError for an unknown pool or task id."""
        if bool(selection.pool) == bool(selection.tasks):
            raise BadInputError(f"suite {SUITE}: name either a `pool` or `tasks`, one of the two")
        ids = self._pool(selection.pool) if selection.pool else selection.tasks
        for task_id in ids:
            if task_id not in self.instances:
                raise BadInputError(
                    f"suite {SUITE} has no task {task_id!r}; with this seed there are "
                    f"{self._count}, such as {next(iter(self.instances))!r} (config: tasks)"
                )
        return tuple(self.instances[task_id].public for task_id in ids)

    def pin(self, selection: SuiteSelection) -> SourcePin:
        """The seed itself is not told: a frozen held-out set may still be a secret."""
        tasks = self.select(selection)
        return SourcePin(
            suite=SUITE,
            distribution="hfr-bench",
            version=f"{__version__}, generator {GENERATOR}",
            content_digest=content_digest(),
            tasks=tuple(task.task_id for task in tasks),
            task_digests={task.task_id: task.source_digest for task in tasks},
            domains={f"{DOMAIN}.seed": seed_digest(self._seed)},
        )

    def _pool(self, name: str) -> tuple[str, ...]:
        ids = tuple(self.instances)
        if name == "base":
            return ids
        if name == "demo":
            if len(ids) < len(CELLS):
                raise BadInputError(f"suite {SUITE}: the pool demo needs {len(CELLS)} tasks")
            return ids[: len(CELLS)]
        if name in tuple(Criticality):
            return tuple(i for i in ids if self.instances[i].public.criticality == name)
        offered = ", ".join(("base", "demo", *Criticality))
        raise BadInputError(f"suite {SUITE} has no pool {name!r}; there are: {offered}")
