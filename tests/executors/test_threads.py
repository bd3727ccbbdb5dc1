"""Every item once, scopes in their own threads, errors and early leavers handled."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hfr_bench.executors.threads import ThreadsExecutor
from hfr_bench.testing.fakes import FakeExecutor


class Scopes:
    """Scopes that note in which thread they are opened, used and closed."""

    def __init__(self) -> None:
        self.opened: list[int] = []
        self.closed: list[int] = []

    @contextmanager
    def open(self, number: int) -> Iterator[int]:
        self.opened.append(threading.get_ident())
        try:
            yield number
        finally:
            self.closed.append(threading.get_ident())


def double(_: int, item: int) -> int:
    return 2 * item


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_item_is_worked_on_once(workers: int) -> None:
    scopes = Scopes()
    answers = list(ThreadsExecutor(workers).run(range(40), scopes.open, double))
    assert sorted(answers) == [2 * n for n in range(40)]
    assert len(scopes.opened) == workers
    assert sorted(scopes.opened) == sorted(scopes.closed)


def test_one_worker_keeps_the_order_as_the_fake_does() -> None:
    scopes = Scopes()
    answers = list(ThreadsExecutor(1).run(range(9), scopes.open, double))
    assert answers == list(FakeExecutor().run(range(9), scopes.open, double))


def test_a_scope_is_used_only_in_the_thread_that_opened_it() -> None:
    @contextmanager
    def scope(_: int) -> Iterator[int]:
        yield threading.get_ident()

    def work(opened_in: int, item: int) -> bool:
        return opened_in == threading.get_ident()

    assert all(ThreadsExecutor(3).run(range(30), scope, work))


def test_workers_really_work_side_by_side() -> None:
    together = threading.Barrier(3, timeout=30)
    answers = ThreadsExecutor(3).run(range(3), Scopes().open, lambda _s, _i: together.wait())
    assert sorted(answers) == [0, 1, 2]


def test_an_answer_may_be_nothing() -> None:
    assert list(ThreadsExecutor(2).run(range(5), Scopes().open, lambda _s, _i: None)) == [None] * 5


def test_nothing_to_do_gives_nothing() -> None:
    assert list(ThreadsExecutor(2).run([], Scopes().open, double)) == []


def test_an_exception_of_the_work_reaches_the_caller_and_stops_the_rest() -> None:
    scopes, done = Scopes(), []

    def work(_: int, item: int) -> int:
        if item == 3:
            raise KeyError("broken")
        done.append(item)
        return item

    with pytest.raises(KeyError, match="broken"):
        list(ThreadsExecutor(1).run(range(100), scopes.open, work))
    assert done == [0, 1, 2]
    assert len(scopes.closed) == 1


def test_a_scope_that_cannot_be_opened_is_an_error_too() -> None:
    @contextmanager
    def scope(number: int) -> Iterator[int]:
        if number == 1:
            raise OSError("no port left")
        yield number

    with pytest.raises(OSError, match="no port left"):
        list(ThreadsExecutor(2).run(range(10), scope, double))


def test_a_caller_that_leaves_early_leaves_no_worker_behind() -> None:
    scopes = Scopes()
    answers = ThreadsExecutor(2).run(range(1000), scopes.open, double)
    next(answers)
    answers.close()
    assert len(scopes.closed) == 2
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("hfr-worker")]


def test_a_caller_that_leaves_early_stops_the_work() -> None:
    permits, done = threading.Semaphore(1), []

    def work(_: int, item: int) -> None:
        permits.acquire()
        done.append(item)

    answers = ThreadsExecutor(1).run(range(1000), Scopes().open, work)
    next(answers)
    leaving = threading.Thread(target=answers.close)
    leaving.start()
    while leaving.is_alive():
        permits.release()
        leaving.join(0.001)
    assert len(done) < 1000


def test_there_must_be_a_worker() -> None:
    with pytest.raises(ValueError, match="at least one worker"):
        ThreadsExecutor(0)


def test_whoever_breaks_or_is_interrupted_hurries_the_others() -> None:
    released, scopes = threading.Event(), Scopes()
    started = threading.Barrier(2, timeout=30)

    def work(_: int, item: int) -> None:
        started.wait()
        if item == 0:
            raise KeyError("broken")
        assert released.wait(30), "nobody hurried"

    with pytest.raises(KeyError, match="broken"):
        list(ThreadsExecutor(2).run([0, 1], scopes.open, work, released.set))
    assert len(scopes.closed) == 2


def test_a_caller_that_merely_leaves_hurries_nobody() -> None:
    hurried = threading.Event()
    answers = ThreadsExecutor(2).run(range(10), Scopes().open, double, hurried.set)
    next(answers)
    answers.close()
    assert not hurried.is_set()
