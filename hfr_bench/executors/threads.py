"""Long-lived worker threads, each with a scope opened, used and closed in that thread."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

Scope = TypeVar("Scope")
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class ThreadsExecutor:
    """Worker threads in this process, each with a scope of its own."""

    def __init__(self, workers: int = 1) -> None:
        if workers < 1:
            raise ValueError(f"at least one worker is needed, got {workers}")
        self._workers = workers

    def run(
        self,
        items: Iterable[Item],
        open_scope: Callable[[int], AbstractContextManager[Scope]],
        work: Callable[[Scope, Item], Answer],
        hurry: Callable[[], None] = lambda: None,
    ) -> Iterator[Answer]:
        waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
        for item in items:
            waiting.put(item)
        results: queue.SimpleQueue[Answer | _Broke | _Ended] = queue.SimpleQueue()
        stop = threading.Event()

        def labour(number: int) -> None:
            try:
                with open_scope(number) as scope:
                    while not stop.is_set():
                        try:
                            item = waiting.get_nowait()
                        except queue.Empty:
                            break
                        results.put(work(scope, item))
            except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
                results.put(_Broke(error))
            finally:
                results.put(_Ended())

        threads = [
            threading.Thread(target=labour, args=(n,), name=f"hfr-worker-{n}", daemon=True)
            for n in range(self._workers)
        ]
        for thread in threads:
            thread.start()
        try:
            yield from _answers(results, len(threads))
        except GeneratorExit:  # the caller wants no more, but what is at work may end well
            raise
        except BaseException:
            stop.set()
            hurry()
            raise
        finally:
            stop.set()
            for thread in threads:
                thread.join()


class _Broke:
    """An exception on its way from a worker to the caller."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Ended:
    """A worker has ended; a mark of its own, since an answer may be None."""


def _answers(
    results: "queue.SimpleQueue[Answer | _Broke | _Ended]", workers: int
) -> Iterator[Answer]:
    """Answers until every worker has ended; a worker's exception is raised here."""
    left = workers
    while left:
        got = results.get()
        if isinstance(got, _Ended):
            left -= 1
        elif isinstance(got, _Broke):
            raise got.error
        else:
            yield got
