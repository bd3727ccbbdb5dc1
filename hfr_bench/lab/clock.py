"""The two clocks a trial can live on."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from hfr_bench.model.terms import ClockKind


class VirtualClock:
    """Starts at 0 and moves only when somebody waits: announced stalls, back-off, charged work."""

    kind = ClockKind.VIRTUAL

    def __init__(self) -> None:
        self._now_us = 0

    def now_us(self) -> int:
        return self._now_us

    def wait(self, us: int) -> None:
        if us < 0:
            raise ValueError(f"time does not run backwards: {us} µs")
        self._now_us += us

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Around what is not the trial's time: it stands where it stood."""
        at = self._now_us
        try:
            yield
        finally:
            self._now_us = at


class WallClock:
    """Real time since it was made."""

    kind = ClockKind.WALL

    def __init__(self) -> None:
        self._start_ns = time.monotonic_ns()
        self._stands_at: int | None = None

    def now_us(self) -> int:
        if self._stands_at is not None:
            return self._stands_at
        return (time.monotonic_ns() - self._start_ns) // 1000

    def wait(self, us: int) -> None:
        time.sleep(us / 1_000_000)

    def forgive(self, us: int) -> None:
        """Leave out time that has just passed and was not the trial's (an organic error's)."""
        self._start_ns += us * 1000

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Around what is not the trial's time: a user who is a model thinks."""
        at = self._stands_at = self.now_us()
        try:
            yield
        finally:
            self._stands_at = None
            self.forgive(self.now_us() - at)


def make_clock(kind: ClockKind) -> VirtualClock | WallClock:
    """A fresh clock of the registered kind."""
    return VirtualClock() if kind is ClockKind.VIRTUAL else WallClock()
