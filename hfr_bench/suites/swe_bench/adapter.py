"""The `Suite` of SWE-bench: real issues, a container of the instance's image for each trial."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.record import digest, text_digest
from hfr_bench.model.task import Probe, SealedTask, TaskSpec
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.sandbox import Images, Sandbox
from hfr_bench.shell import ran
from hfr_bench.suites._selecting import check_one_way
from hfr_bench.suites.swe_bench.building import Ingredients
from hfr_bench.suites.swe_bench.catalog import SUITE, Catalog, folder, settings
from hfr_bench.suites.swe_bench.exposed import EXPOSURE, BenchWorld
from hfr_bench.suites.swe_bench.grade import GRADER
from hfr_bench.suites.swe_bench.grading import Grader
from hfr_bench.suites.swe_bench.source import DATA, find_source
from hfr_bench.suites.swe_bench.tasks import RepoTask
from hfr_bench.suites.swe_bench.testbed import AGENT, TestbedRoom, image_spec, lacking
from hfr_bench.suites.swe_bench.verifier import CommandVerifier, level_of_call
from hfr_bench.suites.swe_bench.world import Workplace

CONTROLS = 1
"""How often a task's fix is graded by itself in `validate`; minutes each."""
_SHOWN = 5


class SweBenchSuite:
    """SWE-bench: issues of real repositories, from rows of your own, in containers alone.

    `data_dir`: a file of rows, a task repository, a saved dataset, or a folder with files of rows;
    `rows`: which file of it, or a name on the hub, there with `split` and `revision`.
    `image_template`: how images are called that are not called as upstream's, `arch` theirs.
    Implements `ports.suite.Suite`, `Levelled`, `Controlled`, `Imaged`, `ports.verifier.Checked` and
    `ports.exposure.Bearing`.
    Pools: all and base (every row), and one a repository.
    """

    name = SUITE
    agent = "bash"  # what `hfr-bench new` writes
    exposure = EXPOSURE

    @staticmethod
    def diagnose() -> Diagnosis:
        """For `hfr-bench doctor`."""
        return Diagnosis(
            None,
            "in containers only; ships no rows and no images",
            f"name rows by --data-dir or {DATA}; then hfr-bench images swe_bench --task ID",
        )

    def __init__(
        self,
        sandbox: Sandbox,
        data_dir: Path | None = None,
        rows: str = "",
        split: str = "test",
        revision: str | None = None,
        image_template: str | None = None,
        arch: str = "x86_64",
        command_timeout_s: float | None = None,
        eval_timeout_s: float | None = None,
        memory_mib: int | None = None,
    ) -> None:
        self._sandbox = sandbox
        found = settings()
        self._catalog = Catalog(lambda: find_source(rows, data_dir), split, revision)
        self._template, self._arch = image_template, arch
        self._timeout_s = float(command_timeout_s or found["command_timeout_s"])
        self._memory_mib = int(memory_mib or found["memory_mib"])
        self._grader = Grader[RepoTask](
            self._fresh,
            lambda task: str(self.image_of(task.instance.id)),
            float(eval_timeout_s or found["eval_timeout_s"]),
        )
        self._ids: dict[str, str] = {}

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        check_one_way(SUITE, selection)
        if selection.pool:
            return self._catalog.pool(selection.pool)
        return self._catalog.chosen(selection.tasks)

    def sealed(self, task_id: str) -> SealedTask:
        return self._catalog.sealed(task_id)

    def pin(self, selection: SuiteSelection) -> SourcePin:
        """Raises BadInputError if a chosen task cannot be run here, saying what is missing."""
        chosen = self.select(selection)
        ids = tuple(task.task_id for task in chosen)
        self._check(ids)
        specs = {i: image_spec(self._catalog.instance(i), self._template, self._arch) for i in ids}
        return SourcePin(
            suite=SUITE,
            distribution="SWE-bench rows",
            version=f"{digest([task.source_digest for task in chosen])[:12]}, {GRADER}",
            content_digest=digest(
                [text_digest(path.read_text("utf-8")) for path in sorted(folder().iterdir())]
            ),
            tasks=ids,
            task_digests={task.task_id: task.source_digest for task in chosen},
            domains={f"{i}.image": digest([*s.names, s.identity]) for i, s in specs.items()},
        )

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        return ran.landed(predicate, before, after, arguments)

    def level_of(self, tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
        """Of this very command; None where the tool's own stands."""
        return level_of_call(tool, arguments)

    def verifier(self, task: TaskSpec) -> CommandVerifier:
        """Strategy-side checks of commands and what they leave; they know what the agent knows."""
        return CommandVerifier(task, self._catalog.project(task.task_id))

    def controls(self, task_id: str) -> tuple[str, ...]:
        """The row's own fix is resolved; nothing done is not, and breaks no other test."""
        return self._grader.controls(self._catalog.task(task_id), CONTROLS)

    def probes(self) -> tuple[Probe, ...]:
        return ()

    def make_images(
        self, selection: SuiteSelection, repos: Path | None, pythons: Path | None
    ) -> Iterator[tuple[str, str]]:
        """Each chosen task's image: there, pulled, or built (with `repos`, from git mirrors)."""
        images = self._images()
        given = Ingredients(repos, pythons) if repos is not None else None
        for task in self.select(selection):
            instance = self._catalog.instance(task.task_id)
            spec = image_spec(instance, self._template, self._arch, given)
            yield task.task_id, images.make_image(spec)

    def image_of(self, task_id: str) -> str | None:
        """The id of the image that a task's containers are made of; None if there is none."""
        if task_id not in self._ids:
            spec = image_spec(self._catalog.instance(task_id), self._template, self._arch)
            found = self._images().image_there(spec)
            if found is None:
                return None
            self._ids[task_id] = found
        return self._ids[task_id]

    def open(self) -> BenchWorld:
        self._images()
        return BenchWorld(self._catalog.task, self._workplace, self._grader, self._timeout_s)

    def close(self) -> None:
        self._sandbox.close()

    def _workplace(self, task: RepoTask, used: Workplace | None) -> TestbedRoom:
        """A container of its own for every trial: nothing has to be put back."""
        if used is not None:
            used.close()
        return self._room(task, AGENT, persists=True)

    def _fresh(self, task: RepoTask) -> TestbedRoom:
        return self._room(task, {})

    def _room(
        self, task: RepoTask, env: Mapping[str, str], *, persists: bool = False
    ) -> TestbedRoom:
        spec = image_spec(task.instance, self._template, self._arch)
        return TestbedRoom(self._sandbox, spec, env, self._memory_mib, persists=persists)

    def _images(self) -> Images:
        if not self._sandbox.contained or not isinstance(self._sandbox, Images):
            raise BadInputError(
                f"suite {SUITE} runs in containers of its images alone, not in sandbox "
                f"{self._sandbox.name}: use --sandbox docker"
            )
        return self._sandbox

    def _check(self, ids: tuple[str, ...]) -> None:
        """Raises BadInputError naming up to five tasks that cannot be run, and why."""
        self._images()
        wrong = []
        for task_id in ids:
            try:
                self._catalog.task(task_id)
            except BadInputError as error:
                wrong.append(str(error))
            else:
                if self.image_of(task_id) is None:
                    wrong.append(f"no image of {lacking(self._catalog.instance(task_id))}")
        if wrong:
            more = f"\nand {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
            raise BadInputError(
                f"suite {SUITE}: {len(wrong)} of {len(ids)} tasks cannot be run here\n"
                + "\n".join(wrong[:_SHOWN])
                + more
            )
