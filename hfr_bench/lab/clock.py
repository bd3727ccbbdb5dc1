"""The two clocks a trial can live on."""

import time

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


class WallClock:
    """Real time since it was made."""

    kind = ClockKind.WALL

    def __init__(self) -> None:
        self._start_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._start_ns) // 1000

    def wait(self, us: int) -> None:
        time.sleep(us / 1_000_000)


def make_clock(kind: ClockKind) -> VirtualClock | WallClock:
    """A fresh clock of the registered kind."""
    return VirtualClock() if kind is ClockKind.VIRTUAL else WallClock()
