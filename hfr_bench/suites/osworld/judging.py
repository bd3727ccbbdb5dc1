"""How an episode's desk is begun and judged: OSWorld's steps and evaluators, by the guest's API."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hfr_bench.errors import InfrastructureError
from hfr_bench.suites.osworld.desk import Desk
from hfr_bench.suites.osworld.episode import Verdict
from hfr_bench.suites.osworld.grade import grade
from hfr_bench.suites.osworld.halves import DeskTask
from hfr_bench.suites.osworld.setup import run_steps
from hfr_bench.suites.osworld.world import PlainWorld

Sleep = Callable[[float], None]


class Judging:
    """Steps and verdicts of one desk. `sleeping`: how a step's wait passes.

    `cache`: the folder with a task's files that evaluators are handed; None: it has none.
    """

    def __init__(self, sleeping: Sleep, cache: Callable[[DeskTask], Path | None]) -> None:
        self._sleeping = sleeping
        self._cache = cache

    def begin(self, task: DeskTask, desk: Desk) -> None:
        """A task's own steps. Raises InfrastructureError: one did not work."""
        with tempfile.TemporaryDirectory(prefix="hfr-desk-") as folder:
            run_steps(task.config, self._world(task, desk, (), Path(folder)), task.assets)

    def judge(self, task: DeskTask, desk: Desk, did: Sequence[str]) -> Verdict:
        """Raises InfrastructureError: what was to be told before the run, that it cannot be."""
        with tempfile.TemporaryDirectory(prefix="hfr-desk-") as folder:
            found = grade(task.evaluator, self._world(task, desk, did, Path(folder)))
        if found.score is None:
            raise InfrastructureError(f"{task.public.task_id}: {found.ungradeable}")
        return Verdict(found.score, found.error)

    def _world(self, task: DeskTask, desk: Desk, did: Sequence[str], folder: Path) -> PlainWorld:
        """The evaluator works on a copy of the task's cache, and leaves nothing in it."""
        kept = self._cache(task)
        if kept is not None and kept.is_dir():
            shutil.copytree(kept, folder, dirs_exist_ok=True)
        return PlainWorld(guest=desk.guest, cache=folder, sleeping=self._sleeping, actions=did)
