"""The container images of suites: built by starting each suite's tool host once.

Where every task has an image of its own, those of the named tasks are made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hfr_bench import plugins
from hfr_bench.errors import BadInputError
from hfr_bench.lab.wire import Place, open_suite
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.ports.suite import Imaged, Suite


class SuiteImage(NamedTuple):
    """What a suite's hosts run in; `image_id` is None in a sandbox that needs no image.

    `task`: whose image it is, where each has its own.
    """

    suite: str
    sandbox: str
    image_id: str | None
    task: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whose images, of suites where each task has its own, and what to build them with.

    `tasks` or a `pool`; `config`: the suite's settings; `repos`, `pythons`: see `ports.suite`.
    """

    tasks: tuple[str, ...] = ()
    pool: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    repos: Path | None = None
    pythons: Path | None = None


def build_images(
    suites: Sequence[str], place: Place, wanted: Wanted | None = None
) -> Iterator[SuiteImage]:
    """Each named suite's image (none named: all suites'), told as soon as it is there.

    Built in `place.sandbox`, by default `docker`. Raises BadInputError for an unknown suite and for
    tasks that are not named where each has an image of its own; SandboxUnavailableError if an image
    cannot be made.
    """
    wanted = wanted or Wanted()
    for name in suites or tuple(plugins.offered("suites")):
        config = wanted.config if len(suites) == 1 else {}
        with open_suite(name, place, default="docker", config=config) as (suite, sandbox):
            if not isinstance(suite, Imaged):
                try:  # asks a host, in its image
                    suite.select(SuiteSelection(suite=name, pool="base"))
                except BadInputError as error:  # its tasks are other people's, and not named
                    if suites:
                        raise
                    place.tell(str(error))
                    continue
                yield SuiteImage(name, sandbox.name, sandbox.image_id)
            elif wanted.tasks or wanted.pool:
                chosen = SuiteSelection(suite=name, pool=wanted.pool, tasks=wanted.tasks)
                for task, image_id in suite.make_images(chosen, wanted.repos, wanted.pythons):
                    yield SuiteImage(name, sandbox.name, image_id, task)
            elif len(suites) == 1:
                raise BadInputError(
                    f"each task of suite {name} has an image of its own: name tasks by --task ID, "
                    "or --pool NAME"
                )
            else:
                place.tell(f"{name}: each of its tasks has an image of its own (--task ID)")


def image_of(suite: Suite, sandbox: Sandbox, task_id: str) -> str | None:
    """The id of the image that a trial of the task runs in; None where there is none."""
    return suite.image_of(task_id) if isinstance(suite, Imaged) else sandbox.image_id
