"""Trial time."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from hfr_bench.model.terms import ClockKind


class Clock(Protocol):
    """A trial's clock: microseconds since the trial (or cohort) began."""

    @property
    def kind(self) -> ClockKind: ...

    def now_us(self) -> int: ...

    def wait(self, us: int) -> None:
        """Let `us` microseconds pass: virtual time jumps, wall time is slept."""
        ...


def untimed(clock: Clock) -> AbstractContextManager[Any]:
    """Around what takes none of the trial's time, where the clock can leave it out."""
    paused = getattr(clock, "paused", None)
    made: AbstractContextManager[Any] = paused() if paused is not None else nullcontext()
    return made
