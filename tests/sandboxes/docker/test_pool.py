"""The warm pool: spares that live, one for each that is taken, none for what nobody asks for."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from docker import APIClient

from hfr_bench.ports.sandbox import HostCommand, HostDiedError
from hfr_bench.sandboxes.docker.pool import Pool
from hfr_bench.testing.hosts import ScriptedHost

PATIENCE_S = 60


class Spare(ScriptedHost):
    """A host of a command; alive until it is closed, or the test says otherwise."""

    def __init__(self, command: HostCommand) -> None:
        super().__init__(lambda _op, _fields: {})
        self.command = command
        self.died = False

    def is_alive(self) -> bool:
        return not self.died and not self.closed


class Starter:
    """Starts spares, and can be waited for. `fails`: how many starts fail first."""

    def __init__(self, fails: int = 0) -> None:
        self.made: list[Spare] = []
        self.tries = 0
        self._fails = fails
        self._news = threading.Condition()

    def __call__(self, command: HostCommand) -> Spare:
        with self._news:
            self.tries += 1
            self._news.notify_all()
            if self.tries <= self._fails:
                raise HostDiedError("not today")
            self.made.append(Spare(command))
            return self.made[-1]

    def until(self, tries: int) -> None:
        with self._news:
            assert self._news.wait_for(lambda: self.tries >= tries, PATIENCE_S)


def command(name: str, **fields: Any) -> HostCommand:
    return HostCommand(argv=(name,), **fields)


def take(pool: Pool[Spare], which: HostCommand) -> Spare:
    """A spare, once there is one."""
    deadline = time.monotonic() + PATIENCE_S
    while (host := pool.take(which)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return host


def until(true: Callable[[], bool]) -> None:
    """The pool's thread has come so far; what it has started is on no shelf yet."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture
def start() -> Starter:
    return Starter()


@pytest.fixture
def pool(start: Starter) -> Iterator[Pool[Spare]]:
    made = Pool(2, start)
    yield made
    made.close()


def test_the_first_who_asks_starts_the_host_himself(pool: Pool[Spare], start: Starter) -> None:
    assert pool.take(command("x")) is None
    start.until(2)


def test_each_spare_is_handed_out_once_and_replaced(pool: Pool[Spare], start: Starter) -> None:
    taken = [take(pool, command("x")) for _ in range(5)]
    assert len(set(map(id, taken))) == 5
    start.until(7)
    assert not any(host.closed for host in taken)


def test_trials_share_spares_and_commands_do_not(pool: Pool[Spare]) -> None:
    assert take(pool, command("x", trial="1")).command == command("x")
    assert take(pool, command("x", trial="2")).command == command("x")
    assert take(pool, command("y", trial="2")).command == command("y")


def test_a_spare_that_died_is_closed_and_not_handed_out(pool: Pool[Spare], start: Starter) -> None:
    taken = take(pool, command("x"))
    start.until(3)
    dead = [host for host in start.made if host is not taken]
    for host in dead:
        host.died = True
    assert take(pool, command("x")) not in dead
    start.until(5)
    until(lambda: all(host.closed for host in dead))


def test_a_start_that_fails_is_left_to_who_needs_the_host() -> None:
    start = Starter(fails=1)
    pool = Pool(1, start)
    assert pool.take(command("x")) is None
    start.until(1)
    assert take(pool, command("x")).command == command("x")
    pool.close()


def test_a_command_that_nobody_asks_for_any_more_loses_its_spares(
    pool: Pool[Spare], start: Starter
) -> None:
    names = "abcdef"
    for number, name in enumerate(names):
        pool.take(command(name))
        start.until(2 * number + 2)
    take(pool, command("g"))
    until(lambda: all(host.closed for host in start.made[:6]))
    living = {host.command.argv[0] for host in start.made if not host.closed}
    assert living == set("defg")


def test_hosts_on_a_network_and_pools_of_no_size_have_no_spares(start: Starter) -> None:
    for size, which in ((1, command("x", network="n")), (0, command("x"))):
        pool = Pool(size, start)
        assert pool.take(which) is None
        pool.close()
    assert start.tries == 0


def test_closing_ends_all_spares(pool: Pool[Spare], start: Starter) -> None:
    taken = take(pool, command("x"))
    start.until(3)
    pool.close()
    until(lambda: all(host.closed for host in start.made if host is not taken))
    assert not taken.closed
    assert pool.take(command("x")) is None


@pytest.mark.docker
def test_a_host_from_the_pool_was_there_before_and_nobody_was_in_it(
    make: Any, probe: Any, do: Any, engine: APIClient
) -> None:
    """How much sooner a trial has its host by that is measured by `make bench`."""
    sandbox = make(warm=2)
    first = sandbox.start(probe())
    do(first, "open('/tmp/mine', 'w').close()")
    first.close()
    for _ in range(4):
        until(lambda: [len(spares) for _, spares in sandbox._pool._shelves] == [2])
        waiting = {container["Id"] for container in engine.containers()}
        host = sandbox.start(probe(trial="t"))
        assert host.container in waiting
        assert do(host, "said = os.listdir('/tmp')") == []
        host.close()
