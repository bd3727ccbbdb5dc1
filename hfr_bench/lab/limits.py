"""A trial's registered bounds, held against what it has used so far."""

from dataclasses import dataclass

from hfr_bench.lab.recorder import Sums
from hfr_bench.lab.step import TrialStopped
from hfr_bench.model.prereg import Limits
from hfr_bench.model.terms import End
from hfr_bench.ports.clock import Clock


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """Asked before every attempt and wait of one trial, which began at `start_us`."""

    limits: Limits
    sums: Sums
    clock: Clock
    start_us: int = 0

    def check(self) -> None:
        """Raises TrialStopped (LIMIT) when tokens, money or time are used up.

        A price that is not known cannot be bounded: it ends the trial, too.
        """
        limits, sums = self.limits, self.sums
        if limits.max_tokens is not None and sums.tokens_in + sums.tokens_out >= limits.max_tokens:
            self.stop("max_tokens", f"{limits.max_tokens} tokens")
        if limits.max_cost_usd is not None:
            if sums.cost_microusd is None:
                self.stop("max_cost_usd", "a price is not known, so money cannot be bounded")
            elif sums.cost_microusd >= round(limits.max_cost_usd * 1_000_000):
                self.stop("max_cost_usd", f"$ {limits.max_cost_usd:g}")
        if self.left_us() == 0:
            self.stop("max_time_s", f"{limits.max_time_s:g} s of trial time")

    def left_us(self) -> int | None:
        """Trial time that is left; None = unbounded."""
        if self.limits.max_time_s is None:
            return None
        end_us = self.start_us + round(self.limits.max_time_s * 1_000_000)
        return max(0, end_us - self.clock.now_us())

    def within(self, us: int) -> int:
        """A wait or a timeout, cut short where the trial's time ends."""
        left = self.left_us()
        return us if left is None else min(us, left)

    @staticmethod
    def stop(name: str, bound: str) -> None:
        """End the trial because a bound is reached."""
        raise TrialStopped(End.LIMIT, f"{name} is used up: {bound}")
