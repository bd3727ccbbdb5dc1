"""The warm pool: hosts started ahead of time, each handed out once and never taken back.

So no trial meets what another one left, and nothing has to be reset.
"""

import queue
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from hfr_bench.errors import HfrError
from hfr_bench.ports.sandbox import HostCommand, ToolHost

_COMMANDS = 4  # how many different commands have spares; the one not asked for longest loses them


class Spare(ToolHost, Protocol):
    """A host that is started and waits."""

    def is_alive(self) -> bool: ...


Host = TypeVar("Host", bound=Spare)


class Pool(Generic[Host]):
    """`size` spare hosts for each of the last commands, refilled by a thread of its own."""

    def __init__(self, size: int, start: Callable[[HostCommand], Host]) -> None:
        self._size = size
        self._start = start
        self._lock = threading.RLock()  # reentrant: an interrupt may close in the midst of it
        self._shelves: list[tuple[HostCommand, list[Host]]] = []  # last used last
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def take(self, command: HostCommand) -> Host | None:
        """A living spare, if there is one; either way its successor is ordered."""
        # An alias on a network must lead to the host in use, not to one that waits.
        if not self._size or command.network is not None:
            return None
        command = replace(command, trial="")
        with self._lock:
            if self._closed:
                return None
            spares = self._shelf(command)
            host = None
            while spares and host is None:
                spare = spares.pop(0)
                if spare.is_alive():
                    host = spare
                else:
                    self._jobs.put(spare.close)
            self._jobs.put(partial(self._fill, command))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="hfr-pool", daemon=True)
                self._thread.start()
        return host

    def close(self) -> None:
        """End all spares. What its thread is just starting is refused by `start`, or ended here."""
        with self._lock:
            self._closed = True
            shelves, self._shelves = self._shelves, []
        for _, spares in shelves:
            for host in spares:
                host.close()
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _fill(self, command: HostCommand) -> None:
        while self._is_short_of(command):
            try:
                host = self._start(command)
            except HfrError:
                return  # whoever needs the next host starts it himself, and is told
            with self._lock:
                spares = next((kept for known, kept in self._shelves if known == command), None)
                if spares is not None:
                    spares.append(host)
            if spares is None:
                host.close()

    def _is_short_of(self, command: HostCommand) -> bool:
        with self._lock:
            return any(
                known == command and len(spares) < self._size for known, spares in self._shelves
            )

    def _shelf(self, command: HostCommand) -> list[Host]:
        """The spares of a command, now the last used one."""
        at = next((n for n, (known, _) in enumerate(self._shelves) if known == command), None)
        shelf = self._shelves.pop(at) if at is not None else (command, [])
        self._shelves.append(shelf)
        if len(self._shelves) > _COMMANDS:
            for host in self._shelves.pop(0)[1]:
                self._jobs.put(host.close)
        return shelf[1]
