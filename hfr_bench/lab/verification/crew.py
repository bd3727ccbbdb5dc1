"""A second process for long verifications: what it does, and that nothing depends on it.

Work is asked for, and its result fetched later. What a helper cannot do, for whatever reason, is
done here: then the same error comes up here, or none.

A helper is a fork where nothing speaks against it: it has loaded and read all that this process has
by then. Elsewhere it is a new process, which loads what it needs while this one loads its own.
"""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import partial
from importlib import import_module
from multiprocessing import get_context, parent_process
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Job = TypeVar("Job")

WORTH = 8 * 1024**2
"""Bytes of a bundle from which on a second process is worth its start (a second)."""
PACKED = WORTH // 6
"""Bytes of a zip that is likely to hold so many."""
_LOADS = "hfr_bench.lab.verification.helper"
_THREADS = "/proc/self/task"  # a folder a thread, whoever started it


class Asked(Generic[T]):
    """Work that was asked for: call it for its result."""

    def __init__(self, here: Callable[[], T], there: "Future[T] | None" = None) -> None:
        self._here, self._there = here, there

    def take_back(self) -> None:
        """Do it now, unless somebody else has begun it."""
        if self._there is None or self._there.cancel():
            self._there, result = None, self._here()
            self._here = lambda: result

    def __call__(self) -> T:
        """The result; errors are those of doing it here."""
        if self._there is not None:
            try:
                return self._there.result()
            except Exception:  # noqa: BLE001 - whatever befell the helper
                self._there = None
        return self._here()


class Crew(AbstractContextManager["Crew"]):
    """This process, and those that help it once `begin` was called.

    `processes`: at most so many, this one included; None: two, if there are two processors.
    """

    def __init__(self, processes: int | None = None) -> None:
        self._processes = min(2, _processors()) if processes is None else processes
        self._pool: ProcessPoolExecutor | None = None
        self._asked: list[Future[Any]] = []

    @property
    def helped(self) -> bool:
        """Whether there are helpers."""
        return self._pool is not None

    def expect(self) -> None:
        """Say that `begin` is to come: helpers that take long to start are started."""
        if not may_fork():
            self.begin()

    def begin(self) -> None:
        """Have helpers started, once; where that is not possible there are none."""
        if self._pool is not None or self._processes < 2:
            return
        try:
            how = get_context("fork" if may_fork() else "spawn")
            self._pool = ProcessPoolExecutor(self._processes - 1, how, initializer=_settle)
            self._pool.submit(_load)
        except (OSError, ImportError, NotImplementedError):  # no semaphores, no processes
            self._pool = None

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            for one in self._asked:
                one.cancel()
            with suppress(RuntimeError):  # they have gone already
                # At once: taking down all that it has loaded takes a helper a tenth of a second.
                self._pool.submit(os._exit, 0)
            self._pool.shutdown()
            self._pool = None

    def ask(
        self, do: Callable[..., T], *args: Any, here: Callable[[], T] | None = None
    ) -> Asked[T]:
        """Have `do(*args)` done. `here`: how this process does the same, if otherwise."""
        own = here or (lambda: do(*args))
        if self._pool is None:
            return Asked(own)
        try:
            there = self._pool.submit(do, *args)
        except RuntimeError:  # BrokenProcessPool: a helper died
            return Asked(own)
        self._asked.append(there)
        return Asked(own, there)

    def share(
        self,
        there: Callable[[Job], T],
        here: Callable[[Job], T],
        jobs: Sequence[Job],
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Iterator[T]:
        """The results of all jobs, in their order.

        Helpers take them from the first on, this process from the last: all end together. What it
        has to do first (`meanwhile`) keeps nobody waiting.
        """
        asked = [self.ask(there, job, here=partial(here, job)) for job in jobs]
        meanwhile()
        for one in reversed(asked):
            one.take_back()
        return (one() for one in asked)


def may_fork() -> bool:
    """Whether this process may be forked: no other thread of it holds a lock, or anything else."""
    try:
        return len(os.listdir(_THREADS)) == 1  # noqa: PTH208 - a count
    except OSError:  # not on every system; where it is not, a fork is not safe either
        return False


def _settle() -> None:
    """In a helper: end when we end, however that is, and leave ^C to us.

    No search for reference cycles either: what it makes is handed over, or stays.
    """
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _load() -> None:
    """In a helper: load what it will need."""
    import_module(_LOADS)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
