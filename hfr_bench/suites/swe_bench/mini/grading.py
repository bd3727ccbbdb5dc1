"""The verdict on what an agent leaves: its patch, and nothing else, goes into a fresh host."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from hfr_bench.suites.swe_bench.apply import apply_patch
from hfr_bench.suites.swe_bench.grade import Evaluation, Grade, cache_key, grade
from hfr_bench.suites.swe_bench.mini.catalog import MiniTask
from hfr_bench.suites.swe_bench.mini.room import EVAL, MODEL_PATCH, Room
from hfr_bench.suites.swe_bench.parsers import parser

NOT_EMPTY = "-"


@dataclass(slots=True)
class Grader:
    """Grades patches in rooms of its own, one a patch; the same patch is graded once.

    `image`: what they run in, part of the cache's key.
    """

    room: Callable[[], Room]
    image: Callable[[], str]
    timeout_s: float
    _known: dict[str, Grade] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def grade(self, task: MiniTask, patch: str, attempt: int = 1) -> Grade:
        """`attempt`: another number grades anew. Raises HostDiedError: the fresh host is gone."""
        gold, baked = task.instance.gold, task.baked
        if not patch.strip():
            return grade(gold, patch, Evaluation(None), parser(baked.log_parser))
        key = cache_key(task.instance.id, patch, self.image(), baked.eval_script, gold, attempt)
        with self._lock:
            known = self._known.get(key)
        if known is None:
            evaluation = self.evaluate(task, patch)
            known = grade(gold, patch, evaluation, parser(baked.log_parser), baked.eval_type)
            with self._lock:
                self._known[key] = known
        return known

    def untouched(self, task: MiniTask) -> Grade:
        """The verdict on the repository as it is: no FAIL_TO_PASS may pass, all others must."""
        baked = task.baked
        evaluation = self.evaluate(task, None)
        return grade(
            task.instance.gold, NOT_EMPTY, evaluation, parser(baked.log_parser), baked.eval_type
        )

    def evaluate(self, task: MiniTask, patch: str | None) -> Evaluation:
        """Apply a patch (None: nothing) by the official chain, and run the tests."""
        room = self.room()
        try:
            room.make(task)
            if patch is not None:
                applied = apply_patch(room.try_command, room.write(MODEL_PATCH, patch))
                if not applied.ok:
                    return Evaluation(None, applied=False)
            done = room.evaluate(room.write(EVAL, task.baked.eval_script), self.timeout_s)
            return Evaluation(done.stdout, timed_out=done.timed_out)
        finally:
            room.close()
