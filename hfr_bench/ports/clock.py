"""Trial time."""

from typing import Protocol

from hfr_bench.model.terms import ClockKind


class Clock(Protocol):
    """A trial's clock: microseconds since the trial (or cohort) began."""

    @property
    def kind(self) -> ClockKind: ...

    def now_us(self) -> int: ...

    def wait(self, us: int) -> None:
        """Let `us` microseconds pass: virtual time jumps, wall time is slept."""
        ...
