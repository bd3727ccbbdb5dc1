"""What a run of tasks came to, and the paper's metrics of it (paper §3.4, tables 12 and 13)."""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hfr_bench.lab.synthetic.crew import WHOLE
from hfr_bench.lab.synthetic.play import Play

_MICRO = 1_000_000

METRICS: Mapping[str, str] = {
    "SR": "%", "CSR": "%", "SCR": "%", "CPS": "", "DUP": "/1000", "ESC": "%", "DEG": "%",
    "cost": "", "p95": "s", "p95n": "s", "att": "",
}  # fmt: skip
"""Units. `p95n`: of tasks that were not escalated. Costs are in calls of the main model."""


@dataclass(slots=True)
class Tally:
    """Whole numbers that add up in any order; latencies (us) in the order of the tasks.

    `silent`: accepted, and wrong.
    """

    tasks: int = 0
    succeeded: int = 0
    clean: int = 0
    safe: int = 0
    escalated: int = 0
    degraded: int = 0
    duplicates: int = 0
    silent: int = 0
    cost: int = 0
    attempts: int = 0
    us: "array[int]" = field(default_factory=lambda: array("q"))
    us_plain: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, play: Play) -> None:
        """One more task, which is over."""
        good = play.finished and not play.bad and not play.escalated
        self.tasks += 1
        self.succeeded += good
        self.escalated += play.escalated
        self.degraded += play.degraded
        self.duplicates += play.duplicates
        self.silent += play.finished and play.bad
        if not play.duplicates:
            self.clean += good
            self.safe += good or play.escalated
        self.cost += play.cost
        self.attempts += play.attempts
        self.us.append(play.us)
        if not play.escalated:
            self.us_plain.append(play.us)

    def more(self, other: "Tally") -> None:
        """And what another came to."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.us.extend(other.us)
        self.us_plain.extend(other.us_plain)

    def metrics(self) -> dict[str, float]:
        """By the names of `METRICS`; CPS is infinite where nothing succeeded."""
        n, good = self.tasks, self.succeeded
        percent = 100 / n
        return {
            "SR": good * percent,
            "CSR": self.clean * percent,
            "SCR": self.safe * percent,
            "CPS": self.cost / _MICRO / good if good else float("inf"),
            "DUP": self.duplicates * 1000 / n,
            "ESC": self.escalated * percent,
            "DEG": self.degraded * percent,
            "cost": self.cost / _MICRO / n,
            "p95": _p95(self.us),
            "p95n": _p95(self.us_plain),
            "att": self.attempts / WHOLE / n,
        }


_COUNTS = tuple(name for name in Tally.__slots__ if name not in ("us", "us_plain"))


def _p95(us: Any) -> float:
    return float(np.percentile(us, 95)) / _MICRO if len(us) else float("nan")


def merged(parts: Iterable[Tally]) -> Tally:
    """All of them, in their order."""
    whole = Tally()
    for part in parts:
        whole.more(part)
    return whole
