"""The verdict on what an agent leaves: its patch, and nothing else, goes into a fresh host."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from hfr_bench.shell.client import Executed
from hfr_bench.suites.swe_bench.apply import apply_patch
from hfr_bench.suites.swe_bench.grade import Evaluation, Grade, cache_key, grade
from hfr_bench.suites.swe_bench.parsers import parser
from hfr_bench.suites.swe_bench.room import EVAL, MODEL_PATCH
from hfr_bench.suites.swe_bench.tasks import RepoTask

NOT_EMPTY = "-"
Task = TypeVar("Task", bound=RepoTask)


class Fresh(Protocol):
    """A host with a task's repository as it was at first; `room.Room` is one."""

    def try_command(self, command: str) -> tuple[int, str]: ...
    def write(self, name: str, text: str) -> str: ...
    def evaluate(self, path: str, timeout_s: float) -> Executed: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class Grader(Generic[Task]):
    """Grades patches in rooms of its own, one a patch; the same patch is graded once.

    `room`: a fresh one for a task; `image`: what it runs in, part of the cache's key.
    """

    room: Callable[[Task], Fresh]
    image: Callable[[Task], str]
    timeout_s: float
    _known: dict[str, Grade] = field(default_factory=dict)
    _turns: dict[str, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def grade(self, task: Task, patch: str, attempt: int = 1) -> Grade:
        """`attempt`: another number grades anew. Raises HostDiedError: the fresh host is gone."""
        gold, baked = task.instance.gold, task.baked
        if not patch.strip():
            return grade(gold, patch, Evaluation(None), parser(baked.log_parser))
        image = self.image(task)
        key = cache_key(task.instance.id, patch, image, baked.eval_script, gold, attempt)
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:  # whoever wants the same verdict waits for it: tests may take minutes
            if key not in self._known:
                done = self.evaluate(task, patch)
                found = grade(gold, patch, done, parser(baked.log_parser), baked.eval_type)
                self._known[key] = found
            return self._known[key]

    def untouched(self, task: Task) -> Grade:
        """The verdict on the repository as it is: no FAIL_TO_PASS may pass, all others must."""
        baked = task.baked
        evaluation = self.evaluate(task, None)
        return grade(
            task.instance.gold, NOT_EMPTY, evaluation, parser(baked.log_parser), baked.eval_type
        )

    def evaluate(self, task: Task, patch: str | None) -> Evaluation:
        """Apply a patch (None: nothing) by the official chain, and run the tests."""
        room = self.room(task)
        try:
            if patch is not None:
                applied = apply_patch(room.try_command, room.write(MODEL_PATCH, patch))
                if not applied.ok:
                    return Evaluation(None, applied=False)
            done = room.evaluate(room.write(EVAL, task.baked.eval_script), self.timeout_s)
            return Evaluation(done.stdout, timed_out=done.timed_out)
        finally:
            room.close()

    def controls(self, task: Task, times: int) -> tuple[str, ...]:
        """What is wrong with a task: its fix, graded so often, and nothing done, graded once.

        The fix is resolved, each time; nothing done is not, and breaks no other test.
        """
        name, problems = task.instance.id, []
        for attempt in range(1, times + 1):
            gold = self.grade(task, task.instance.gold.patch, attempt)
            if not gold.resolved:
                problems.append(f"{name}: its own fix is {gold.outcome} ({gold.reason})")
        skip = self.untouched(task)
        fail, others = skip.fail_to_pass, skip.pass_to_pass
        if fail is None or others is None:
            problems.append(f"{name}: untouched, its tests cannot be read ({skip.reason})")
        elif fail.passed or others.failed:
            problems.append(f"{name}: untouched, {(*fail.passed, *others.failed)[0]} is odd")
        return tuple(problems)
