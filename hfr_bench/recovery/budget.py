"""Step and task budgets and the deadline (paper §4.3, §4.8): checked before acting."""

from typing import NamedTuple

from hfr_bench.model.attempt import BudgetView


class Budget(NamedTuple):
    """What is left. Extra attempts only; the first attempt of a step is never charged."""

    step_left: int
    task_left: int

    def affords(self, retries: int = 1) -> bool:
        return self.step_left >= retries and self.task_left >= retries

    def less(self, retries: int = 1) -> "Budget":
        """After a debit. Raises ValueError if it was not affordable: refused, not overdrawn."""
        if not self.affords(retries):
            raise ValueError(f"budget cannot afford {retries}: {self}")
        return Budget(self.step_left - retries, self.task_left - retries)

    def view(self, deadline_left_us: int) -> BudgetView:
        return BudgetView(self.step_left, self.task_left, deadline_left_us)


def in_time(now_us: int, delay_us: int, estimate_us: int, deadline_us: int) -> bool:
    """T + d + t_step <= D (paper §4.8): a retry that must come too late is not worth it."""
    return now_us + delay_us + estimate_us <= deadline_us
