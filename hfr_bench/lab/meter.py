"""What an experiment has cost so far, and the bound that may stop it early.

Counted is every cent that a trace records: finished trials of all rounds (voids, too) and what
interrupted ones had spent; not what a live fork's trials were charged for answers that were played
to them, which nobody paid again. Under a bound a trial starts only if it cannot break it: for each
trial at work the registered `limits.max_cost_usd` is set aside, or, where none is registered, the
most that one trial has cost so far.
"""

import json
import threading
from collections.abc import Iterable
from pathlib import Path

from hfr_bench.lab.store import Store
from hfr_bench.model.trial import TrialResult


class CostMeter:
    """Shared by the workers of one run. `bound_microusd` None: only counts."""

    def __init__(
        self, spent_microusd: int, bound_microusd: int | None = None, each_microusd: int = 0
    ) -> None:
        self.spent_microusd = spent_microusd
        self.stopped = ""
        self._bound = bound_microusd
        self._each = each_microusd
        self._registered = each_microusd > 0
        self._at_work = 0
        self._lock = threading.Lock()

    def start(self, trials: int = 1) -> bool:
        """Whether so many more trials may start (a cohort's); once they may not, none may."""
        with self._lock:
            if self._bound is not None and not self.stopped:
                aside = (self._at_work + trials) * self._each
                if self.spent_microusd + aside > self._bound or self.spent_microusd == self._bound:
                    self.stopped = (
                        f"--max-cost-usd {self._bound / 1e6:g}: "
                        f"$ {self.spent_microusd / 1e6:.4f} spent"
                    )
            self._at_work += 0 if self.stopped else trials
            return not self.stopped

    def leave(self, trials: int) -> None:
        """So many that were let start will not be run: a void ended their cohort."""
        with self._lock:
            self._at_work -= trials

    def end(self, result: TrialResult, unpaid_microusd: int = 0) -> None:
        """A trial that was started has ended.

        `unpaid_microusd`: of its cost, what was charged for answers of a recording.
        """
        with self._lock:
            self._at_work -= 1
            if result.cost_microusd is None:
                if self._bound is not None and not self.stopped:
                    self.stopped = "--max-cost-usd: a trial's cost is unknown (a price is missing)"
                return
            paid = result.cost_microusd - unpaid_microusd
            self.spent_microusd += paid
            if not self._registered:
                self._each = max(self._each, paid)


def spent(store: Store, results: Iterable[TrialResult]) -> int:
    """What the traces of a directory have cost, micro-dollars; unknown prices count nothing."""
    finished = sum(result.cost_microusd or 0 for result in results)
    left = (store.folder / "trials").glob("*/r*/*.jsonl.*")
    return finished + sum(_of_attempts(path) for path in left)


def _of_attempts(path: Path) -> int:
    """What the attempts in an interrupted trace cost; unreadable lines are passed over."""
    total = 0
    for line in path.read_bytes().split(b"\n"):
        if b'"type":"attempt_ended"' not in line:
            continue
        try:
            total += json.loads(line)["body"].get("cost_microusd") or 0
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    return total
